"""What is kept of a kernel's tree: enough to build modules, as distributions keep headers."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..contract.errors import InternalError

PATTERNS = (
    *(".config", "Module.symvers", "Makefile", "Kbuild"),
    *("arch/um/Makefile*", "arch/um/**/*.h", "arch/x86/Makefile*"),
    *("arch/x86/include/**/*.h", "arch/x86/um/**/*.h"),
    *("include/**/*.h", "include/config/auto.conf", "include/config/kernel.release"),
    "include/generated/rustc_cfg",  # asked for since 6.13, with Rust or without
    *("scripts/*", "scripts/basic/fixdep", "scripts/mod/modpost"),
)
"""Every header that a module may include, and what kbuild reads and runs for a module."""

_DEVICES = (
    *("drm", "dt-bindings", "media", "pcmcia", "rdma", "scsi", "soc", "sound", "target", "ufs"),
    *("video", "xen", "linux/iio", "linux/mfd", "linux/mlx4", "linux/mlx5", "linux/mtd"),
    *("linux/platform_data", "linux/qed", "linux/regulator", "linux/soc", "linux/spi"),
    *("linux/usb", "uapi/drm", "uapi/misc", "uapi/rdma", "uapi/scsi", "uapi/sound"),
)
"""Folders of headers for devices that no guest has."""

EXCLUDED = tuple(f"include/{folder}/" for folder in _DEVICES)


def keep_tree(tree: Path, kept: Path) -> None:
    """Copy what modules are built with.

    Args:
        tree: A tree whose kernel and modules have been made.
        kept: A folder that is made for it. It may be moved.

    Raises:
        InternalError: The tree lacks a file that kbuild cannot do without.
    """
    for name in (".config", "Module.symvers", "include/config/auto.conf", "scripts/mod/modpost"):
        if not (tree / name).is_file():
            raise InternalError(f"no {name} after the build of the kernel")
    for path in _chosen(tree):
        copy = kept / path.relative_to(tree)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)


def _chosen(tree: Path) -> list[Path]:
    found = {path for pattern in PATTERNS for path in tree.glob(pattern) if path.is_file()}
    return [path for path in found if not path.relative_to(tree).as_posix().startswith(EXCLUDED)]
