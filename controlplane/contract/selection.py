"""Which settings something is about: bounds and published series name what they have."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from .course import StartSpec
from .disciplines import DisciplineSpec
from .model import ContractModel, formerly
from .queues import MemorySpec
from .units import Buffer, Duration, Rate, Share

MAX_FLOWS = 50_000
"""Flows of one trial: their TCP source ports are 10000 + i."""
Count = Annotated[int, Field(strict=True, ge=0, le=MAX_FLOWS)]


def _quoted(value: Any) -> Any:
    """Refuse a kernel release that YAML has read as a number: 6.10 would become 6.1."""
    if isinstance(value, int | float):
        raise ValueError(f'{value} is a number; write a kernel release in quotes, e.g. "6.12"')
    return value


KernelRelease = Annotated[
    str, BeforeValidator(_quoted), Field(pattern=r"^[0-9]+(\.[0-9]+)*$", max_length=32)
]
"""The beginning of a kernel's release, e.g. 6.1 for 6.1.176."""


class SettingSelection(ContractModel):
    """Selects settings: those that have every value given here.

    Attributes:
        buffer: The setting's buffer, as written in the sweep.
        discipline: Its queue discipline, likewise.
        shared_buffer: How its queues share the buffer, likewise.
        rate: Its rate.
        base_rtt: Its base RTT (of the first flow group).
        random_loss: Its swept random loss.
        kernel: Its guest kernel, as written in the scenario.
        start: Its swept start.
        duration: Its swept length of a trial.
        count: Its swept number of flows (of the first flow group).
    """

    buffer: Buffer | None = None
    discipline: DisciplineSpec | None = None
    shared_buffer: MemorySpec | None = formerly("memory", "shared_buffer")
    rate: Rate | None = None
    base_rtt: Duration | None = None
    random_loss: Share | None = None
    kernel: KernelRelease | None = None
    start: StartSpec | None = None
    duration: Duration | None = None
    count: Count | None = None
