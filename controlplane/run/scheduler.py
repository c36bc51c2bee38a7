"""Trials side by side on this machine: each lane a thread that takes the next one that fits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ..contract.errors import Interrupted
from ..contract.trial import TrialRecord
from ..machine.guest.memory import MEMORY_PAUSE_S, MemoryRoom
from ..machine.log import LOG
from ..plan.estimates import (
    NO_RESOURCES,
    UNLIMITED_RESOURCES,
    Resources,
    demand_of,
    guest_takes_bytes,
)
from .guest_memory import GuestMemory, shortage
from .job_book import JobBook, OnFailure
from .load_limit import LoadLimit
from .snapshot import OnProgress, Snapshot
from .steps import OnStep, TrialStep
from .work import Job, Work

Execute = Callable[[Job, int, OnStep], TrialRecord]
"""Runs a job on a lane; returns its sealed record."""


class LaneScheduler:
    """Packs trials onto lanes by rate, packet memory and the memory of guests.

    An attempt that its host or its guest ended is one failed attempt (see `JobBook.failed`). What
    another attempt would meet again ends the run: a dead target that all lanes share, a full disk,
    controls that are lost.

    Args:
        first: The first jobs, started in this order as far as they fit.
        work: Says which jobs follow from one that ended.
        lanes: Lanes side by side.
        available: What trials may take at once; less rate while departures are late (see
            `load_limit`), unless lanes share nothing.
        execute: Runs one job.
        on_failure: Keeps the attempts that failed.
        memory: What guests may still take; None: there are none.
    """

    def __init__(
        self,
        first: list[Job],
        work: Work,
        lanes: int,
        available: Resources,
        execute: Execute,
        on_failure: OnFailure,
        memory: GuestMemory | None = None,
    ) -> None:
        self.stop = threading.Event()
        self._book = JobBook(first, work, on_failure)
        self._memory = memory
        self._held_up = ""
        self._pause_until_s = 0.0
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
        self._book.require_results()

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
            held_up = self._held_up if self._book.waiting else ""
            return self._book.snapshot(self._limit.allowed_bps, self._limit.reduced, held_up)

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
            self._failed(job, lane, error)
        self._book.free(lane)

    def _failed(self, job: Job, lane: int, error: Exception) -> None:
        """Have a job that failed repeated, or end the run."""
        if self.stop.is_set():
            self._fail(error)
            return
        with self._book.changed:
            self._pause_until_s = time.monotonic() + MEMORY_PAUSE_S
        try:
            self._book.failed(job, f"lane {lane}", error)
        except Exception as ending:
            self._fail(ending)

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
        """The first waiting job that fits.

        A single one always does, however low the limit; only after one that has failed, and where
        memory is short, it waits a while.
        """
        running, waiting = self._book.running, self._book.waiting
        free = Resources(self._limit.allowed_bps, self._packets) - self._in_use()
        fit = [j for j in waiting if not running or free.covers(demand_of(j.trial.setting))]
        self._held_up = ""
        if self._memory is None or not fit:
            return next(iter(fit), None)
        room = self._memory.left({lane: r.job.trial.setting for lane, r in running.items()})
        shortages = [shortage(room, job.trial.setting) for job in fit]
        for job, short in zip(fit, shortages, strict=True):
            if not short or not (running or self._pauses(job, room)):
                return job
        self._held_up = shortages[0]
        return None

    def _pauses(self, job: Job, room: MemoryRoom) -> bool:
        """Whether a single job waits for memory, of which there can be enough for it."""
        can_be = guest_takes_bytes(job.trial.setting) <= room.total_bytes
        return can_be and time.monotonic() < self._pause_until_s

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
