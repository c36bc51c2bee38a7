# SPDX-License-Identifier: Apache-2.0
"""The distribution `nashbed-kernel`: the guests' kernel, and its corresponding source.

The source distribution has the tree that is compiled, edited and without what no guest needs, its
configuration, and the script that makes it (build_kernel.py). The wheel is made from it.
"""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

from distribution import BACKEND, DIST, STAGE, remove, settings, write_wheel
from nashbed.controlplane.machine.kernels.build import (
    EXCLUDED,
    PATTERNS,
    REPRODUCIBLE,
    EditedSource,
    edited_source,
)
from nashbed.controlplane.machine.kernels.cache import RECIPE
from nashbed.controlplane.machine.paths import UML

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "kernel"
DRIVERS = {"base", "char", "net", "tty"}
"""Folders of drivers/ that a guest's kernel has something of."""
FILE_SYSTEMS = {"hostfs", "notify", "proc", "ramfs"}
"""Likewise of fs/."""
NOT_NEEDED = ("Documentation", "samples", "sound", "tools/testing", "tools/perf")
SOURCES = {".c", ".h", ".S", ".rst", ".dts", ".dtsi"}
METADATA = """\
[project]
name = "nashbed-kernel"
version = "{version}"
description = "The Linux kernel ({release}, User-Mode Linux) that nashbed's virtual time runs in"
requires-python = ">=3.11"
license = "GPL-2.0-only"
license-files = ["COPYING"]
"""


def make(wanted: str) -> list[Path]:
    """Write source and wheel into dist/; returns them.

    Args:
        wanted: As for `nashbed kernel build`; empty: the usual release.
    """
    work = STAGE / "kernel"
    shutil.rmtree(work, ignore_errors=True)
    with edited_source(wanted, lambda *_: None) as source:
        packed = write_source(source)
    return [packed, write_wheel(packed, work)]


def write_source(source: EditedSource) -> Path:
    """Write the source distribution (PEP 625): one folder, with PKG-INFO."""
    version = settings()["project"]["version"]
    top = f"nashbed_kernel-{version}"
    DIST.mkdir(exist_ok=True)
    remove(DIST.glob("nashbed_kernel-*.tar.gz"))
    packed = DIST / f"{top}.tar.gz"
    with tarfile.open(packed, "w:gz", compresslevel=6) as archive:
        for name, text in texts(source, version).items():
            _add_text(archive, f"{top}/{name}", text)
        for path in sorted(SCRIPTS.iterdir()):
            archive.add(path, f"{top}/{path.name}", filter=_nobodys)
        for name in RECIPE:
            archive.add(UML / name, f"{top}/uml/{name}", filter=_nobodys)
        archive.add(source.tree / "COPYING", f"{top}/COPYING", filter=_nobodys)
        for path in needed(source.tree):
            name = f"{top}/tree/{path.relative_to(source.tree)}"
            archive.add(path, name, recursive=False, filter=_nobodys)
    return packed


def texts(source: EditedSource, version: str) -> dict[str, str]:
    """Files that are written here: name -> text."""
    metadata = METADATA.format(version=version, release=source.release)
    recipe = {
        "release": source.release,
        "package": source.package,
        "digest": source.digest,
        "variables": REPRODUCIBLE,
        "kept": PATTERNS,
        "left_out": EXCLUDED,
    }
    return {
        "PKG-INFO": f"Metadata-Version: 2.4\nName: nashbed-kernel\nVersion: {version}\n",
        "pyproject.toml": BACKEND + metadata,
        "recipe.json": json.dumps(recipe, indent=1) + "\n",
    }


def needed(tree: Path) -> Iterator[Path]:
    """What is compiled, and all that Kconfig and kbuild read."""
    for path in sorted(tree.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        if path.suffix not in SOURCES or not _is_left_out(path.relative_to(tree)):
            yield path


def _is_left_out(path: Path) -> bool:
    if path.as_posix().startswith(NOT_NEEDED):
        return True
    parts = path.parts
    if len(parts) < 3:
        return False
    if parts[0] == "drivers":
        return parts[1] not in DRIVERS or (parts[1] == "net" and len(parts) > 3)
    return parts[0] == "fs" and parts[1] not in FILE_SYSTEMS


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    content = text.encode()
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _nobodys(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Whose it was and when it was written changes nothing."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry
