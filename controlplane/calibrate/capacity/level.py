"""So many lanes side by side, once: an ordinary run in a folder that is removed."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...config import Loaded
from ...contract.capacity import CoreShares, Lateness, LevelAttempt, RoundTripError
from ...contract.errors import ConfigError, HostError, InternalError, TargetError
from ...contract.plan import Plan
from ...contract.scenario import Scenario
from ...contract.testbed import Testbed
from ...contract.trial import TrialRecord
from ...lane.lab import compiled_program
from ...machine.host.counters import Ticks, read_ticks, shares
from ...machine.host.session import MakeSession
from ...machine.sessions import local_session
from ...run.active_run import new_run
from ...run.planning import plan_run
from ...run.progress import Snapshot, TrialStep
from ...run.runner import execute
from ...run.this_machine import ThisMachine
from ...run.work import Chooser
from ...store.errors import DiskFullError
from ...store.staging import scratch_folder
from .bed import Lanes

ShowLine = Callable[[str], None]
"""Shows a line to the person."""


@dataclass
class AllRunning:
    """Watches the cores from when all lanes run until the first one does no more.

    Attributes:
        lanes: How many there are.
        before: The cores when all were running.
        after: The cores when all were still running.
    """

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


@dataclass(frozen=True)
class LevelRunner:
    """Tries levels on a testbed.

    Attributes:
        testbed: The testbed, its capacity set aside.
        lanes: What each lane is like.
        make_session: Makes the session; tests give one without a real machine.
        find_artefact: Finds the compiled P4 program.
    """

    testbed: Loaded[Testbed]
    lanes: Lanes
    make_session: MakeSession = local_session
    find_artefact: Callable[[Testbed], Path] = compiled_program

    def plan(self, lanes: int, seed: int = 1) -> tuple[Loaded[Scenario], Plan]:
        """The plan of a level; raises ConfigError where it does not fit on the testbed."""
        scenario = self.lanes.scenario(lanes, seed)
        return scenario, plan_run(scenario, self.testbed, _all_of_them)

    def once(self, lanes: int, seed: int) -> LevelAttempt:
        """Try a level once; nothing of it stays.

        Args:
            lanes: The level.
            seed: The attempt's seed.

        Raises:
            NashbedError: Stopped by the person, the disk is full, or the level does not fit.
        """
        scenario, plan = self.plan(lanes, seed)
        if plan.lanes < lanes:
            raise ConfigError(f"{self.testbed.name}: {lanes} lanes do not fit at the same time")
        watch = AllRunning(lanes)
        with scratch_folder("capacity") as folder:
            run = new_run(folder, scenario, self.testbed, plan, _no_chooser)
            early = ""
            try:
                execute(run, watch.see, ThisMachine(self.make_session, self.find_artefact))
            except DiskFullError:
                raise
            except (HostError, TargetError) as error:  # more than this machine can do
                early = error.message
            return self._summed_up(run.directory.sealed(), lanes, early, watch.cores)

    def _summed_up(
        self,
        records: Sequence[TrialRecord],
        lanes: int,
        early: str,
        cores: tuple[CoreShares, ...],
    ) -> LevelAttempt:
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
            round_trip_error=round_trip_error_of(records),
            together_s=together_s(records) if len(records) == lanes else 0.0,
            cores=cores,
        )


def lateness_of(records: Sequence[TrialRecord]) -> Lateness:
    """Lateness over lanes, at least one, which all had as many departures."""
    lanes = [record.lateness for record in records]
    return Lateness(
        p50_ns=statistics.median(each.p50_ns for each in lanes),
        p999_ns=max(each.p999_ns for each in lanes),
        max_ns=max(each.max_ns for each in lanes),
        max_gap_ns=max(each.max_gap_ns for each in lanes),
    )


def round_trip_error_of(records: Sequence[TrialRecord]) -> RoundTripError | None:
    """By how much round trips were too long over lanes; None where no lane says it."""
    lanes = [record.disturbance for record in records if record.disturbance is not None]
    if not lanes:
        return None
    return RoundTripError(
        mean_ns=max(each.error_mean_ns for each in lanes),
        max_ns=max(each.error_max_ns for each in lanes),
    )


def together_s(records: Sequence[TrialRecord]) -> float:
    """Seconds for which all of them were sending."""
    begin = max(record.t0_ns for record in records)
    end = min(record.t0_ns + record.duration_ns for record in records)
    return max(0, end - begin) / 1e9


def _all_of_them(*_: object) -> Sequence[int]:
    raise InternalError("lanes are counted by an exhaustive plan")


def _no_chooser(*_: object) -> Chooser:
    raise InternalError("lanes are counted by an exhaustive plan")
