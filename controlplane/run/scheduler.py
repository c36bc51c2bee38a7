"""Trials side by side on this machine: each lane a thread that takes the next one that fits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ..contract.errors import Interrupted
from ..contract.trial import TrialRecord
from ..machine.log import LOG
from ..plan.resources import NO_RESOURCES, UNLIMITED_RESOURCES, Resources, demand_of
from .job_book import JobBook
from .load_limit import LoadLimit
from .snapshot import OnProgress, Snapshot
from .steps import OnStep, TrialStep
from .work import Job, Work

Execute = Callable[[Job, int, OnStep], TrialRecord]
"""Runs a job on a lane; returns its sealed record."""


class LaneScheduler:
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
        self._book = JobBook(first, work)
        self._packets = available.packets
        shared = available != UNLIMITED_RESOURCES
        self._limit = LoadLimit(available.rate_bps, adapts=shared)
        self._execute = execute
        self._error: BaseException | None = None
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
                with self._book.changed:
                    self._book.changed.wait(every_s)
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
        with self._book.changed:
            self._book.changed.notify_all()
        for thread in self._threads:
            thread.join()

    def snapshot(self) -> Snapshot:
        """Where the run stands."""
        with self._book.changed:
            return self._book.snapshot(self._limit.allowed_bps, self._limit.reduced)

    def _run_lane(self, lane: int) -> None:
        while (job := self._take(lane)) is not None:
            self._run_one(job, lane)

    def _run_one(self, job: Job, lane: int) -> None:
        started = time.monotonic()
        try:
            record = self._execute(job, lane, lambda step: self._set_step(lane, step))
            failed = frozenset(gate.name for gate in record.gates if not gate.passed)
            self._adjust_limit(job, started, record.valid, failed)
            self._book.ended(job, record.valid)
        except Exception as error:
            LOG.exception("trial %s failed", job.trial.attempt_id(job.attempt))
            retries = [] if self.stop.is_set() else self._book.retries(job, error)
            if retries:
                self._book.enqueue(retries, valid=False)
            else:
                self._fail(error)
        self._book.free(lane)

    def _adjust_limit(self, job: Job, started: float, valid: bool, failed: frozenset[str]) -> None:
        with self._book.changed:
            if self._limit.trial_ended(started, valid, failed, self._in_use().rate_bps):
                LOG.warning(
                    "%s failed %s: at most %d Mbit/s at once from now on",
                    job.trial.attempt_id(job.attempt),
                    ", ".join(sorted(failed)),
                    self._limit.allowed_bps // 10**6,
                )

    def _take(self, lane: int) -> Job | None:
        """Wait for a job that fits; None when there is nothing more to do."""
        with self._book.changed:
            while not self.stop.is_set():
                job = self._fitting()
                if job is not None:
                    self._book.begin(lane, job, f"lane {lane}")
                    return job
                if self._book.is_done:
                    return None
                self._book.changed.wait(0.5)
            return None

    def _fitting(self) -> Job | None:
        """The first waiting job that fits; a single one always does, however low the limit."""
        if not self._book.running:
            return self._book.waiting[0] if self._book.waiting else None
        free = Resources(self._limit.allowed_bps, self._packets) - self._in_use()
        waiting = self._book.waiting
        return next((j for j in waiting if free.covers(demand_of(j.trial.setting))), None)

    def _in_use(self) -> Resources:
        demands = (demand_of(running.job.trial.setting) for running in self._book.running.values())
        return sum(demands, NO_RESOURCES)

    def _set_step(self, lane: int, step: TrialStep) -> None:
        with self._book.changed:
            if lane in self._book.running:
                self._book.running[lane].step = step

    def _fail(self, error: BaseException) -> None:
        """Remember what ended the run: the first error, for others follow from it."""
        with self._book.changed:
            self._error = self._error or error
        self.stop.set()
