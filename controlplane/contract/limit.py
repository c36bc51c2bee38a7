"""A hard limit of a queue, what it admits and counts, and a line with such a queue before it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .model import ELSEWHERE, ContractModel, InC, Needs, Quantities
from .shared import CONSTANTS
from .units import PACKET_BYTES, Rate, Size

Arrivals = Literal["frames", "trains"]
LimitCounts = Literal["system", "queue"]
LimitValue = Annotated[int, Field(ge=1, le=CONSTANTS.limit_max)]
LEAST_ACK_BYTES, MOST_ACK_BYTES = 14 + 20 + 20, 14 + 60 + 60
"""Frames without payload: headers without options, and with all of them."""

BURST_MAX = Size(2_000_000_000)


class Limit(ContractModel):
    """A queue's hard limit in the unit that it is enforced in.

    Attributes:
        unit: bytes, packets or cells.
        value: How many of the unit.
        cell_bytes: Size of a cell; 0 unless the unit is cells.
    """

    unit: Annotated[
        Literal["bytes", "packets", "cells"],
        Needs("target {of.target} cannot limit in {value}"),
    ]
    value: LimitValue
    cell_bytes: Annotated[int, Field(ge=0, le=CONSTANTS.cell_bytes_max)] = 0

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

    rate_bps: Annotated[int, Field(strict=True, ge=1, le=CONSTANTS.rate_bps_max)]
    limit: Limit
    overhead_bytes: Annotated[int, Field(strict=True, ge=0, le=CONSTANTS.overhead_bytes_max)] = 0

    @property
    def longest_ns(self) -> int:
        """How long acknowledgements may be in its queue, what is being sent included."""
        packets, held = self.limit.value // LEAST_ACK_BYTES, self.limit.value
        if self.limit.unit == "packets":
            packets, held = self.limit.value, self.limit.value * MOST_ACK_BYTES
        return (held + packets * self.overhead_bytes) * 8 * 10**9 // self.rate_bps


class Policer(Quantities):
    """A token bucket in front of the queue: what finds too few tokens is dropped at once.

    Attributes:
        rate: What it passes in the long run, overhead counted.
        burst: How many bytes it holds; it is full at the beginning.
    """

    rate: Rate
    burst: Annotated[Size, InC(most=BURST_MAX.bytes)]


class Admission(ContractModel):
    """What comes to a queue and counts there: keys of a scenario that targets are told as they are.

    Attributes:
        policer: A token bucket in front of the queue.
        limit_counts: Until when a packet (or a train, as one) counts against the limit: `system`,
            until its last bit has left; `queue`, until its first bit leaves, as in a Linux router
            and in a switch chip's queue. Left out: as the target has it, which is `system` except
            on a Tofino.
    """

    policer: Annotated[
        Policer | None,
        Needs("target {of.target} has no policer ({key}); " + ELSEWHERE),
        Field(exclude_if=lambda told: told is None),
    ] = None
    limit_counts: Annotated[
        LimitCounts | None,
        Needs(
            "the limit of target {of.target} counts the {can}, not the {value} ({key}); leave it "
            "out, or " + ELSEWHERE,
        ),
    ] = None

    @property
    def counts_sent(self) -> bool:
        """Whether a packet counts against the limit while it is being sent."""
        return self.limit_counts != "queue"

    def passed_bps(self, rate_bps: float) -> float:
        """What comes to the queue in the long run of so much."""
        return rate_bps if self.policer is None else min(rate_bps, float(self.policer.rate.bps))

    def check(self, overhead: Size) -> None:
        """Refuse a policer that passes nothing; raises ValueError."""
        if self.policer is None:
            return
        if self.policer.rate.bps == 0:
            raise ValueError("policer.rate: must be more than 0; write e.g. 50mbit")
        least, burst = PACKET_BYTES + overhead.bytes, self.policer.burst
        if not least <= burst.bytes <= BURST_MAX.bytes:
            raise ValueError(
                f"policer.burst: {burst} is out of range; write {least}B (one packet) to "
                f"{BURST_MAX}"
            )
