"""What `nashbed doctor` checks for virtual time: a kernel, the guest's programs, memory, ptrace."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from ..contract.errors import HostError
from ..machine.guest.kernel import YAMA_SCOPE, require_memory, require_tracing
from ..machine.guest.memory import MEMORY_FOLDER
from ..machine.kernels.cache import built_kernels, find_kernel
from ..machine.paths import GUEST_INIT, VIRTUAL_LIBRARY, built
from .doctor_check import DoctorCheck


def virtual_time_checks() -> list[DoctorCheck]:
    """All of them; a run in virtual time needs every one."""
    return [
        _check("virtual time: kernel", _kernels),
        _check("virtual time: guest's programs", _programs),
        _check("virtual time: guests' memory", _memory),
        _check("virtual time: ptrace", _tracing),
    ]


def _check(name: str, look: Callable[[], str]) -> DoctorCheck:
    """A check that says what it has found, or raises HostError with the remedy."""
    try:
        return DoctorCheck(name, True, look(), False, "")
    except HostError as error:
        remedy = f"testbed virtual cannot be used: {error.message}"
        return DoctorCheck(name, False, "not usable", False, remedy)


def _kernels() -> str:
    kernels = built_kernels()
    if not kernels:
        raise HostError("no kernel for virtual time is built: run `make virtual`")
    for kernel in kernels:
        find_kernel(kernel.release)  # which refuses one that has changed
    return ", ".join(f"{kernel.release} ({kernel.package})" for kernel in kernels)


def _programs() -> str:
    return ", ".join(str(built(program)) for program in (VIRTUAL_LIBRARY, GUEST_INIT))


def _memory() -> str:
    require_memory(MEMORY_FOLDER)
    return f"{shutil.disk_usage(MEMORY_FOLDER).free / 1e9:.1f} GB free in {MEMORY_FOLDER}"


def _tracing() -> str:
    require_tracing(YAMA_SCOPE)
    return "usable"
