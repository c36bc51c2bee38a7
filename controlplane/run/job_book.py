"""The jobs of a run: which wait, which are running where, and what follows from those that ended.

Whoever runs them, threads on the lanes of this machine or workers of a cluster, keeps one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterable

from ..contract.errors import HostError, NashbedError, is_repeatable
from ..contract.trial import FailedAttempt
from ..contract.units import counted
from ..machine.process.clock import utc_now
from .snapshot import Running, Snapshot
from .work import Job, Work

HOPELESS_ATTEMPTS = 9
HOPELESS_TRIALS = 3
"""So many attempts at so many trials may fail one after the other: the next ones would, too."""
OnFailure = Callable[[FailedAttempt], None]
"""Called with each attempt that ended without a result and did not end the run."""


class JobBook:
    """What waits and what runs. Safe between threads: take `changed` to look and act as one.

    Args:
        first: The first jobs, in the order in which they should start.
        work: Says which jobs follow from one that ended.
        on_failure: Keeps the attempts that failed.
    """

    def __init__(self, first: Iterable[Job], work: Work, on_failure: OnFailure) -> None:
        self._work = work
        self._on_failure = on_failure
        self._invalid = 0
        self._has_results = False
        self._failures: list[FailedAttempt] = []
        self._in_a_row: list[str] = []
        self._last_error: Exception | None = None
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
        jobs = self._work.ended(job, valid)
        with self.changed:
            self._invalid += not valid
            self._has_results = True
            self._in_a_row.clear()
            self.waiting.extend(jobs)

    def enqueue(self, job: Job) -> None:
        """Have a job wait again."""
        with self.changed:
            self.waiting.append(job)

    def failed(self, job: Job, where: str, error: Exception) -> None:
        """An attempt has no result: note why, and ask what follows, before its place is free.

        Its trial comes again as long as it has attempts left, once the others have begun: the bad
        moment may be over then. Else it is given up, and the run goes on without it.

        Args:
            job: The attempt.
            where: As `Running.where`.
            error: What ended it.

        Raises:
            Exception: The error, where another attempt would meet it again; or that there is no
                hope for the others, for trials fail one after the other.
        """
        if not is_repeatable(error):
            raise error
        reason = error.message if isinstance(error, NashbedError) else repr(error)
        trial = job.trial.attempt_id(job.attempt)
        jobs = self._work.failed(job)
        again = any(each.trial == job.trial for each in jobs)
        failure = FailedAttempt(
            trial=trial, where=where, failed_utc=utc_now(), reason=reason, repeated=again
        )
        with self.changed:
            self._on_failure(failure)
            self._failures.append(failure)
            self.waiting.extend(jobs)
            self._in_a_row.append(job.trial.key)
            trials = len(set(self._in_a_row))
            if len(self._in_a_row) >= HOPELESS_ATTEMPTS and trials >= HOPELESS_TRIALS:
                raise self._hopeless(error) from error
            self._last_error = error

    def require_results(self) -> None:
        """Raise what there is to say of a run that has ended without a single result."""
        with self.changed:
            if self._last_error is not None and not self._has_results:
                raise self._hopeless(self._last_error)

    def _hopeless(self, error: Exception) -> HostError:
        """That attempt after attempt has failed, and why the last one has."""
        attempts, trials = len(self._in_a_row), counted(len(set(self._in_a_row)), "trial")
        what = error.message if isinstance(error, NashbedError) else repr(error)
        code = error.exit_code if isinstance(error, NashbedError) else None
        return HostError(f"{attempts} attempts in a row failed, at {trials}, at last: {what}", code)

    def free(self, place: Hashable) -> None:
        """Nothing runs at a place any more."""
        with self.changed:
            self.running.pop(place, None)
            self.changed.notify_all()

    def snapshot(self, allowed_bps: int, reduced: bool, held_up: str = "") -> Snapshot:
        """Where the run stands.

        Args:
            allowed_bps: As in `Snapshot`.
            reduced: As in `Snapshot`.
            held_up: As in `Snapshot`.
        """
        with self.changed:
            return Snapshot(
                running=tuple(self.running.values()),
                waiting=tuple(job.trial for job in self.waiting),
                finished=self._work.finished,
                invalid=self._invalid,
                failures=tuple(self._failures),
                total=self._work.total,
                allowed_bps=allowed_bps,
                reduced=reduced,
                held_up=held_up,
            )
