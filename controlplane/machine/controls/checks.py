"""What this machine must have to run congestion controls that its kernel does not bring along."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ...config import available_congestion_controls
from ...contract.control import ControlFile
from ...contract.errors import HostError, NashbedError
from ..paths import CONTROL_LOADER
from ..process.table import command_lines
from .objects import OBJECT, require_object_at_hand

FIRST_RELEASE = (6, 10)
"""The first kernel whose eBPF controls see each acknowledgement's rate sample (cong_control)."""
BTF = Path("/sys/kernel/btf/vmlinux")
JIT = Path("/proc/sys/net/core/bpf_jit_enable")
OPTMEM = Path("/proc/sys/net/core/optmem_max")
STATUS = Path("/proc/self/status")
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_PERFMON": 38, "CAP_BPF": 39}
"""What registering a control takes, by the number of its bit."""
LEAST_OPTMEM_BYTES = 16384
"""A control's state beside its socket counts against this: at most 6.4 kB, and the kernel's own."""


def kernels_own_controls() -> tuple[str, ...]:
    """The controls of this machine's kernel, without those that a nashbed-cc holds there."""
    held = held_controls()
    return tuple(name for name in available_congestion_controls() if name not in held)


def held_controls() -> dict[str, int]:
    """The controls that nashbed-cc has registered, whoever started it -> its process id."""
    return {
        Path(argument).name.removesuffix(OBJECT): pid
        for pid, arguments in command_lines().items()
        if arguments and Path(arguments[0]).name == CONTROL_LOADER.name
        for argument in arguments[1:]
        if argument.endswith(OBJECT)
    }


def require_free_names(controls: Sequence[ControlFile]) -> None:
    """Raise HostError for a control that another program has registered under its name."""
    held = held_controls()
    for control in controls:
        if control.name in held:
            raise HostError(
                f"{control.name}: is registered by nashbed-cc (pid {held[control.name]}), and a "
                "name is of the whole machine; wait until that ends, or stop it"
            )


def require_controls(controls: Sequence[ControlFile]) -> None:
    """Check that this machine can run controls in real time.

    Args:
        controls: Those that its kernel does not have.

    Raises:
        HostError: Something is missing; one line for each, with what to do.
    """
    if not controls:
        return
    names = ", ".join(control.name for control in controls)
    lines = [f"{names}: {problem}" for problem in kernel_problems()]
    for control in controls:
        try:
            require_object_at_hand(control)
        except NashbedError as error:
            lines.append(error.message)
    if lines:
        raise HostError("\n".join(lines))


def kernel_problems() -> list[str]:
    """What keeps this machine's kernel from taking a control as eBPF, a line each."""
    checks: tuple[Callable[[], str], ...] = (release, btf, jit, capabilities)
    problems = []
    for check in checks:
        try:
            check()
        except HostError as error:
            problems.append(error.message)
    return problems


def release(text: str = "") -> str:
    """The kernel's release; raises HostError for one that is too old."""
    text = text or platform.release()
    numbers = tuple(int(number) for number in re.findall(r"\d+", text)[:2])
    if numbers < FIRST_RELEASE:
        raise HostError(
            f"kernel {text} takes no such control in real time: it needs 6.10 or later; virtual "
            "time has a kernel of its own (`--testbed virtual`)"
        )
    return text


def btf(path: Path = BTF) -> str:
    """Where the kernel describes its types; raises HostError where it does not."""
    if not path.exists():
        raise HostError(
            f"{path} is missing: the kernel does not describe its types; use one that is built "
            "with CONFIG_DEBUG_INFO_BTF, as Debian's are"
        )
    return str(path)


def jit(path: Path = JIT) -> str:
    """The state of the compiler of eBPF; raises HostError where it is off."""
    try:
        on = path.read_text().strip()
    except OSError:
        on = "0"
    if on == "0":
        raise HostError(
            "the kernel's BPF JIT is off, and controls need it; `sysctl net.core.bpf_jit_enable=1`"
        )
    return "on"


def capabilities(path: Path = STATUS) -> str:
    """The capabilities that registering takes; raises HostError where one is missing."""
    lines = dict(line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
    held = int(lines["CapEff"], 16)
    missing = [name for name, bit in CAPABILITIES.items() if not held >> bit & 1]
    if missing:
        raise HostError(
            f"registering a control takes {', '.join(missing)}: run it as root, or with "
            "`--testbed virtual`, which needs none"
        )
    return ", ".join(CAPABILITIES)


def optmem(path: Path = OPTMEM) -> str:
    """What the kernel lets a socket have beside its buffers; raises HostError for too little."""
    size = int(path.read_text())
    if size < LEAST_OPTMEM_BYTES:
        raise HostError(
            f"net.core.optmem_max is {size}: a control cannot keep its state; "
            "`sysctl net.core.optmem_max=131072`"
        )
    return f"{size} B"
