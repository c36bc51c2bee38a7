"""Where a scenario's congestion controls come from: its kernel, hosts/cc, or a file of the user's.

A name that the hosts' kernel has is the kernel's own control. Any other is that of a C file.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from ..contract.control import SHIPPED_CONTROLS, SUFFIX, ControlFile, control_name, read_control
from ..contract.errors import ConfigError
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed
from .load import Loaded
from .source import parse


def find_controls(
    scenario: Loaded[Scenario],
    testbed: Loaded[Testbed],
    kernels_own: Collection[str],
    shipped: Path,
) -> tuple[ControlFile, ...]:
    """The controls that a scenario needs in addition to those of the hosts' kernel, in its order.

    What is neither the kernel's nor found is left out: `check_strategies` speaks of it.

    Args:
        scenario: The scenario, and the file that paths in it are relative to.
        testbed: The testbed, which may name a folder of controls.
        kernels_own: Controls that the hosts' kernel has.
        shipped: The folder of the controls that nashbed brings along, with cc.h.

    Raises:
        ConfigError: A file is missing or has a name that is taken; one line for each.
    """
    written = written_files(scenario)
    own = files_in(testbed)
    controls, problems = [], []
    for name in scenario.model.strategies:
        try:
            source = _source_of(name, written, own, kernels_own, shipped)
            if source is not None:
                controls.append(read_control(source, shipped))
        except ConfigError as error:
            problems.append(f"{scenario.name}: strategies: {error.message}")
    if problems:
        raise ConfigError("\n".join(problems))
    return tuple(controls)


def written_files(scenario: Loaded[Scenario]) -> dict[str, Path]:
    """The strategies that a scenario names by the paths of their files: name -> file."""
    written: Sequence[str] = parse(scenario.text, scenario.name).data["strategies"]
    folder = Path(scenario.name).parent
    return {control_name(word): folder / word for word in written if word.endswith(SUFFIX)}


def files_in(testbed: Loaded[Testbed]) -> dict[str, Path]:
    """The C files in the testbed's folder of controls: stem -> file.

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
    """The file of a control; None: it is the kernel's, or nobody's."""
    source = written.get(name, own.get(name))
    if source is not None and name in kernels_own:
        raise ConfigError(f"{source}: the kernel has {name!r} of its own; rename the file")
    if source is not None and name in SHIPPED_CONTROLS and name not in written:
        raise ConfigError(f"{source}: nashbed ships {name!r} as well; rename the file")
    if source is None and name not in kernels_own and name in SHIPPED_CONTROLS:
        return shipped / f"{name}{SUFFIX}"
    return source
