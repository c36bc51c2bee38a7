"""Several lanes at once: each a thread that takes the next trial that fits."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ..contract.errors import HostError, Interrupted
from ..contract.plan import PlannedTrial
from ..session.log import LOG
from .rundir import DiskFullError
from .states import Step


@dataclass(frozen=True)
class Job:
    """A trial to run.

    Attributes:
        trial: What is planned.
        attempt: Which attempt at it.
    """

    trial: PlannedTrial
    attempt: int


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
    step: Step = Step.VALIDATE


@dataclass(frozen=True)
class Snapshot:
    """Where the run stands.

    Attributes:
        running: Trials that are running.
        waiting: Trials that are not yet started.
        finished: Trials that ended with a valid result or used up their attempts.
        invalid: Attempts that were found invalid.
        total: Trials of the run.
    """

    running: tuple[Running, ...]
    waiting: tuple[PlannedTrial, ...]
    finished: int
    invalid: int
    total: int


Execute = Callable[[Job, int, Callable[[Step], None]], bool]
"""Runs a job on a lane; returns whether it was valid."""


class Scheduler:
    """Packs trials onto lanes by rate.

    A failed attempt (a flow that did not connect) counts like an invalid one. A dead target
    or a full disk ends the run: every other trial would fail as well.

    Args:
        jobs: What to run, in this order as far as it fits.
        lanes: Lanes side by side.
        capacity_bps: Largest sum of rates.
        max_attempts: Attempts at each trial.
        execute: Runs one job.
        done: Trials that are finished already.
    """

    def __init__(
        self,
        jobs: list[Job],
        lanes: int,
        capacity_bps: int,
        max_attempts: int,
        execute: Execute,
        done: int = 0,
    ) -> None:
        self.stop = threading.Event()
        self._waiting = deque(jobs)
        self._running: dict[int, Running] = {}
        self._capacity_bps = capacity_bps
        self._max_attempts = max_attempts
        self._execute = execute
        self._total = len(jobs) + done
        self._finished = done
        self._invalid = 0
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._work, args=(lane,), name=f"lane-{lane}", daemon=True)
            for lane in range(lanes)
        ]

    def run(self, show: Callable[[Snapshot], None], every_s: float = 0.25) -> None:
        """Run everything; returns when all is done.

        Args:
            show: Shown where the run stands, again and again.
            every_s: How often, in seconds.

        Raises:
            NashbedError: What ended the run early; Interrupted on Ctrl-C.
        """
        for thread in self._threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in self._threads):
                show(self.snapshot())
                with self._changed:
                    self._changed.wait(every_s)
        except KeyboardInterrupt:
            self._fail(Interrupted("stopped; finished trials are kept"))
        finally:
            self._halt()
        show(self.snapshot())
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
                finished=self._finished,
                invalid=self._invalid,
                total=self._total,
            )

    def _work(self, lane: int) -> None:
        while (job := self._take(lane)) is not None:
            self._run_one(job, lane)

    def _run_one(self, job: Job, lane: int) -> None:
        try:
            valid = self._execute(job, lane, lambda step: self._tell(lane, step))
            self._settle(job, lane, valid)
        except Exception as error:
            LOG.exception("trial %s failed", job.trial.attempt_id(job.attempt))
            if self._may_repeat(job, error):
                self._settle(job, lane, valid=False)
            else:
                self._fail(error)
                self._leave(lane)

    def _may_repeat(self, job: Job, error: Exception) -> bool:
        """A host's hiccup may be repeated, unless it was the last attempt."""
        return (
            isinstance(error, HostError)
            and not isinstance(error, DiskFullError)
            and job.attempt + 1 < self._max_attempts
            and not self.stop.is_set()
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
        used = sum(r.job.trial.setting.rate_bps for r in self._running.values())
        room = self._capacity_bps - used
        return next((j for j in self._waiting if j.trial.setting.rate_bps <= room), None)

    def _settle(self, job: Job, lane: int, valid: bool) -> None:
        with self._changed:
            if not valid:
                self._invalid += 1
            if not valid and job.attempt + 1 < self._max_attempts:
                self._waiting.append(Job(job.trial, job.attempt + 1))
            else:
                self._finished += 1
        self._leave(lane)

    def _leave(self, lane: int) -> None:
        with self._changed:
            self._running.pop(lane, None)
            self._changed.notify_all()

    def _tell(self, lane: int, step: Step) -> None:
        with self._changed:
            if lane in self._running:
                self._running[lane].step = step

    def _fail(self, error: BaseException) -> None:
        """Remember what ended the run: the first error, for others follow from it."""
        with self._changed:
            self._error = self._error or error
        self.stop.set()
