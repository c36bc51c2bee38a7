"""A hard limit of a queue."""

from __future__ import annotations

from typing import Literal

from .model import ContractModel
from .units import PACKET_BYTES


class Limit(ContractModel):
    """A queue's hard limit in the unit that it is enforced in.

    Attributes:
        unit: bytes, packets or cells.
        value: How many of the unit.
        cell_bytes: Size of a cell; 0 unless the unit is cells.
    """

    unit: Literal["bytes", "packets", "cells"]
    value: int
    cell_bytes: int = 0

    @property
    def in_bytes(self) -> int:
        """The limit as bytes; a packet counts as a full-sized frame."""
        if self.unit == "packets":
            return self.value * PACKET_BYTES
        return self.value * (self.cell_bytes if self.unit == "cells" else 1)
