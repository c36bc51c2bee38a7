"""What guests need of this machine, checked before one is started."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from ..contract.errors import HostError, PrerequisiteError
from ..contract.testbed import Testbed
from . import command
from .guest_kernel import WRAPPERS
from .kernels import find_kernel
from .memory import MEMORY_FOLDER
from .paths import FLOWS, GUEST_INIT, VIRTUAL_LIBRARY, built

GUEST_MEMORY_BYTES = 300 * 10**6
"""What a guest really uses of its memory, at 1 Gbit/s."""
YAMA_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
NOBODY = "3"
"""Yama's scope in which nobody may trace."""
TRACE_ME = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(os.strerror(ctypes.get_errno()) if libc.ptrace(0, 0, 0, 0) else 0)
"""
TRACE_TIMEOUT_S = 20.0


def check_guests(testbed: Testbed) -> None:
    """Check everything that guests need of this machine.

    Raises:
        HostError: Something is missing; the message says what to do.
    """
    require_wrappers()
    find_kernel(testbed.virtual.kernel)
    for program in (VIRTUAL_LIBRARY, GUEST_INIT, FLOWS):
        built(program)
    require_memory(MEMORY_FOLDER)
    require_tracing(YAMA_SCOPE)


def require_wrappers() -> None:
    """Raise HostError when a program that a guest is started through is missing."""
    missing = [program for program in WRAPPERS if shutil.which(program) is None]
    if missing:
        raise PrerequisiteError(
            f"not installed: {', '.join(missing)}; `apt install util-linux coreutils`"
        )


def require_memory(folder: Path) -> None:
    """Raise HostError when no guest's memory can be kept in a folder.

    It is a file without a name there, mapped so that the guest's programs can be executed.
    """
    try:
        status = os.statvfs(folder)
    except OSError as error:
        raise PrerequisiteError(
            f"{folder}: {error.strerror}; guests keep their memory there"
        ) from error
    if status.f_flag & os.ST_NOEXEC:
        raise PrerequisiteError(
            f"{folder}: mounted noexec, but guests execute what is in their memory there; "
            f"`mount -o remount,exec {folder}`"
        )
    free = status.f_bavail * status.f_frsize
    if free < GUEST_MEMORY_BYTES:
        raise HostError(
            f"{folder}: {free / 1e6:.0f} MB free, a guest needs about "
            f"{GUEST_MEMORY_BYTES / 1e6:.0f} MB; `mount -o remount,size=2G {folder}`, or "
            "`--shm-size=2g` for a container"
        )


def require_tracing(scope: Path) -> None:
    """Raise HostError when no process may be traced: a kernel traces its guest's programs.

    Args:
        scope: Yama's setting; there is none where Yama is not in the kernel.
    """
    try:
        forbidden = scope.read_text().strip() == NOBODY
    except OSError:
        forbidden = False
    if forbidden:
        raise PrerequisiteError(
            f"{scope} is {NOBODY}: no process may be traced; write 1 and restart"
        )
    args = [sys.executable, "-I", "-S", "-c", TRACE_ME]
    done = command.attempt(args, timeout_s=TRACE_TIMEOUT_S)
    if done.code != 0:
        reason = (done.err.strip().splitlines() or [f"exit code {done.code}"])[-1]
        raise PrerequisiteError(
            f"ptrace: {reason}; guests need it: start the container with `--cap-add=SYS_PTRACE` "
            "or a seccomp profile that allows ptrace"
        )
