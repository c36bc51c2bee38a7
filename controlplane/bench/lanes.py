"""How many lanes side by side this machine carries, and how late departures are then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from ..capacity import Capacities, Found, Tell, measure_lanes
from ..capacity.measure import FEW
from ..config import Loaded
from ..contract.capacity import LevelAttempt
from ..contract.figure import Figure
from ..contract.testbed import Testbed

TARGET_GBPS = 1.2
LATENESS_SHARE = 0.01
"""Of the base RTT."""
Measure = Callable[[Loaded[Testbed], Capacities, Tell], Found]


def bench_lanes(
    testbed: Loaded[Testbed],
    what: Capacities,
    repetitions: int = 1,
    measure: Measure = measure_lanes,
) -> tuple[Figure, ...]:
    """Search for the largest number of lanes for which every gate passes.

    Args:
        testbed: Where.
        what: What is looked for.
        repetitions: How often the whole search is made.
        measure: Makes one search.

    Raises:
        NashbedError: The machine cannot run anything, or the person stopped it.
    """
    found = [measure(testbed, what, _say) for _ in range(repetitions)]
    few = [level for each in found for level in each.passed_at(FEW)]
    most = [level for each in found for level in each.passed_at(each.lanes)]
    limit_us = what.lanes.base_rtt.ns * LATENESS_SHARE / 1000
    small = f"{FEW * what.lanes.rate.bps / 1e6:g}mbit"
    return (
        _largest(what, found),
        *_lateness(small, few, None),
        *_lateness("lanes", most, limit_us),
    )


def _largest(what: Capacities, found: Sequence[Found]) -> Figure:
    lanes, kind = what.lanes, f"{what.lanes.rate} lanes"
    detail = f"{', '.join(str(each.lanes) for each in found)} {kind}: {lanes.flows} flows of "
    detail += f"CUBIC and BBR, {lanes.base_rtt}, {lanes.buffer}, {lanes.seconds:g} s, every gate; "
    return Figure(
        name="lanes_gbps",
        unit="Gbit/s",
        values=tuple(each.rate_bps / 1e9 for each in found),
        wanted=TARGET_GBPS,
        detail=detail + "; ".join(tally(each.levels) for each in found),
        data={
            "lanes": [each.lanes for each in found],
            "lane": {
                "rate": str(lanes.rate),
                "buffer": str(lanes.buffer),
                "base_rtt": str(lanes.base_rtt),
                "flows": lanes.flows,
                "seconds": lanes.seconds,
            },
            "levels": [[level.model_dump(mode="json") for level in each.levels] for each in found],
        },
    )


def _lateness(name: str, levels: Sequence[LevelAttempt], limit_us: float | None) -> list[Figure]:
    """Both figures over the attempts that passed; none where none did."""
    told = [level.lateness for level in levels if level.lateness is not None]
    if not told:
        return []
    at = f"{levels[0].lanes} lanes at once, each attempt that passed"
    median = Figure(
        name=f"lateness_p50_us_{name}",
        unit="microseconds",
        values=tuple(each.p50_ns / 1000 for each in told),
        sense="at most",
        detail=f"{at}: the median lane's median",
    )
    late = Figure(
        name=f"lateness_p999_us_{name}",
        unit="microseconds",
        values=tuple(each.p999_ns / 1000 for each in told),
        wanted=limit_us,
        sense="at most",
        detail=f"{at}: the worst lane's 99.9th percentile",
    )
    return [median, late]


def tally(levels: Sequence[LevelAttempt]) -> str:
    """How often each level passed, from few lanes to many."""
    parts = []
    for lanes in sorted({level.lanes for level in levels}):
        own = [level.passed for level in levels if level.lanes == lanes]
        parts.append(f"{lanes} lanes {sum(own)}/{len(own)}")
    return "passed: " + ", ".join(parts)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
