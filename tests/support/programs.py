"""Programs that tests can do without: where one is missing they skip, and say which package it is.

What every machine that runs nashbed has (a C compiler, `ip`) is not among them.
"""

import shutil
from collections.abc import Callable

import pytest
from nashbed.controlplane.machine.c_files.objects import find_clang

PACKAGES = {
    "busybox": "busybox-static",
    "chromium": "chromium",
    "clang": "clang",
    "git": "git",
    "iverilog": "iverilog",
    "ping": "iputils-ping",
    "qemu-system-x86_64": "qemu-system-x86",
    "tcpdump": "tcpdump",
    "tshark": "tshark",
    "yosys": "yosys",
}
"""Program -> Debian package, which configs/debian-packages.txt lists."""
P4LANG = {"simple_switch": "p4lang-bmv2"}
"""Those that Debian does not have -> the P4 project's own package."""
FIND: dict[str, Callable[[], str | None]] = {"clang": find_clang}
"""Those that go by several names."""


def why_missing(program: str) -> str:
    """Why a test that needs a program is skipped; empty where the program is here."""
    remedy = f"`apt install {PACKAGES[program]}`" if program in PACKAGES else P4LANG[program]
    found = FIND.get(program, lambda: shutil.which(program))()
    return "" if found else f"needs {program}, which is not on PATH: {remedy}"


def needs_program(program: str) -> pytest.MarkDecorator:
    """A mark for tests that need a program."""
    reason = why_missing(program)
    return pytest.mark.skipif(bool(reason), reason=reason)


def need_program(program: str) -> None:
    """Skip the test that is running, or being set up, where a program is missing."""
    reason = why_missing(program)
    if reason:
        pytest.skip(reason)
