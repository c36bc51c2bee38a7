"""What trials on Dask's workers cost, beside the same trials on this machine's lanes."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ..cluster.connect import connected
from ..cluster.parcel import Parcel, unpack
from ..cluster.request import TrialOutcome
from ..cluster.roster import await_seats
from ..config import Loaded
from ..contract.benchmark import Benchmark
from ..contract.cluster import Cluster, LocalWorkers
from ..contract.errors import ConfigError
from ..contract.testbed import Testbed
from ..machine.log import ShowStep
from .cluster_runs import RunTimer, TimedRun, TimedSweep

LOG = logging.getLogger(__name__)

TRIAL_S = 10.0
"""The trial of which overhead is told as a share, in seconds of a worker's time."""
MIXES = (1, 3, 5, 7, 9)
SHORT_S, LONG_S = 10, 80
"""Virtual seconds of the sweep's trials, and of one that takes a core about ten seconds."""
GOAL_PERCENT = 2.0
INTAKE_WORKERS = 4
INTAKE = {SHORT_S: 15, LONG_S: 2}
"""Trials that take no time for each one that does, by the virtual seconds of the stored one."""
UNPACKED = 10


def bench_cluster(
    testbed: Loaded[Testbed],
    folder: Path,
    workers: Sequence[int],
    trials: int,
    show_step: ShowStep,
) -> tuple[Benchmark, ...]:
    """Time one sweep on lanes and on workers, then sweeps of trials that take no time.

    Args:
        testbed: In virtual time.
        folder: For run directories.
        workers: Numbers of workers of this machine.
        trials: Trials of each of the five mixes.
        show_step: Called with where each run stands.

    Raises:
        ConfigError: The testbed is not in virtual time.
        NashbedError: A run failed.
    """
    if not testbed.model.is_virtual:
        raise ConfigError(
            f"testbed {testbed.model.name!r}: target {testbed.model.target} runs in real time; "
            "choose a testbed of target virtual"
        )
    timer = RunTimer(testbed, folder, show_step)
    sweep = TimedSweep(SHORT_S, MIXES, trials)
    lanes = timer.time_run("lanes", sweep, None, None)
    runs = [_on_workers(timer, number, sweep) for number in workers]
    long = _on_workers(timer, 1, TimedSweep(LONG_S, MIXES[2:3], 1))
    stored = {SHORT_S: _middle(runs[0].came), LONG_S: _middle(long.came)}
    return (
        *rates(lanes, runs),
        *(gap for run in runs for gap in gap_benchmark(run.name, run.came)),
        *_intakes(timer, stored, trials),
        *(_unpacking(folder, seconds, each) for seconds, each in stored.items()),
    )


@dataclass(frozen=True)
class TrialSpan:
    """A trial on a worker.

    Attributes:
        worker: Address of the worker, which runs one trial at a time.
        began_s: When it began, by that worker's clock.
        ended_s: When it was sealed there, before it was packed.
    """

    worker: str
    began_s: float
    ended_s: float


def gaps_s(spans: Iterable[TrialSpan]) -> list[float]:
    """Seconds from the end of each trial to the beginning of the next one of the same worker.

    Packing, sending, Dask's scheduling and the next request are in them.

    Args:
        spans: Trials of all workers, in any order.
    """
    of_worker: dict[str, list[TrialSpan]] = defaultdict(list)
    for span in spans:
        of_worker[span.worker].append(span)
    return [
        after.began_s - before.ended_s
        for _, own in sorted(of_worker.items())
        for before, after in pairwise(sorted(own, key=lambda span: span.began_s))
    ]


def share_percent(seconds: float) -> float:
    """Seconds as percent of a trial."""
    return 100.0 * seconds / TRIAL_S


def per_minute(trials: int, seconds: float) -> float:
    """Trials a minute."""
    return 60.0 * trials / seconds


@dataclass(frozen=True)
class OnWorkers:
    """The sweep on workers.

    Attributes:
        workers: How many.
        came: What came back.
    """

    workers: int
    timed: TimedRun
    came: tuple[TrialOutcome, ...]

    @property
    def name(self) -> str:
        """Name of the place within names of benchmarks."""
        return f"local_{self.workers}"


def _local(workers: int) -> Cluster:
    return Cluster(name=f"local-{workers}", local=LocalWorkers(workers=workers))


def _on_workers(timer: RunTimer, workers: int, sweep: TimedSweep) -> OnWorkers:
    with connected(_local(workers)) as client:
        seats = sum(await_seats(client, LOG.info).values())
        timed, came = timer.on_workers(f"local:{workers}", sweep, client, seats)
    return OnWorkers(workers, timed, tuple(came))


def _middle(came: Sequence[TrialOutcome]) -> TrialOutcome:
    """The outcome whose parcel is of median size."""
    good = [each for each in came if not each.failure]
    return sorted(good, key=lambda each: len(each.parcel))[len(good) // 2]


def rates(lanes: TimedRun, runs: Sequence[OnWorkers]) -> list[Benchmark]:
    """Trials a minute of the same sweep at each place, and what more workers bring.

    Args:
        lanes: On the lanes of this machine.
    """
    first = runs[0]
    places = {"lanes": lanes} | {run.name: run.timed for run in runs}
    found = [_rate(name, timed) for name, timed in places.items()]
    return found + [
        Benchmark(
            name=f"cluster_speedup_{run.name}",
            unit=f"times {first.name}",
            values=(_trials_per_minute(run.timed) / _trials_per_minute(first.timed),),
            detail=f"trials a minute on {run.workers} workers over those on {first.workers}",
        )
        for run in runs[1:]
    ]


def _trials_per_minute(timed: TimedRun) -> float:
    return per_minute(timed.trials, timed.wall_s)


def _rate(name: str, timed: TimedRun) -> Benchmark:
    return Benchmark(
        name=f"cluster_trials_per_minute_{name}",
        unit="trials a minute",
        values=(_trials_per_minute(timed),),
        detail=f"{timed.trials} trials of {SHORT_S} virtual s, 10 flows, 100 Mbit/s, in "
        f"{timed.wall_s:.1f} s, from the plan to the last sealed one",
        data={"wall_s": timed.wall_s, "client_cpu_s": timed.cpu_s},
    )


def gap_benchmark(name: str, came: Sequence[TrialOutcome]) -> list[Benchmark]:
    """What a worker does not run trials for, between two of them; none where there is no gap.

    Args:
        name: Of the place.
        came: What came back from there.
    """
    spans = [TrialSpan(o.worker, o.began_at, o.ended_at) for o in came if not o.failure]
    gaps = gaps_s(spans)
    if not gaps:
        return []
    return [
        Benchmark(
            name=f"cluster_overhead_percent_{name}",
            unit=f"% of a {TRIAL_S:g} s trial",
            values=tuple(share_percent(gap) for gap in gaps),
            wanted=GOAL_PERCENT,
            sense="at most",
            detail="from the end of a worker's trial to the beginning of its next: packing, "
            "moving, scheduling; one value for each pair",
            data={"trial_s": [span.ended_s - span.began_s for span in spans]},
        )
    ]


def _intakes(timer: RunTimer, stored: dict[int, TrialOutcome], trials: int) -> list[Benchmark]:
    """What client and scheduler can take in, of parcels of each size."""
    found = []
    with connected(_local(INTAKE_WORKERS)) as client:
        seats = sum(await_seats(client, LOG.info).values())
        for seconds, outcome in stored.items():
            sweep = TimedSweep(seconds, MIXES, INTAKE[seconds] * trials)
            title = f"stored trials of {seconds} s"
            timed = timer.without_trials(title, sweep, client, seats, outcome)
            found += intake_benchmarks(seconds, timed, outcome)
    return found


def intake_benchmarks(seconds: int, timed: TimedRun, stored: TrialOutcome) -> list[Benchmark]:
    """What client and scheduler can take in.

    Args:
        seconds: Virtual seconds of the stored trial.
        timed: The run of trials that take no time.
        stored: What each of them returned.
    """
    what = f"stored trials of {seconds} virtual s, {INTAKE_WORKERS} workers"
    return [
        Benchmark(
            name=f"cluster_intake_per_s_{seconds}s",
            unit="trials/s",
            values=(timed.trials / timed.wall_s,),
            detail=f"{timed.trials} {what}, handed out, moved, checked, unpacked and sealed",
            data={"wall_s": timed.wall_s},
        ),
        Benchmark(
            name=f"cluster_client_cpu_ms_{seconds}s",
            unit="ms per trial",
            values=(1e3 * timed.cpu_s / timed.trials,),
            sense="at most",
            detail=f"processor time of client and scheduler, which are one process here: {what}",
        ),
        Benchmark(
            name=f"cluster_mb_per_trial_{seconds}s",
            unit="MB per trial",
            values=(len(stored.parcel) / 1e6,),
            sense="at most",
            detail=f"a sealed trial's parcel: {seconds} virtual s, 10 flows, 100 Mbit/s, "
            "every postcard; it passes from worker to scheduler, and from there to the client",
            data={"trial_s": stored.ended_at - stored.began_at},
        ),
    ]


def _unpacking(folder: Path, seconds: int, outcome: TrialOutcome) -> Benchmark:
    """The client's one thread: a parcel checked and unpacked."""
    taken = []
    for number in range(UNPACKED):
        begun = time.perf_counter()
        unpack(Parcel.from_bytes(outcome.parcel), folder / f"unpacked-{seconds}-{number}")
        taken.append(1e3 * (time.perf_counter() - begun))
    return Benchmark(
        name=f"cluster_unpack_ms_{seconds}s",
        unit="ms",
        values=tuple(taken),
        sense="at most",
        detail="a parcel checked and unpacked by the client, not yet flushed to disk",
    )
