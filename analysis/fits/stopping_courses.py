"""When the stopping rule ends long courses: the fluid model's, and those of runs.

Two courses from opposite starts each, of CUBIC and BBR. A trial is compared with the mean of the
second halves of both whole courses. Runs have a fixed, long duration, and sweep two starts.

    python -m nashbed.analysis.fits.stopping_courses [RUN...]
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from nashbed.controlplane.contract.course import PROBE_RTT_CYCLE_NS
from nashbed.controlplane.contract.records import GOODPUT
from nashbed.controlplane.contract.steadiness import Watch, cycles_of_goodput
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.finished_run import open_run
from nashbed.controlplane.store.sealed_trial import SealedTrial

from ..models.competition import Competition, FlowKind
from ..models.settling import by_who_starts_first, course_of
from .stopping import FloatArray, HalvesWatch, NewWatch, agree, follow

COURSES_S = 3600.0
RTT_S, CYCLE_S = 0.04, PROBE_RTT_CYCLE_NS / NS_PER_S + 0.04
MIXES = (
    (100, 2, 5, 10),
    (100, 20, 5, 10),
    (50, 0.5, 10, 50),
    (50, 5, 25, 50),
    (50, 20, 23, 50),
    (50, 30, 20, 50),
    (50, 50, 18, 50),
)
"""Mbit/s, BDP, BBR flows of how many; near the settled equilibria from 20 BDP on."""


def of_fluid(rate_mbps: float, bdp: float, bbr: int, flows: int) -> list[FloatArray]:
    """BBR's share in points by cycle, from either start."""
    kinds = (FlowKind("cubic", flows - bbr, RTT_S), FlowKind("bbr", bbr, RTT_S))
    rate_bps = rate_mbps * 1e6
    asked = Competition(rate_bps, bdp * rate_bps / 8 * RTT_S, kinds, COURSES_S, 0)
    found = []
    for seed, start in enumerate(by_who_starts_first(asked)[1:], 1):
        course = course_of(start, seed)
        bins = round(CYCLE_S / course.bin_s)
        whole = course.departed_bytes[: len(course.departed_bytes) // bins * bins]
        cycles = whole.reshape(-1, bins, len(kinds)).sum(axis=1)
        found.append(100 * cycles[:, 1] / cycles.sum(axis=1))
    return found


def of_run(path: Path) -> Iterator[tuple[str, list[FloatArray]]]:
    """The courses of each mix of a run."""
    found: dict[str, list[FloatArray]] = defaultdict(list)
    for trial in open_run(path).valid_trials:
        (mix,) = trial.record.mix
        name = f"{path.name}, {trial.setting.buffer_label}, {mix.counts}"
        found[name].append(_share(trial))
    yield from ((name, pair) for name, pair in found.items() if len(pair) > 1)


def _share(trial: SealedTrial) -> FloatArray:
    table = trial.arrays("goodput", ("t_ns", "flow", "bytes"))
    goodput = np.zeros(len(table["t_ns"]), GOODPUT)
    for column, values in table.items():
        goodput[column] = values
    kinds = [(0, str(cc)) for cc in trial.arrays("flows", ("cc",))["cc"]]
    cycle_ns = PROBE_RTT_CYCLE_NS + max(trial.setting.base_rtt_ns)
    cycles = cycles_of_goodput(goodput, kinds, cycle_ns, trial.record.duration_ns)
    bbr, cubic = (np.array(cycles[0, cc], float) for cc in ("bbr", "cubic"))
    return np.asarray(100 * bbr / (bbr + cubic))


def line(name: str, pair: Sequence[FloatArray]) -> str:
    """What both rules make of two courses."""
    end = float(np.mean([course[len(course) // 2 :].mean() for course in pair]))
    rules: dict[str, tuple[NewWatch, float]] = {
        "before": (HalvesWatch, 900.0), "now": (Watch, 1800.0),
    }  # fmt: skip
    told = []
    for rule, (new_watch, most_s) in rules.items():
        found = [follow(course[: int(most_s / CYCLE_S)], new_watch) for course in pair]
        each = [
            f"{e.length_s:.0f} s {e.measured - end:+.1f}" if e.steadiness.settled else "no end"
            for e in found
        ]
        told.append(f"{rule}: {', '.join(each)}{'; agree' if agree(found) else ''}")
    return f"{name:40s} ends at {end:4.1f}   {'   '.join(told)}"


def main(runs: Sequence[str]) -> None:
    """Print a line for each mix of the fluid model, and of runs."""
    for mix in MIXES:
        rate, bdp, bbr, flows = mix
        name = f"fluid, {rate:g} Mbit/s, {bdp:g} BDP, {bbr} of {flows} BBR"
        print(line(name, of_fluid(*mix)), flush=True)
    for run in runs:
        for name, pair in of_run(Path(run)):
            print(line(name, pair))


if __name__ == "__main__":
    main(sys.argv[1:])
