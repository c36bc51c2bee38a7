"""Lanes side by side, once: an ordinary run in a folder that is removed."""

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..config import Loaded, parse_scenario
from ..contract.certificate import CoreShares, Lateness, LevelAttempt, RoundTripError
from ..contract.errors import ConfigError, HostError, TargetError
from ..contract.plan import Plan
from ..contract.scenario import Scenario
from ..contract.target import Capabilities
from ..contract.testbed import Capacity, Testbed
from ..contract.trial import TrialRecord
from ..contract.units import Buffer, Duration, Rate
from ..machine.host.counters import Ticks, read_ticks, shares
from ..run.active_run import new_run
from ..run.planning import plan_run
from ..run.progress import Snapshot, TrialStep
from ..run.runner import execute
from ..run.this_machine import ThisMachine
from ..store.errors import DiskFullError
from ..store.run_directory import RunDirectory
from ..store.sealed_trial import SealedTrial
from ..store.staging import scratch_folder

RATE = Rate(50_000_000)
BUFFER = Buffer.parse("2bdp")
BASE_RTT = Duration(40_000_000)
MOST_WARMUP_S = 5.0
HERE = ThisMachine()
SCENARIO = """\
name: capacity
title: Lanes side by side
bottleneck: {{rate: {rate}, buffer: {buffer}}}
flows: [{{name: main, count: {flows}, base_rtt: {base_rtt}}}]
strategies: [cubic, bbr]
duration: {duration_ms}ms
warmup: {warmup_ms}ms
start_jitter: {jitter_ms}ms
trials: {lanes}
seed: {seed}
max_attempts: 1
sweep: {{mixes: [{bbr}]}}
{more}"""
ShowLine = Callable[[str], None]
"""Shows a line to the person."""


@dataclass(frozen=True)
class Lanes:
    """What every lane is like.

    Attributes:
        flows: Its flows: a lone one runs CUBIC, the others BBR. No other mix's shares say as much
            of what a machine does to its flows.
        more: Further lines of the scenario; tests widen bounds by them.
    """

    rate: Rate = RATE
    buffer: Buffer = BUFFER
    base_rtt: Duration = BASE_RTT
    flows: int = 10
    seconds: float = 30.0
    more: str = ""

    def scenario(self, lanes: int, seed: int) -> Loaded[Scenario]:
        """So many lanes as trials of one scenario, each tried once.

        Args:
            seed: No two attempts have the same.

        Raises:
            ConfigError: There is no such lane (a rate of 0, no second for the flows).
        """
        warmup_ms = int(1000 * min(self.seconds / 4, MOST_WARMUP_S))
        text = SCENARIO.format(
            rate=self.rate,
            buffer=self.buffer,
            flows=self.flows,
            base_rtt=self.base_rtt,
            duration_ms=int(1000 * self.seconds),
            warmup_ms=warmup_ms,
            jitter_ms=min(100, warmup_ms),
            lanes=lanes,
            seed=seed,
            bbr=self.flows - 1,
            more=self.more,
        )
        return parse_scenario(text, "capacity")


def measuring_bed(testbed: Loaded[Testbed], rate: Rate) -> Loaded[Testbed]:
    """The testbed with room for every lane it has, whatever it is said to carry."""
    lanes = testbed.model.dataplane.lanes
    capacity = Capacity(rate=Rate(rate.bps * lanes), lanes=lanes)
    model = testbed.model.model_copy(update={"capacity": capacity})
    return Loaded(model, testbed.text, f"{testbed.name} (its capacity is being measured)")


def why_not(testbed: Testbed, can: Capabilities, rate: Rate) -> str:
    """Why lanes of a rate cannot be counted on a testbed; empty: they can."""
    if testbed.switch is not None:
        return (
            f"target {can.target}: the testbed file states the capacity of its switch, and it is "
            "not measured"
        )
    if can.isolated:
        return (
            f"target {can.target}: each lane is a machine of its own; there is one for each core, "
            "whatever its rate"
        )
    if can.lanes < 2:
        return f"target {can.target} has one lane only: there is nothing to count"
    if can.max_rate_bps < rate.bps:
        most = Rate(can.max_rate_bps)
        return f"target {can.target} supports at most {most}, and each lane has {rate}"
    return ""


@dataclass(frozen=True)
class LevelRunner:
    """Tries levels on a testbed."""

    testbed: Loaded[Testbed]
    lanes: Lanes
    executor: ThisMachine = HERE

    def plan(self, lanes: int, seed: int = 1) -> tuple[Loaded[Scenario], Plan]:
        """The plan of a level; raises ConfigError where it does not fit on the testbed."""
        scenario = self.lanes.scenario(lanes, seed)
        return scenario, plan_run(scenario, self.testbed)

    def once(self, lanes: int, seed: int) -> LevelAttempt:
        """Try a level once; nothing of it stays.

        Raises:
            NashbedError: Stopped by the person, the disk is full, or the level does not fit.
        """
        scenario, plan = self.plan(lanes, seed)
        if plan.lanes < lanes:
            raise ConfigError(f"{self.testbed.name}: {lanes} lanes do not fit at the same time")
        watch = AllRunning(lanes)
        with scratch_folder("capacity") as folder:
            run = new_run(folder, scenario, self.testbed, plan)
            early = ""
            try:
                execute(run, watch.see, self.executor)
            except DiskFullError:
                raise
            except (HostError, TargetError) as error:  # more than this machine can do
                early = error.message
            return self._summed_up(run.directory, lanes, early, watch.cores)

    def shares(self, trials: int) -> tuple[float, ...]:
        """What the lone flow gets in trials of this lane, as many at once as the testbed runs.

        Raises:
            NashbedError: Stopped by the person, or the testbed cannot run them.
        """
        scenario, plan = self.plan(trials)
        with scratch_folder("capacity") as folder:
            run = new_run(folder, scenario, self.testbed, plan)
            execute(run, lambda _: None, self.executor)
            return lone_shares(run.directory, run.directory.sealed())

    def _summed_up(
        self, directory: RunDirectory, lanes: int, early: str, cores: tuple[CoreShares, ...]
    ) -> LevelAttempt:
        records = directory.sealed()
        failed = Counter(g.name for r in records for g in r.gates if not g.passed)
        reasons = [early, *(reason for record in records for reason in record.invalid_reasons)]
        valid = sum(record.valid for record in records)
        return LevelAttempt(
            lanes=lanes,
            rate_bps=lanes * self.lanes.rate.bps,
            passed=not early and valid == lanes,
            valid_lanes=valid,
            failed=dict(failed.most_common()),
            reason=next((reason for reason in reasons if reason), ""),
            lateness=lateness_of(records) if records else None,
            round_trip_error=round_trip_error_of(records) if records else None,
            together_s=together_s(records) if len(records) == lanes else 0.0,
            cores=cores,
            lone_shares=lone_shares(directory, records),
        )


@dataclass
class AllRunning:
    """Watches the cores from when all lanes run until the first one does no more."""

    lanes: int
    before: Ticks = field(default_factory=dict)
    after: Ticks = field(default_factory=dict)

    def see(self, snapshot: Snapshot) -> None:
        """Shown where the run stands, again and again."""
        running = [each for each in snapshot.running if each.step is TrialStep.RUN]
        if len(running) == self.lanes:
            self.after = read_ticks()
            self.before = self.before or self.after

    @property
    def cores(self) -> tuple[CoreShares, ...]:
        """What they did in that time; empty where there was none."""
        return shares(self.before, self.after)


def lateness_of(records: Sequence[TrialRecord]) -> Lateness:
    """Lateness over lanes, at least one, which all had as many departures."""
    lanes = [record.lateness for record in records]
    return Lateness(
        p50_ns=statistics.median(each.p50_ns for each in lanes),
        p999_ns=max(each.p999_ns for each in lanes),
        max_ns=max(each.max_ns for each in lanes),
        max_gap_ns=max(each.max_gap_ns for each in lanes),
    )


def round_trip_error_of(records: Sequence[TrialRecord]) -> RoundTripError:
    """By how much round trips were too long over lanes, at least one."""
    lanes = [record.disturbance for record in records]
    return RoundTripError(
        mean_ns=max(each.error_mean_ns for each in lanes),
        max_ns=max(each.error_max_ns for each in lanes),
    )


def lone_shares(directory: RunDirectory, records: Sequence[TrialRecord]) -> tuple[float, ...]:
    """What the lone CUBIC flow of each sealed lane got of its throughput after warm-up, 0 to 1."""
    return tuple(
        share
        for record in records
        for share in [_lone_share(SealedTrial(directory.trials / record.id, record))]
        if share is not None
    )


def _lone_share(trial: SealedTrial) -> float | None:
    goodput = trial.arrays("goodput", ("t_ns", "flow", "bytes"))
    flows = trial.arrays("flows", ("flow", "cc"))
    begin_ns, end_ns = trial.record.window_ns
    inside = (goodput["t_ns"] > begin_ns) & (goodput["t_ns"] <= end_ns)
    lone = inside & np.isin(goodput["flow"], flows["flow"][flows["cc"] == "cubic"])
    total = float(goodput["bytes"][inside].sum())
    return float(goodput["bytes"][lone].sum()) / total if total else None


def together_s(records: Sequence[TrialRecord]) -> float:
    """Seconds for which all of them were sending."""
    begin = max(record.t0_ns for record in records)
    end = min(record.t0_ns + record.duration_ns for record in records)
    return max(0, end - begin) / 1e9
