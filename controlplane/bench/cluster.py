"""What trials on Dask's workers cost, beside the same trials on this machine's lanes."""

import logging
import shutil
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ..cluster.connect import connected
from ..cluster.on_cluster import OnCluster
from ..cluster.request import TrialOutcome
from ..cluster.roster import await_seats
from ..config import Loaded, parse_scenario
from ..contract.benchmark import Benchmark
from ..contract.cluster import Cluster, LocalWorkers
from ..contract.testbed import Testbed
from ..machine.log import ShowStep
from ..run.active_run import new_run
from ..run.dispatcher import Executor
from ..run.planning import plan_run
from ..run.progress import Snapshot
from ..run.runner import execute
from .virtual import require_virtual

LOG = logging.getLogger(__name__)

TRIAL_S = 10.0
"""The trial of which overhead is told as a share, in seconds of a worker's time."""
SCENARIO = """\
name: cluster
title: A short sweep
bottleneck: {{rate: 100mbit, buffer: 2bdp}}
flows: [{{name: main, count: 10, base_rtt: 40ms}}]
strategies: [cubic, bbr]
duration: 10s
warmup: 2s
trials: {trials}
seed: 1
sweep: {{mixes: [1, 3, 5, 7, 9]}}
"""
EACH = "10 virtual s, 10 flows, 100 Mbit/s"
GOAL_PERCENT = 2.0


@dataclass(frozen=True)
class TimedSweep:
    """A sweep that was timed.

    Attributes:
        wall_s: From the first look at the plan to the last sealed trial.
        cpu_s: Processor time of this process meanwhile: client, and scheduler where it runs here.
        came: What came back from workers.
    """

    trials: int
    wall_s: float
    cpu_s: float
    came: Sequence[TrialOutcome] = field(default=())

    @property
    def per_minute(self) -> float:
        """Trials a minute."""
        return 60.0 * self.trials / self.wall_s


def bench_cluster(
    testbed: Loaded[Testbed],
    folder: Path,
    workers: Sequence[int],
    trials: int,
    show_step: ShowStep,
) -> tuple[Benchmark, ...]:
    """Time one sweep on lanes and on workers.

    Raises:
        ConfigError: The testbed is not in virtual time.
        NashbedError: A run failed.
    """
    require_virtual(testbed.model)

    def on_workers(number: int) -> TimedSweep:
        cluster = Cluster(name=f"local-{number}", local=LocalWorkers(workers=number))
        came: list[TrialOutcome] = []
        with connected(cluster) as client:
            seats = sum(await_seats(client, LOG.info).values())
            executor = OnCluster(client, LOG.info, on_outcome=came.append)
            return _timed(testbed, folder, trials, show_step, executor, seats, came)

    lanes = _timed(testbed, folder, trials, show_step)
    runs = {number: on_workers(number) for number in workers}
    return (
        *rates(lanes, runs),
        *(gap for number, run in runs.items() for gap in overhead(number, run.came)),
        _size(next(iter(runs.values())).came),
    )


def _timed(
    testbed: Loaded[Testbed],
    folder: Path,
    trials: int,
    show_step: ShowStep,
    executor: Executor | None = None,
    seats: int | None = None,
    came: Sequence[TrialOutcome] = (),
) -> TimedSweep:
    """Run the sweep from its plan to its last trial; its directory is removed."""
    scenario = parse_scenario(SCENARIO.format(trials=trials), "cluster.yaml")
    title = "lanes" if seats is None else f"local:{seats}"

    def show(state: Snapshot) -> None:
        show_step(title, state.finished, state.total)

    run = new_run(folder, scenario, testbed, plan_run(scenario, testbed, seats=seats))
    begun, cpu = time.perf_counter(), time.process_time()
    try:
        done = len(execute(run, show, executor))
        return TimedSweep(done, time.perf_counter() - begun, time.process_time() - cpu, came)
    finally:
        shutil.rmtree(run.directory.path)


def rates(lanes: TimedSweep, runs: Mapping[int, TimedSweep]) -> list[Benchmark]:
    """Trials a minute of the same sweep at each place, and what more workers bring.

    Args:
        runs: Number of workers -> the sweep on them.
    """
    places = {"lanes": lanes} | {f"local_{number}": run for number, run in runs.items()}
    (first, of_first), *more = runs.items()
    found = [
        Benchmark(
            name=f"cluster_trials_per_minute_{name}",
            unit="trials a minute",
            values=(timed.per_minute,),
            detail=f"{timed.trials} trials of {EACH}, in {timed.wall_s:.1f} s, from the plan to "
            "the last sealed one",
            data={"wall_s": timed.wall_s, "client_cpu_s": timed.cpu_s},
        )
        for name, timed in places.items()
    ]
    return found + [
        Benchmark(
            name=f"cluster_speedup_local_{number}",
            unit=f"times local_{first}",
            values=(run.per_minute / of_first.per_minute,),
            detail=f"trials a minute on {number} workers over those on {first}",
        )
        for number, run in more
    ]


class TrialSpan(NamedTuple):
    """A trial on a worker, from its beginning until it was sealed there, by the worker's clock."""

    worker: str
    began_s: float
    ended_s: float


def gaps_s(spans: Iterable[TrialSpan]) -> list[float]:
    """Seconds from the end of each trial to the beginning of the next one of the same worker.

    Packing, sending, Dask's scheduling and the next request are in them.
    """
    of_worker: dict[str, list[TrialSpan]] = defaultdict(list)
    for span in spans:
        of_worker[span.worker].append(span)
    return [
        after.began_s - before.ended_s
        for _, own in sorted(of_worker.items())
        for before, after in pairwise(sorted(own, key=lambda span: span.began_s))
    ]


def overhead(workers: int, came: Sequence[TrialOutcome]) -> list[Benchmark]:
    """What a worker does not run trials for, between two of them; none where there is no gap."""
    spans = [TrialSpan(o.worker, o.began_at, o.ended_at) for o in came if not o.failure]
    gaps = gaps_s(spans)
    if not gaps:
        return []
    return [
        Benchmark(
            name=f"cluster_overhead_percent_local_{workers}",
            unit=f"% of a {TRIAL_S:g} s trial",
            values=tuple(100.0 * gap / TRIAL_S for gap in gaps),
            wanted=GOAL_PERCENT,
            sense="at most",
            detail="from the end of a worker's trial to the beginning of its next: packing, "
            "moving, scheduling; one value for each pair",
            data={"trial_s": [span.ended_s - span.began_s for span in spans]},
        )
    ]


def _size(came: Sequence[TrialOutcome]) -> Benchmark:
    return Benchmark(
        name="cluster_mb_per_trial_10s",
        unit="MB per trial",
        values=tuple(len(each.parcel) / 1e6 for each in came if not each.failure),
        sense="at most",
        detail=f"a sealed trial's parcel: {EACH}, every postcard; it passes from worker to "
        "scheduler, and from there to the client",
    )
