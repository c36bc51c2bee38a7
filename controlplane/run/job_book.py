"""The jobs of a run: which wait, which are running where, and what follows from those that ended.

Whoever runs them, threads on the lanes of this machine or workers of a cluster, keeps one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Iterable

from ..contract.errors import HostError
from ..machine.control_loader import ControlsLostError
from ..store.errors import DiskFullError
from .snapshot import Running, Snapshot
from .work import Job, Work

LASTING = (DiskFullError, ControlsLostError)
"""Failures of a host that another attempt would meet again."""


class JobBook:
    """What waits and what runs. Safe between threads: take `changed` to look and act as one.

    Args:
        first: The first jobs, in the order in which they should start.
        work: Says which jobs follow from one that ended.
    """

    def __init__(self, first: Iterable[Job], work: Work) -> None:
        self._work = work
        self._invalid = 0
        self.changed = threading.Condition()
        self.waiting = deque(first)
        self.running: dict[Hashable, Running] = {}

    @property
    def is_done(self) -> bool:
        """Whether nothing runs and nothing waits."""
        with self.changed:
            return not self.waiting and not self.running

    def begin(self, place: Hashable, job: Job, where: str) -> None:
        """A waiting job runs now; one that ran elsewhere runs here instead.

        Args:
            place: What it is known by while it runs.
            job: The job.
            where: As `Running.where`.
        """
        with self.changed:
            if place not in self.running:
                self.waiting.remove(job)
            self.running[place] = Running(job, where)
            self.changed.notify_all()

    def put_back(self, place: Hashable) -> None:
        """What runs at a place waits again, before all others."""
        with self.changed:
            running = self.running.pop(place, None)
            if running is not None:
                self.waiting.appendleft(running.job)

    def ended(self, job: Job, valid: bool) -> None:
        """An attempt has its result: ask what follows, before its place is free.

        As long as one runs, the run goes on.
        """
        self.enqueue(self._work.ended(job, valid), valid)

    def retries(self, job: Job, error: Exception) -> list[Job]:
        """The next attempt after a temporary failure of a host, unless it was the last one."""
        if not isinstance(error, HostError) or isinstance(error, LASTING):
            return []
        return [retry for retry in self._work.ended(job, False) if retry.trial == job.trial]

    def enqueue(self, jobs: Iterable[Job], valid: bool) -> None:
        """Jobs that follow from one that ended.

        Args:
            jobs: The jobs.
            valid: Whether that one was valid.
        """
        with self.changed:
            self._invalid += not valid
            self.waiting.extend(jobs)

    def free(self, place: Hashable) -> None:
        """Nothing runs at a place any more."""
        with self.changed:
            self.running.pop(place, None)
            self.changed.notify_all()

    def snapshot(self, allowed_bps: int, reduced: bool) -> Snapshot:
        """Where the run stands.

        Args:
            allowed_bps: As in `Snapshot`.
            reduced: As in `Snapshot`.
        """
        with self.changed:
            return Snapshot(
                running=tuple(self.running.values()),
                waiting=tuple(job.trial for job in self.waiting),
                finished=self._work.finished,
                invalid=self._invalid,
                total=self._work.total,
                allowed_bps=allowed_bps,
                reduced=reduced,
            )
