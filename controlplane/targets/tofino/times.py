"""Times of the switch: its clock on CLOCK_MONOTONIC, and when a packet's last bit has left.

The packet generator makes a packet every millisecond and P4 notes the time of each. A reading of
that register is therefore old by the answer's way and up to a millisecond; the best of a few dozen,
at random phases, is old by little more than the way.

P4 sees a packet leave its queue, not the end of its serialisation. The shaper lets a packet go when
the one before it would have been serialised at the shaper's rate; its own end is its own length at
that rate later. Length and rate are known afterwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...contract.model import JsonObject
from ...contract.records import CLOCK_WRAP_NS, KIND_DEPARTED, POSTCARD, join_u48
from ...contract.target import Applied

READINGS = 40
NS = 10**9


@dataclass(frozen=True)
class ClockReading:
    """One reading.

    Attributes:
        after_ns: CLOCK_MONOTONIC after the answer.
        switch_ns: The switch's clock as it was noted, some time before.
    """

    after_ns: int
    switch_ns: int


def epoch_ns(readings: Sequence[ClockReading]) -> int | None:
    """The switch clock's 0 on CLOCK_MONOTONIC; None: the clock does not move.

    Every reading puts it too late, by its age; so the earliest is the best. It may be below 0,
    for a switch is often up for longer than the hosts' machine. The clock may wrap between two
    readings: the switch times of all are taken to be near the first one.
    """
    if len({reading.switch_ns for reading in readings}) < 2:
        return None
    first_ns = readings[0].switch_ns
    return min(r.after_ns - first_ns - _since(r.switch_ns, first_ns) for r in readings)


def _since(switch_ns: int, earlier_ns: int) -> int:
    """Nanoseconds from one reading of the clock to another, at most half of its range apart."""
    half = CLOCK_WRAP_NS // 2
    return (switch_ns - earlier_ns + half) % CLOCK_WRAP_NS - half


def switch_ns(entry: JsonObject, register: str) -> int:
    """The time in a register entry; of all pipes, the one whose generator runs."""
    high, low = (_listed(entry[f"{register}.{word}"]) for word in ("high", "low"))
    return max((h << 32) | w for h, w in zip(high, low, strict=True))


def _listed(value: Any) -> list[int]:
    return value if isinstance(value, list) else [value]


def add_serialisation(path: Path, applied: Applied) -> None:
    """Move the departures in a file of raw postcards, all of one lane, to the ends of packets.

    Args:
        path: The file; a record that is cut off at its end is left for its reader to refuse.
    """
    count = path.stat().st_size // POSTCARD.itemsize
    if count == 0:
        return
    cards = np.memmap(path, dtype=POSTCARD, mode="r+", shape=(count,))
    departed = np.flatnonzero(cards["kind"] == KIND_DEPARTED)
    if len(departed) == 0:
        return
    left = join_u48(cards["dequeue_high"][departed], cards["dequeue_low"][departed])
    counted = cards["packet_bytes"][departed].astype(np.int64) + applied.overhead_bytes
    taken = counted * 8 * NS // applied.rate_bps
    # After a burst a short packet may follow a long one at once: a link keeps their order.
    since_first = np.maximum.accumulate((left - left[0]) % CLOCK_WRAP_NS + taken)
    ends = (left[0] + since_first) % CLOCK_WRAP_NS
    cards["dequeue_high"][departed] = ends >> 32
    cards["dequeue_low"][departed] = ends & 0xFFFFFFFF
    cards.flush()
