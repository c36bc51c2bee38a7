"""A hard limit of a queue, what it admits and counts, and a line with such a queue before it."""

from typing import Annotated, Literal

from pydantic import Field

from .model import ELSEWHERE, ContractModel, InC, Needs, Quantities, formerly
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


class Shaper(Quantities):
    """A token bucket behind the queue, as Linux's tbf has it: what finds too few tokens waits.

    Attributes:
        burst: How many bytes the bucket holds, which fills at the bottleneck's rate; it is full at
            the beginning.
        peak: What a burst leaves at; left out: with no time between its packets.
        mtu: How many bytes the bucket of `peak` holds; 1514B and the overhead have packets of a
            burst leave at that rate.
    """

    burst: Annotated[Size, InC(most=BURST_MAX.bytes)]
    peak: Annotated[Rate | None, InC(most=CONSTANTS.rate_bps_max)] = None
    mtu: Annotated[Size | None, InC(most=BURST_MAX.bytes)] = None

    def check(self, rate: Rate, overhead: Size) -> None:
        """Refuse buckets that let no packet pass, or do nothing; raises ValueError."""
        _check_bucket("shaper.burst", self.burst, overhead, BURST_MAX)
        if (self.peak is None) != (self.mtu is None):
            raise ValueError("shaper: peak and mtu go together; write both, or neither")
        if self.mtu is not None:
            _check_bucket("shaper.mtu", self.mtu, overhead, self.burst)
        if self.peak is not None and self.peak.bps <= rate.bps:
            raise ValueError(f"shaper.peak: {self.peak} must be more than the rate, {rate}")


def _check_bucket(key: str, size: Size, overhead: Size, most: Size) -> None:
    """Refuse a token bucket that a packet does not fit in, or too large; raises ValueError."""
    least = PACKET_BYTES + overhead.bytes
    if not least <= size.bytes <= most.bytes:
        raise ValueError(f"{key}: {size} is out of range; write {least}B (one packet) to {most}")


class Admission(ContractModel):
    """What comes to a queue, counts there and leaves it: keys that targets are told as they are.

    Attributes:
        policer: A token bucket in front of the queue, for which nothing waits.
        shaper: A token bucket in place of the line: `{burst: 32kB}` lets so much pass at once
            after a pause, and the rate in the long run; `{burst: 32kB, peak: 1gbit, mtu: 1514B}`.
        limit_counts: Until when a packet (or a train, as one) counts against the limit: `system`,
            until its last bit has left; `queue`, until its first bit leaves, as in a Linux router
            and in a switch chip's queue. Left out: as the target has it, which is `system` except
            on a Tofino. With a shaper both are the same.
        arrive_as: What the queue admits or drops as one: `frames`, each by itself, as a switch
            does; `trains`, frames of one flow that arrive back to back, as a Linux router does.
    """

    policer: Annotated[
        Policer | None,
        Needs("target {of.target} has no policer ({key}); " + ELSEWHERE),
        Field(exclude_if=lambda told: told is None),
    ] = None
    shaper: Annotated[
        Shaper | None,
        Needs("target {of.target} has no token-bucket shaper ({key}); " + ELSEWHERE),
        Field(exclude_if=lambda told: told is None),
    ] = None
    limit_counts: Annotated[
        LimitCounts | None,
        Needs(
            "the limit of target {of.target} counts the {can}, not the {value} ({key}); leave it "
            "out, or " + ELSEWHERE,
        ),
    ] = None
    arrive_as: Annotated[
        Arrivals, Needs("target {of.target} admits {can}, not {value} ({key}); " + ELSEWHERE)
    ] = formerly("arrivals", "arrive_as", "frames")

    @property
    def has_bucket(self) -> bool:
        """Whether packets need tokens before the queue, or behind it."""
        return self.policer is not None or self.shaper is not None

    @property
    def drops_before_queue(self) -> bool:
        """Whether packets may be dropped for which the queue has room."""
        return self.policer is not None

    @property
    def counts_sent(self) -> bool:
        """Whether a packet counts against the limit while it is being sent."""
        return self.limit_counts != "queue" or self.shaper is not None

    def passed_bps(self, rate_bps: float) -> float:
        """What comes to the queue in the long run of so much."""
        return rate_bps if self.policer is None else min(rate_bps, float(self.policer.rate.bps))

    def check(self, rate: Rate, overhead: Size) -> None:
        """Refuse token buckets that pass nothing; raises ValueError."""
        if self.shaper is not None:
            self.shaper.check(rate, overhead)
        if self.policer is None:
            return
        if self.policer.rate.bps == 0:
            raise ValueError("policer.rate: must be more than 0; write e.g. 50mbit")
        _check_bucket("policer.burst", self.policer.burst, overhead, BURST_MAX)
