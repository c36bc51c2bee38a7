"""Which CCAs a scenario may name, and where each comes from.

A name that the hosts' kernel has is the kernel's own CCA. Any other is that of a C file: one of
hosts/cc, or the user's.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from pathlib import Path

from ..contract.cca import SHIPPED_CCAS, SUFFIX, CcaFile, cca_name, read_cca
from ..contract.errors import ConfigError, HostError
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed
from .load import Loaded
from .strict_yaml import parse

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_NAMES = """bbr bic brutal cdg cubic dctcp highspeed htcp hybla illinois lp nv prague reno
scalable vegas veno westwood yeah"""
KNOWN = frozenset(_NAMES.split())
"""Names of Linux CCAs: distinguishes a spelling mistake from a missing module."""
_BUILT_IN = re.compile(r"^CONFIG_TCP_CONG_(\w+)=y", re.MULTILINE)
_MODULES = re.compile(r"^CONFIG_MODULES=y", re.MULTILINE)
_SYMBOLS = {"HSTCP": "highspeed"}
"""Configuration symbol -> name of the CCA, where they differ."""


def find_ccas(
    scenario: Loaded[Scenario],
    testbed: Loaded[Testbed],
    kernels_own: Collection[str],
    shipped: Path,
) -> tuple[CcaFile, ...]:
    """The CCAs that a scenario needs in addition to those of the hosts' kernel, in its order.

    What is neither the kernel's nor found is left out: `check_strategies` speaks of it.

    Args:
        scenario: The scenario, and the file that paths in it are relative to.
        testbed: The testbed, which may name a folder of CCAs.
        kernels_own: CCAs that the hosts' kernel has.
        shipped: The folder of the CCAs that nashbed brings along, with cc.h.

    Raises:
        ConfigError: A file is missing or has a name that is taken; one line for each.
    """
    written = written_files(scenario)
    own = files_in(testbed)
    ccas, problems = [], []
    for name in scenario.model.ccas:
        try:
            source = _source_of(name, written, own, kernels_own, shipped)
            if source is not None:
                ccas.append(read_cca(source, shipped))
        except ConfigError as error:
            problems.append(f"{scenario.name}: strategies: {error.message}")
    if problems:
        raise ConfigError("\n".join(problems))
    return tuple(ccas)


def written_files(scenario: Loaded[Scenario]) -> dict[str, Path]:
    """The strategies that a scenario names by the paths of their files: name -> file."""
    written: Sequence[str] = parse(scenario.text, scenario.name).data["strategies"]
    folder = Path(scenario.name).parent
    return {cca_name(word): folder / word for word in written if word.endswith(SUFFIX)}


def files_in(testbed: Loaded[Testbed]) -> dict[str, Path]:
    """The C files in the testbed's folder of CCAs: stem -> file.

    Raises:
        ConfigError: There is no such folder.
    """
    if testbed.model.controls is None:
        return {}
    folder = Path(testbed.name).parent / testbed.model.controls
    if not folder.is_dir():
        raise ConfigError(f"{testbed.name}: controls: {folder}: no such folder")
    return {file.stem: file for file in sorted(folder.glob(f"*{SUFFIX}"))}


def _source_of(
    name: str,
    written: dict[str, Path],
    own: dict[str, Path],
    kernels_own: Collection[str],
    shipped: Path,
) -> Path | None:
    """The file of a CCA; None: it is the kernel's, or nobody's."""
    source = written.get(name, own.get(name))
    if source is not None and name in kernels_own:
        raise ConfigError(f"{source}: the kernel has {name!r} of its own; rename the file")
    if source is not None and name in SHIPPED_CCAS and name not in written:
        raise ConfigError(f"{source}: nashbed ships {name!r} as well; rename the file")
    if source is None and name not in kernels_own and name in SHIPPED_CCAS:
        return shipped / f"{name}{SUFFIX}"
    return source


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


def check_strategies(
    strategies: Sequence[str], where: str, available: Sequence[str], loadable: bool = True
) -> None:
    """Refuse strategies that the hosts' kernel cannot run.

    Args:
        strategies: The scenario's strategies, without those that come from a file
            (`find_ccas`).
        where: File name for messages.
        available: What the kernel has.
        loadable: Whether it may load more: this machine's can, a guest's has what is built in.

    Raises:
        ConfigError: One line for each strategy that is unknown or missing.
    """
    lines = [_problem(s, available, loadable) for s in strategies if s not in available]
    if lines:
        raise ConfigError("\n".join(f"{where}: strategies: {line}" for line in lines))


def _problem(strategy: str, available: Sequence[str], loadable: bool) -> str:
    has = f"available: {', '.join(available)}"
    if strategy in KNOWN and not loadable:
        return f"the guests' kernel has no {strategy!r} ({has})"
    if strategy in KNOWN:
        return f"this kernel has no {strategy!r}; try `modprobe tcp_{strategy}` ({has})"
    names = [*available, *SHIPPED_CCAS, *sorted(KNOWN)]
    close = difflib.get_close_matches(strategy, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{strategy!r} is not a known congestion control; {hint}({has})"
