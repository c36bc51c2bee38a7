"""Several lanes at once: each a thread that takes the next trial that fits."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ..contract.errors import HostError, Interrupted
from ..contract.plan import PlannedTrial
from ..contract.trial import TrialRecord
from ..machine.control_loader import ControlsLostError
from ..machine.log import LOG
from ..plan.resources import NO_RESOURCES, UNLIMITED_RESOURCES, Resources, demand_of
from ..store.errors import DiskFullError
from .load_limit import LoadLimit
from .steps import OnStep, TrialStep
from .work import Job, Work

LASTING = (DiskFullError, ControlsLostError)
"""Failures of a host that another attempt would meet again."""


@dataclass
class Running:
    """A trial that is running.

    Attributes:
        job: The trial.
        lane: Its lane.
        since: When it started, in seconds of time.monotonic.
        step: Where it stands.
    """

    job: Job
    lane: int
    since: float = field(default_factory=time.monotonic)
    step: TrialStep = TrialStep.VALIDATE


@dataclass(frozen=True)
class Snapshot:
    """Where the run stands.

    Attributes:
        running: Trials that are running.
        waiting: Trials that are not yet started.
        finished: Trials that ended with a valid result or used up their attempts.
        invalid: Attempts that were invalid.
        total: Trials of the run; an estimate where they are chosen as results arrive.
        allowed_bps: Largest sum of rates at once, now.
        reduced: Whether that is less than the testbed's capacity: departures were late.
    """

    running: tuple[Running, ...]
    waiting: tuple[PlannedTrial, ...]
    finished: int
    invalid: int
    total: int
    allowed_bps: int
    reduced: bool


Execute = Callable[[Job, int, OnStep], TrialRecord]
"""Runs a job on a lane; returns its sealed record."""

OnProgress = Callable[[Snapshot], None]
"""Called again and again while the run goes on."""


class Scheduler:
    """Packs trials onto lanes by rate and packet memory.

    A failed attempt (a flow that did not connect) counts like an invalid one. A dead target,
    a full disk or controls that are lost end the run: every other trial would fail as well.

    Args:
        first: The first jobs, started in this order as far as they fit.
        work: Says which jobs follow from one that ended.
        lanes: Lanes side by side.
        available: What trials may take at once; less rate while departures are late (see
            `load_limit`), unless lanes share nothing.
        execute: Runs one job.
    """

    def __init__(
        self, first: list[Job], work: Work, lanes: int, available: Resources, execute: Execute
    ) -> None:
        self.stop = threading.Event()
        self._work = work
        self._waiting = deque(first)
        self._running: dict[int, Running] = {}
        self._packets = available.packets
        shared = available != UNLIMITED_RESOURCES
        self._limit = LoadLimit(available.rate_bps, adapts=shared)
        self._execute = execute
        self._invalid = 0
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._run_lane, args=(lane,), name=f"lane-{lane}", daemon=True)
            for lane in range(lanes)
        ]

    def run(self, on_progress: OnProgress, every_s: float = 0.25) -> None:
        """Run everything; returns when all is done.

        Args:
            on_progress: Called with the state of the run, again and again.
            every_s: How often, in seconds.

        Raises:
            NashbedError: What ended the run early; Interrupted on Ctrl-C.
        """
        for thread in self._threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in self._threads):
                on_progress(self.snapshot())
                with self._changed:
                    self._changed.wait(every_s)
        except KeyboardInterrupt:
            self._fail(Interrupted("stopped; finished trials are kept"))
        finally:
            self._halt()
        on_progress(self.snapshot())
        if self._error is not None:
            raise self._error

    def _halt(self) -> None:
        """End all lanes and wait for them: each restores what it was using."""
        if any(thread.is_alive() for thread in self._threads):
            self.stop.set()
        with self._changed:
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def snapshot(self) -> Snapshot:
        """Where the run stands."""
        with self._changed:
            return Snapshot(
                running=tuple(self._running.values()),
                waiting=tuple(job.trial for job in self._waiting),
                finished=self._work.finished,
                invalid=self._invalid,
                total=self._work.total,
                allowed_bps=self._limit.allowed_bps,
                reduced=self._limit.reduced,
            )

    def _run_lane(self, lane: int) -> None:
        while (job := self._take(lane)) is not None:
            self._run_one(job, lane)

    def _run_one(self, job: Job, lane: int) -> None:
        started = time.monotonic()
        try:
            record = self._execute(job, lane, lambda step: self._set_step(lane, step))
            failed = frozenset(gate.name for gate in record.gates if not gate.passed)
            self._adjust_limit(job, started, record.valid, failed)
            self._settle(job, lane, record.valid)
        except Exception as error:
            LOG.exception("trial %s failed", job.trial.attempt_id(job.attempt))
            retries = self._retries(job, error)
            if retries:
                self._enqueue(retries, valid=False)
            else:
                self._fail(error)
            self._free_lane(lane)

    def _retries(self, job: Job, error: Exception) -> list[Job]:
        """The next attempt after a temporary failure of a host, unless it was the last one."""
        temporary = isinstance(error, HostError) and not isinstance(error, LASTING)
        if not temporary or self.stop.is_set():
            return []
        return [retry for retry in self._work.ended(job, False) if retry.trial == job.trial]

    def _adjust_limit(self, job: Job, started: float, valid: bool, failed: frozenset[str]) -> None:
        with self._changed:
            if self._limit.trial_ended(started, valid, failed, self._in_use().rate_bps):
                LOG.warning(
                    "%s failed %s: at most %d Mbit/s at once from now on",
                    job.trial.attempt_id(job.attempt),
                    ", ".join(sorted(failed)),
                    self._limit.allowed_bps // 10**6,
                )

    def _take(self, lane: int) -> Job | None:
        """Wait for a job that fits; None when there is nothing more to do."""
        with self._changed:
            while not self.stop.is_set():
                job = self._fitting()
                if job is not None:
                    self._waiting.remove(job)
                    self._running[lane] = Running(job, lane)
                    self._changed.notify_all()
                    return job
                if not self._waiting and not self._running:
                    return None
                self._changed.wait(0.5)
            return None

    def _fitting(self) -> Job | None:
        """The first waiting job that fits; a single one always does, however low the limit."""
        if not self._running:
            return self._waiting[0] if self._waiting else None
        free = Resources(self._limit.allowed_bps, self._packets) - self._in_use()
        return next((j for j in self._waiting if free.covers(demand_of(j.trial.setting))), None)

    def _in_use(self) -> Resources:
        demands = (demand_of(running.job.trial.setting) for running in self._running.values())
        return sum(demands, NO_RESOURCES)

    def _settle(self, job: Job, lane: int, valid: bool) -> None:
        """Ask what follows before the lane is free: as long as one runs, the run goes on."""
        self._enqueue(self._work.ended(job, valid), valid)
        self._free_lane(lane)

    def _enqueue(self, jobs: list[Job], valid: bool) -> None:
        with self._changed:
            self._invalid += not valid
            self._waiting.extend(jobs)

    def _free_lane(self, lane: int) -> None:
        with self._changed:
            self._running.pop(lane, None)
            self._changed.notify_all()

    def _set_step(self, lane: int, step: TrialStep) -> None:
        with self._changed:
            if lane in self._running:
                self._running[lane].step = step

    def _fail(self, error: BaseException) -> None:
        """Remember what ended the run: the first error, for others follow from it."""
        with self._changed:
            self._error = self._error or error
        self.stop.set()
