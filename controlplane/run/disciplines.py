"""A user's own queue disciplines of a run: found, checked, kept with it, and the same again.

A user's own policies of the memory that queues share are C files as well, and go the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..config import Loaded
from ..contract.disciplines import Discipline
from ..contract.errors import ConfigError, HostError, NashbedError
from ..contract.limit import Limit
from ..contract.manifest import DisciplineFacts, Manifest
from ..contract.own_discipline import OwnDiscipline, read_own_discipline
from ..contract.plan import Plan
from ..contract.queues import Memory
from ..contract.scenario import Scenario
from ..contract.target import BottleneckProgram
from ..machine.aqm.loadable import check_ours, loadable_bottleneck
from ..machine.aqm.objects import discipline_object
from ..machine.paths import AQM_HEADERS
from .kept_sources import keep_sources

FOLDER = "disciplines"
"""Folder of a run directory with each of the user's own disciplines and the files it includes."""


def own_disciplines_of(scenario: Loaded[Scenario]) -> tuple[OwnDiscipline, ...]:
    """The disciplines, and the policies of the memory, that a scenario names by their files.

    Raises:
        ConfigError: A file is missing, or two have one name; one line for each.
    """
    found: dict[str, OwnDiscipline] = {}
    problems = []
    for file in dict.fromkeys(_files(scenario.model)):
        try:
            own = read_own_discipline(Path(scenario.name).parent / file, AQM_HEADERS)
            if own.name in found:
                raise ConfigError(f"{file}: there is another {own.name}; rename one of the files")
            found[own.name] = own
        except ConfigError as error:
            problems.append(f"{scenario.name}: discipline: {error.message}")
    if problems:
        raise ConfigError("\n".join(problems))
    return tuple(found.values())


def _files(scenario: Scenario) -> list[str]:
    """The files of disciplines and policies, as they are written."""
    bottleneck, sweep = scenario.bottleneck, scenario.sweep
    found: list[Discipline | Memory | None] = list(sweep.discipline or (bottleneck.discipline,))
    found += [queue.discipline for queue in bottleneck.queues or ()]
    found += sweep.memory or (bottleneck.memory,)
    return [each.file for each in found if each is not None and each.file is not None]


def require_disciplines(plan: Plan, own: Sequence[OwnDiscipline], where: str) -> None:
    """Refuse disciplines that a data plane would not take: each is asked, one's own compiled.

    Args:
        plan: What is planned.
        own: The user's own disciplines.
        where: The scenario's file, for messages.

    Raises:
        ConfigError: One does not compile, has no such parameter or value, or has some that do not
            go together at its line.
        HostError: There is no compiler.
    """
    for program in {trial.program for trial in plan.trials}:
        try:
            loadable_bottleneck(program, own)
            _require_parameters(program)
        except NashbedError as error:
            raise type(error)(f"{where}: discipline: {error.message}") from error


def _require_parameters(program: BottleneckProgram) -> None:
    """Our own disciplines' parameters at the line that they are to be at."""
    asked = [(program.discipline, program.limit)]
    for queue in program.queues.queues if program.queues is not None else ():
        own = Limit(unit="bytes", value=queue.limit_bytes)
        asked.append((queue.discipline, own if queue.limit_bytes else program.limit))
    for discipline, limit in asked:
        if discipline is not None and not discipline.file:
            check_ours(discipline, program.rate_bps, limit)


def keep_disciplines(folder: Path, own: Sequence[OwnDiscipline]) -> dict[str, DisciplineFacts]:
    """Copy the user's own disciplines into a run directory; returns what its manifest says.

    Args:
        folder: The run directory.
        own: Its disciplines.
    """
    return {each.name: _kept(folder, each) for each in own}


def _kept(folder: Path, own: OwnDiscipline) -> DisciplineFacts:
    made = discipline_object(own)
    return DisciplineFacts(
        source=keep_sources(folder, Path(FOLDER) / own.name, own.source, AQM_HEADERS),
        digest=own.digest,
        object_digest=made.digest,
        object_from=made.made_by,
    )


def kept_disciplines(folder: Path, manifest: Manifest) -> tuple[OwnDiscipline, ...]:
    """The user's own disciplines that a run began with.

    Args:
        folder: The run directory.
        manifest: Its manifest.

    Raises:
        ConfigError: One of them is not as it was: results depend on it.
        HostError: What is made of it here is not what the run began with.
    """
    return tuple(_as_it_was(folder, name, facts) for name, facts in manifest.disciplines.items())


def _as_it_was(folder: Path, name: str, facts: DisciplineFacts) -> OwnDiscipline:
    own = read_own_discipline(folder / facts.source, AQM_HEADERS)
    if own.digest != facts.digest:
        raise ConfigError(
            f"{own.source}: {name} or a header of it was changed after the run started; restore "
            "it, or start a new run"
        )
    if (made := discipline_object(own)).digest != facts.object_digest:
        raise HostError(
            f"{name}: the run began with another object ({facts.object_from}) than there is now "
            f"({made.made_by}): results depend on it; start a new run"
        )
    return own
