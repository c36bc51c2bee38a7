"""Which CCAs a kernel has, and what it must have to take others as eBPF or as modules."""

import platform
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ...contract.c_files import CFile
from ...contract.errors import HostError, NashbedError
from ...contract.testbed import Testbed
from ..paths import CCA_LOADER, built, guest_configuration
from ..process.table import command_lines
from .objects import OBJECT, require_object_at_hand

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_BUILT_IN = re.compile(r"^CONFIG_TCP_CONG_(\w+)=y", re.MULTILINE)
_MODULES = re.compile(r"^CONFIG_MODULES=y", re.MULTILINE)
_SYMBOLS = {"HSTCP": "highspeed"}
"""Configuration symbol -> name of the CCA, where they differ."""
FIRST_RELEASE = (6, 10)
"""The first kernel whose eBPF CCAs see each acknowledgement's rate sample (cong_control)."""
BTF = Path("/sys/kernel/btf/vmlinux")
JIT = Path("/proc/sys/net/core/bpf_jit_enable")
OPTMEM = Path("/proc/sys/net/core/optmem_max")
STATUS = Path("/proc/self/status")
CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_PERFMON": 38, "CAP_BPF": 39}
"""What registering a CCA takes, by the number of its bit."""
LEAST_OPTMEM_BYTES = 16384
"""A CCA's state beside its socket counts against this: at most 6.4 kB, and the kernel's own."""


def kernels_own(testbed: Testbed) -> tuple[str, ...]:
    """The CCAs that the kernel of a testbed's hosts has of its own."""
    return configured_ccas(guest_configuration()) if testbed.is_virtual else kernels_own_ccas()


def available_ccas(path: Path = AVAILABLE) -> tuple[str, ...]:
    """Read what the kernel offers.

    Raises:
        HostError: The kernel's file cannot be read.
    """
    try:
        return tuple(path.read_text(encoding="utf-8").split())
    except OSError as error:
        raise HostError(f"{path}: cannot be read ({error.strerror}); is this Linux?") from error


def configured_ccas(configuration: Path) -> tuple[str, ...]:
    """Read what a kernel that is built with a configuration offers.

    Args:
        configuration: Lines such as `CONFIG_TCP_CONG_BBR=y`.

    Raises:
        HostError: The file cannot be read.
    """
    symbols = _BUILT_IN.findall(_configuration(configuration))
    named = {_SYMBOLS.get(symbol, symbol.lower()) for symbol in symbols if symbol != "ADVANCED"}
    return tuple(sorted(named | {"reno"}))


def takes_modules(configuration: Path) -> bool:
    """Whether a kernel that is built with a configuration loads modules.

    Raises:
        HostError: The file cannot be read.
    """
    return _MODULES.search(_configuration(configuration)) is not None


def _configuration(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise HostError(f"{path}: cannot be read ({error.strerror})") from error


def kernels_own_ccas() -> tuple[str, ...]:
    """The CCAs of this machine's kernel, without those that a nashbed-cc holds there."""
    held = held_ccas()
    return tuple(name for name in available_ccas() if name not in held)


def held_ccas() -> dict[str, int]:
    """The CCAs that nashbed-cc has registered, whoever started it -> its process id."""
    return {
        Path(argument).name.removesuffix(OBJECT): pid
        for pid, arguments in command_lines().items()
        if arguments and Path(arguments[0]).name == CCA_LOADER.name
        for argument in arguments[1:]
        if argument.endswith(OBJECT)
    }


def require_free_names(ccas: Sequence[CFile]) -> None:
    """Raise HostError for a CCA that another program has registered under its name."""
    held = held_ccas()
    for cca in ccas:
        if cca.name in held:
            raise HostError(
                f"{cca.name}: is registered by nashbed-cc (pid {held[cca.name]}), and a "
                "name is of the whole machine; wait until that ends, or stop it"
            )


def require_ccas(ccas: Sequence[CFile]) -> None:
    """Check that this machine can run CCAs in real time that its kernel does not have.

    Raises:
        HostError: Something is missing; one line for each, with what to do.
    """
    if not ccas:
        return
    names = ", ".join(cca.name for cca in ccas)
    lines = [f"{names}: {problem}" for problem in kernel_problems()]
    for cca in ccas:
        try:
            require_object_at_hand(cca)
        except NashbedError as error:
            lines.append(error.message)
    if lines:
        raise HostError("\n".join(lines))


def kernel_problems() -> list[str]:
    """What keeps this machine's kernel from taking a CCA as eBPF, a line each."""
    checks: tuple[Callable[[], str], ...] = (release, btf, jit, capabilities, loader)
    problems = []
    for check in checks:
        try:
            check()
        except HostError as error:
            problems.append(error.message)
    return problems


def loader() -> str:
    """What loads CCAs; raises HostError where it is not there, as in a wheel."""
    return str(built(CCA_LOADER))


def release(text: str = "") -> str:
    """The kernel's release; raises HostError for one that is too old."""
    text = text or platform.release()
    numbers = tuple(int(number) for number in re.findall(r"\d+", text)[:2])
    if numbers < FIRST_RELEASE:
        raise HostError(
            f"kernel {text} takes no such congestion control in real time: it needs 6.10 or "
            "later; virtual time has a kernel of its own (`--testbed virtual`)"
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
        on = path.read_text(encoding="utf-8").strip()
    except OSError:
        on = "0"
    if on == "0":
        raise HostError(
            "the kernel's BPF JIT is off, and congestion controls need it; "
            "`sysctl net.core.bpf_jit_enable=1`"
        )
    return "on"


def capabilities(path: Path = STATUS) -> str:
    """The capabilities that registering takes; raises HostError where one is missing."""
    lines = dict(
        line.split(":", 1) for line in path.read_text(encoding="utf-8").splitlines() if ":" in line
    )
    held = int(lines["CapEff"], 16)
    missing = [name for name, bit in CAPABILITIES.items() if not held >> bit & 1]
    if missing:
        raise HostError(
            f"registering a congestion control takes {', '.join(missing)}: run it as root, or with "
            "`--testbed virtual`, which needs none"
        )
    return ", ".join(CAPABILITIES)


def optmem(path: Path = OPTMEM) -> str:
    """What the kernel lets a socket have beside its buffers; raises HostError for too little."""
    size = int(path.read_text(encoding="utf-8"))
    if size < LEAST_OPTMEM_BYTES:
        raise HostError(
            f"net.core.optmem_max is {size}: a congestion control cannot keep its state; "
            "`sysctl net.core.optmem_max=131072`"
        )
    return f"{size} B"
