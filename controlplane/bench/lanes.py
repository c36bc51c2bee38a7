"""How many lanes side by side this machine carries, and how late departures and ACKs are then."""

import os
import sys
from collections.abc import Callable, Sequence

from ..calibrate.capacity import FEW, Capacities, LaneCount, measure_lanes
from ..calibrate.level import ShowLine
from ..config import Loaded
from ..contract.benchmark import Benchmark
from ..contract.certificate import LevelAttempt, Stalls
from ..contract.testbed import Testbed
from ..machine.host.cores import names
from ..machine.host.stalls import watch_machine

TARGET_GBPS = 1.2
WATCH_S = 15.0
ERROR_SHARE = 0.01
"""Share of the base RTT by which round trips may be too long on average."""
Measure = Callable[[Loaded[Testbed], Capacities, ShowLine], LaneCount]
Watch = Callable[[int, float, int, Sequence[int]], Stalls]


def bench_lanes(
    testbed: Loaded[Testbed],
    what: Capacities,
    repetitions: int = 1,
    measure: Measure = measure_lanes,
    watch: Watch = watch_machine,
) -> tuple[Benchmark, ...]:
    """Search for the largest number of lanes for which every gate passes.

    Before each search the packet loops' cores are watched, one after the other, with nothing on
    them but a program that looks at the clock: the other cores idle, then all of them busy, as
    they are under load.

    Raises:
        NashbedError: The machine cannot run anything, or the person stopped it.
    """
    limit_us = what.lanes.base_rtt.ns * ERROR_SHARE / 1000
    counts: list[LaneCount] = []
    stalls: dict[str, list[Stalls]] = {"alone": [], "busy": []}
    for _ in range(repetitions):
        for core in testbed.model.dataplane.cores:
            for name, busy in (("alone", ()), ("busy", _cores())):
                stalls[name].append(watch(core, WATCH_S, int(limit_us * 1000), busy))
        counts.append(measure(testbed, what, _say))
    few = [level for each in counts for level in each.passed_at(FEW)]
    most = [level for each in counts for level in each.passed_at(each.lanes)]
    small = f"{FEW * what.lanes.rate.bps / 1e6:g}mbit"
    return (
        _largest(what, counts),
        *_lateness(small, few),
        *_round_trip_error(small, few, None),
        *_lateness("lanes", most),
        *_round_trip_error("lanes", most, limit_us),
        *(_machine(name, watched) for name, watched in stalls.items()),
    )


def _cores() -> tuple[int, ...]:
    return tuple(sorted(os.sched_getaffinity(0)))


def _machine(name: str, stalls: Sequence[Stalls]) -> Benchmark:
    """How often the machine alone would make a departure late."""
    others = "other cores idle" if name == "alone" else "all cores busy"
    longest = max(each.longest_ns for each in stalls) / 1e6
    return Benchmark(
        name=f"machine_late_permille_{name}",
        unit="per mille of moments",
        values=tuple(each.late_share * 1000 for each in stalls),
        sense="at most",
        detail=f"from which {_named(stalls)} runs nothing for more than "
        f"{stalls[0].bound_ns / 1000:g} us, {others}, no data plane; longest {longest:.1f} ms. "
        "More than 1 on a busy machine: no program's 99.9th percentile is below",
        data={"watched": [each.model_dump() for each in stalls]},
    )


def _named(stalls: Sequence[Stalls]) -> str:
    cores = sorted({each.core for each in stalls})
    return f"core {cores[0]}" if len(cores) == 1 else f"one of cores {names(cores)}"


def _largest(what: Capacities, counts: Sequence[LaneCount]) -> Benchmark:
    lanes, kind = what.lanes, f"{what.lanes.rate} lanes"
    detail = f"{', '.join(str(each.lanes) for each in counts)} {kind}: {lanes.flows} flows of "
    detail += f"CUBIC and BBR, {lanes.base_rtt}, {lanes.buffer}, {lanes.seconds:g} s, every gate; "
    return Benchmark(
        name="lanes_gbps",
        unit="Gbit/s",
        values=tuple(each.rate_bps / 1e9 for each in counts),
        wanted=TARGET_GBPS,
        detail=detail + "; ".join(tally(each.levels) for each in counts),
        data={
            "lanes": [each.lanes for each in counts],
            "lane": {
                "rate": str(lanes.rate),
                "buffer": str(lanes.buffer),
                "base_rtt": str(lanes.base_rtt),
                "flows": lanes.flows,
                "seconds": lanes.seconds,
            },
            "levels": [[level.model_dump(mode="json") for level in each.levels] for each in counts],
        },
    )


def _lateness(name: str, levels: Sequence[LevelAttempt]) -> list[Benchmark]:
    """Both benchmarks over the attempts that passed; none where none did."""
    lateness = [level.lateness for level in levels if level.lateness is not None]
    if not lateness:
        return []
    at = f"{levels[0].lanes} lanes at once, each attempt that passed"
    median = Benchmark(
        name=f"lateness_p50_us_{name}",
        unit="microseconds",
        values=tuple(each.p50_ns / 1000 for each in lateness),
        sense="at most",
        detail=f"{at}: the median lane's median",
    )
    late = Benchmark(
        name=f"lateness_p999_us_{name}",
        unit="microseconds",
        values=tuple(each.p999_ns / 1000 for each in lateness),
        sense="at most",
        detail=f"{at}: the worst lane's 99.9th percentile",
    )
    return [median, late]


def _round_trip_error(
    name: str, levels: Sequence[LevelAttempt], limit_us: float | None
) -> list[Benchmark]:
    """What was left of lateness when acknowledgements went back; none where none passed."""
    errors = [e for level in levels if (e := level.round_trip_error) is not None]
    if not errors:
        return []
    worst = ", ".join(f"{each.max_ns / 1e6:.2g}" for each in errors)
    return [
        Benchmark(
            name=f"round_trip_error_us_{name}",
            unit="microseconds",
            values=tuple(each.mean_ns / 1000 for each in errors),
            wanted=limit_us,
            sense="at most",
            detail=f"{levels[0].lanes} lanes at once, each attempt that passed: by how much the "
            f"worst lane's round trips were too long on average; at most {worst} ms",
        )
    ]


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
