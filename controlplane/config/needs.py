"""What a scenario needs of this machine: congestion controls, and the user's own function."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path

from ..contract.control import SHIPPED_CONTROLS
from ..contract.errors import ConfigError, HostError
from ..contract.functions import load_function
from ..contract.scenario import Scenario, UserUtility

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

_NAMES = """bbr bic brutal cdg cubic dctcp highspeed htcp hybla illinois lp nv prague reno
scalable vegas veno westwood yeah"""
KNOWN = frozenset(_NAMES.split())
"""Names of Linux congestion controls: distinguishes a spelling mistake from a missing module."""

_BUILT_IN = re.compile(r"^CONFIG_TCP_CONG_(\w+)=y", re.MULTILINE)
_MODULES = re.compile(r"^CONFIG_MODULES=y", re.MULTILINE)
_SYMBOLS = {"HSTCP": "highspeed"}
"""Configuration symbol -> name of the congestion control, where they differ."""


def available_congestion_controls(path: Path = AVAILABLE) -> tuple[str, ...]:
    """Read what the kernel offers.

    Raises:
        HostError: The kernel's file cannot be read.
    """
    try:
        return tuple(path.read_text().split())
    except OSError as error:
        raise HostError(f"{path}: cannot be read ({error.strerror}); is this Linux?") from error


def configured_congestion_controls(configuration: Path) -> tuple[str, ...]:
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
        return path.read_text()
    except OSError as error:
        raise HostError(f"{path}: cannot be read ({error.strerror})") from error


def check_strategies(
    strategies: Sequence[str], where: str, available: Sequence[str], loadable: bool = True
) -> None:
    """Refuse strategies that the hosts' kernel cannot run.

    Args:
        strategies: The scenario's strategies, without those that come from a file
            (`find_controls`).
        where: File name for messages.
        available: What the kernel has.
        loadable: Whether it may load more: this machine's can, a guest's has what is built in.

    Raises:
        ConfigError: One line for each strategy that is unknown or missing.
    """
    lines = [_problem(s, available, loadable) for s in strategies if s not in available]
    if lines:
        raise ConfigError("\n".join(f"{where}: strategies: {line}" for line in lines))


def check_utility(scenario: Scenario, where: str) -> None:
    """Refuse a scenario whose own utility could not be called at the end of the run.

    Args:
        scenario: The scenario.
        where: File name for messages.

    Raises:
        ConfigError: The function cannot be imported or takes other arguments.
    """
    utility = scenario.equilibrium.utility
    if not isinstance(utility, UserUtility):
        return
    try:
        load_function(utility.function, arguments=1)
    except ConfigError as error:
        raise ConfigError(f"{where}: equilibrium.utility.function: {error.message}") from error


def _problem(strategy: str, available: Sequence[str], loadable: bool) -> str:
    has = f"available: {', '.join(available)}"
    if strategy in KNOWN and not loadable:
        return f"the guests' kernel has no {strategy!r} ({has})"
    if strategy in KNOWN:
        return f"this kernel has no {strategy!r}; try `modprobe tcp_{strategy}` ({has})"
    names = [*available, *SHIPPED_CONTROLS, *sorted(KNOWN)]
    close = difflib.get_close_matches(strategy, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{strategy!r} is not a known congestion control; {hint}({has})"
