"""Queue disciplines: those that nashbed has, and your own in one C file each.

>>> import nashbed as nb
>>> nb.aqm.new("mine")
>>> nb.aqm.check("mine.c").ok
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nashbed.controlplane.contract.disciplines import DISCIPLINES, Parameters
from nashbed.controlplane.contract.queues import POLICIES
from nashbed.controlplane.machine.c_files.aqm_check import (
    DisciplineVerdict,
    LoadVerdict,
    check_discipline,
)
from nashbed.controlplane.machine.c_files.aqm_judging import CHECKS
from nashbed.controlplane.machine.c_files.aqm_tool import ParameterAbout
from nashbed.controlplane.machine.c_files.kinds import DISCIPLINE
from nashbed.controlplane.machine.c_files.loadable import written
from nashbed.controlplane.machine.paths import AQM_HEADERS as HEADERS
from nashbed.controlplane.machine.paths import AQM_TEMPLATE as TEMPLATE
from nashbed.controlplane.machine.paths import MEMORY_TEMPLATE
from pydantic.fields import FieldInfo

from .files import write_template
from .steps import ShowStep, show_nothing

__all__ = [
    "CHECKS",
    "HEADERS",
    "MEMORY_TEMPLATE",
    "TEMPLATE",
    "DisciplineVerdict",
    "LoadVerdict",
    "ParameterAbout",
    "ShippedDiscipline",
    "check",
    "new",
    "policies",
    "shipped",
    "written",
]


@dataclass(frozen=True)
class ShippedDiscipline:
    """A queue discipline, or a policy of shared memory, that nashbed brings along.

    Attributes:
        name: Its name in a scenario.
        title: Its name for people.
        about: What it does, and where it is from.
        parameters: Parameter -> default as a scenario has it; None: none, or it follows from the
            buffer.
    """

    name: str
    title: str
    about: str
    parameters: dict[str, str | None]


def shipped(
    kinds: Mapping[str, type[Parameters]] = DISCIPLINES,
) -> tuple[ShippedDiscipline, ...]:
    """The queue disciplines that nashbed brings along, with parameters and defaults."""
    return tuple(
        ShippedDiscipline(
            name=name,
            title=model.TITLE,
            about=model.about().removesuffix("."),
            parameters={key: _default(field) for key, field in model.model_fields.items()},
        )
        for name, model in kinds.items()
    )


def policies() -> tuple[ShippedDiscipline, ...]:
    """The policies of the memory that several queues share, with parameters and defaults."""
    return shipped(POLICIES)


def new(name: str, folder: str | Path = ".", *, memory: bool = False) -> Path:
    """Write a small queue discipline, or a policy of shared memory, that works, to be changed.

    Args:
        name: Its name, at most 15 of a-z, 0-9 and _.
        folder: Where NAME.c is written.
        memory: A policy of the memory that several queues share.

    Returns:
        The file.

    Raises:
        ConfigError: There is such a file, or its name cannot be a discipline's.
    """
    template = MEMORY_TEMPLATE if memory else TEMPLATE
    return write_template(template, DISCIPLINE.file(name), Path(folder))


def check(
    source: str | Path, on_step: ShowStep = show_nothing, *, seed: int = 1
) -> DisciplineVerdict:
    """Compile a queue discipline, send packets through it, and judge what it does with them.

    With six loads of seeded random arrivals at 10 Mbit/s: every packet comes out once, those of a
    flow in order, never is more queued than the limit, the line is never idle with a packet in the
    queue, and the same packets fare the same again. A policy of shared memory has four queues,
    which packets are for by their flow, each first in, first out, served in turns.

    Args:
        source: Its C file.
        on_step: Called as it goes on: what is done, steps done, steps in all.
        seed: Of the packets, and of what the discipline draws.

    Raises:
        ConfigError: It does not compile, is no discipline, crashes, or does not return.
        HostError: There is no compiler, or nashbed-aqm is not built.
    """
    return check_discipline(Path(source), on_step, seed)


def _default(field: FieldInfo) -> str | None:
    if field.is_required() or field.default is None:
        return None
    value = field.default
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
