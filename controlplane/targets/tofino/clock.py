"""The switch's clock on CLOCK_MONOTONIC, from readings of a register that P4 keeps.

The packet generator makes a packet every millisecond and P4 notes the time of each. A
reading is therefore old by the answer's way and up to a millisecond; the best of a few
dozen, at random phases, is old by little more than the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...contract.records import CLOCK_WRAP_NS

READINGS = 40


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


def switch_ns(entry: dict[str, Any], register: str) -> int:
    """The time in a register entry; of all pipes, the one whose generator runs."""
    high, low = (_listed(entry[f"{register}.{word}"]) for word in ("high", "low"))
    return max((h << 32) | w for h, w in zip(high, low, strict=True))


def _listed(value: Any) -> list[int]:
    return value if isinstance(value, list) else [value]
