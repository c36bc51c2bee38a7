"""What `nashbed doctor` checks for congestion controls that the kernel does not bring along."""

from __future__ import annotations

from collections.abc import Callable

from ..contract.control import read_control
from ..contract.errors import HostError, NashbedError
from ..machine.controls import checks
from ..machine.controls.loader import try_loading
from ..machine.controls.objects import PACKAGES, find_clang, object_of
from ..machine.paths import CONTROL_SIMULATOR, CONTROL_TEMPLATE, CONTROLS, built
from .doctor_check import DoctorCheck

SKIPPED = "strategies such as bbr3 are refused in real time"


def ebpf_checks() -> list[DoctorCheck]:
    """All of them; a run of the kernel's own controls needs none."""
    return [
        _check("kernel", checks.release, SKIPPED),
        _check("BTF", checks.btf, SKIPPED),
        _check("BPF JIT", checks.jit, SKIPPED),
        _check("capabilities", checks.capabilities, SKIPPED),
        _check("optmem_max", checks.optmem, SKIPPED),
        _check("clang", _clang, "controls of your own are refused in real time"),
        _check("simulator", _simulator, "`nashbed cc check` cannot be used"),
        _check("trial load", _trial_load, SKIPPED),
    ]


def _check(name: str, look: Callable[[], str], skipped: str) -> DoctorCheck:
    """A check that says what it has found, or raises an error with the remedy."""
    name = f"congestion controls of eBPF: {name}"
    try:
        return DoctorCheck(name, True, look(), False, "")
    except NashbedError as error:
        return DoctorCheck(name, False, "not usable", False, f"{skipped}: {error.message}")


def _clang() -> str:
    clang = find_clang()
    if clang is None:
        raise HostError(f"not found; {PACKAGES}")
    return clang


def _simulator() -> str:
    return str(built(CONTROL_SIMULATOR))


def _trial_load() -> str:
    """Register the template with the kernel and unregister it at once."""
    problems = checks.kernel_problems()
    if problems:
        raise HostError(problems[0])
    made = object_of(read_control(CONTROL_TEMPLATE, CONTROLS))
    try_loading(made)
    return f"{made.path.name}, {made.made_by}"
