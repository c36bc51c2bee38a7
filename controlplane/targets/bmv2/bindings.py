"""The Thrift client that bmv2 installs beside simple_switch.

It is generated from bmv2's own service description and is of the release that runs; so it is
imported from where simple_switch is installed, and none is kept here.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ...contract.errors import HostError

MODULES = (
    "bm_runtime.standard.Standard",
    "bm_runtime.standard.ttypes",
    "sswitch_runtime.SimpleSwitch",
    "sswitch_runtime.ttypes",
)
PACKAGE_FOLDERS = ("lib/python3*/site-packages", "lib/python3*/dist-packages")


@dataclass(frozen=True)
class Bindings:
    """bmv2's generated modules.

    Attributes:
        standard: Client of every bmv2 target: tables, registers.
        standard_types: Its types.
        sswitch: Client of simple_switch: queues, clone sessions, clock.
        sswitch_types: Its types.
    """

    standard: ModuleType
    standard_types: ModuleType
    sswitch: ModuleType
    sswitch_types: ModuleType


def load_bindings(program: str) -> Bindings:
    """Import the client, from PYTHONPATH or from beside simple_switch.

    Args:
        program: simple_switch: a name on PATH or a path.

    Raises:
        HostError: It is not there.
    """
    for folder in ("", *package_folders(program)):
        try:
            return _imported(folder)
        except ImportError:
            continue
    raise HostError(
        f"bmv2's Python client (bm_runtime, sswitch_runtime) is neither beside {program} nor on "
        "PYTHONPATH; it comes with bmv2 (package p4lang-bmv2): name its folder in PYTHONPATH"
    )


def package_folders(program: str) -> Iterator[str]:
    """Folders of Python packages in the prefix that a program is installed in."""
    place = shutil.which(program)
    if place is None:
        return
    prefix = Path(place).resolve().parents[1]
    for pattern in PACKAGE_FOLDERS:
        yield from map(str, sorted(prefix.glob(pattern)))


def _imported(folder: str) -> Bindings:
    """Behind all other folders, so that nothing of ours is replaced by what is in there."""
    if not folder:
        return Bindings(*map(importlib.import_module, MODULES))
    sys.path.append(folder)
    try:
        importlib.invalidate_caches()
        return Bindings(*map(importlib.import_module, MODULES))
    finally:
        sys.path.remove(folder)
