"""A hard limit of a queue, and a line with such a queue before it."""

from __future__ import annotations

from typing import Annotated, Literal

from .model import ContractModel, Count
from .needs import Needs
from .units import PACKET_BYTES


class Limit(ContractModel):
    """A queue's hard limit in the unit that it is enforced in.

    Attributes:
        unit: bytes, packets or cells.
        value: How many of the unit.
        cell_bytes: Size of a cell; 0 unless the unit is cells.
    """

    unit: Annotated[
        Literal["bytes", "packets", "cells"],
        Needs("limit_units", "target {of.target} cannot limit in {value}"),
    ]
    value: int
    cell_bytes: int = 0

    @property
    def in_bytes(self) -> int:
        """The limit as bytes; a packet counts as a full-sized frame."""
        if self.unit == "packets":
            return self.value * PACKET_BYTES
        return self.value * (self.cell_bytes if self.unit == "cells" else 1)


class QueuedLine(ContractModel):
    """A line with a queue before it, as asked for or as applied.

    Attributes:
        rate_bps: Rate in bit/s.
        limit: The queue's hard limit.
        overhead_bytes: Bytes counted for each packet besides the frame.
    """

    rate_bps: Count
    limit: Limit
    overhead_bytes: Count = 0
