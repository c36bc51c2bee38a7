"""What goes to a target and what comes back: intent in, truth out."""

from __future__ import annotations

from typing import Literal

from .model import Model


class Limit(Model):
    """A drop-tail limit in the unit that it is enforced in.

    Attributes:
        unit: bytes, packets or cells.
        value: How many of the unit.
        cell_bytes: Size of a cell; 0 unless the unit is cells.
    """

    unit: Literal["bytes", "packets", "cells"]
    value: int
    cell_bytes: int = 0


class BottleneckProgram(Model):
    """The intent for one lane.

    Attributes:
        rate_bps: Rate in bit/s.
        limit: Drop-tail limit.
        overhead_bytes: Bytes counted for each packet besides the frame.
    """

    rate_bps: int
    limit: Limit
    overhead_bytes: int = 0


class Applied(Model):
    """What the target really does.

    Attributes:
        rate_bps: Rate in bit/s.
        limit: Drop-tail limit.
        buffer_bytes: The limit as bytes (packets of 1514 bytes).
        overhead_bytes: Bytes counted for each packet besides the frame.
    """

    rate_bps: int
    limit: Limit
    buffer_bytes: int
    overhead_bytes: int


class Capabilities(Model):
    """What a target can do.

    Attributes:
        target: Name of the target.
        lanes: Lanes side by side.
        flows: Flow table entries over all lanes.
        limit_units: Units that a limit can be enforced in.
        max_rate_bps: Highest rate of a lane in bit/s.
        max_buffer_bytes: Largest buffer of a lane in bytes.
        postcards: Ways of keeping postcards.
    """

    target: str
    lanes: int
    flows: int
    limit_units: tuple[Literal["bytes", "packets", "cells"], ...]
    max_rate_bps: int
    max_buffer_bytes: int
    postcards: tuple[Literal["all", "sample", "bins"], ...]
