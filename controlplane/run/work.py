"""What a run still has to do: every planned trial, or those that a chooser picks as it goes."""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..contract.plan import Plan, PlannedTrial
from ..contract.trial import TrialRecord


@dataclass(frozen=True)
class Job:
    """A trial to run."""

    trial: PlannedTrial
    attempt: int

    @property
    def id(self) -> str:
        """The id of what comes of it."""
        return self.trial.attempt_id(self.attempt)


class Work(Protocol):
    """Where jobs come from. Called from several threads."""

    @property
    def total(self) -> int:
        """Trials of the run, finished ones included; an estimate where they are chosen."""

    @property
    def finished(self) -> int:
        """Trials that have a valid attempt, or none left."""

    def start(self) -> list[Job]:
        """The first jobs, in the order in which they should start."""

    def ended(self, job: Job, valid: bool) -> list[Job]:
        """Note how a job ended; returns the jobs that follow from it."""

    def failed(self, job: Job) -> list[Job]:
        """Note that a job ended without a result; returns the jobs that follow from it.

        It is among them itself, with its number and so its seed, unless its trial has no attempt
        left.
        """


class Attempts:
    """Which attempt at each trial is next.

    An attempt that failed has no result, and its number is given again: what is measured does not
    depend on whether a machine had a bad moment. Failures of earlier sessions do not count.

    Args:
        sealed: Everything that was sealed so far.
        max_attempts: Attempts at each trial.
    """

    def __init__(self, sealed: Iterable[TrialRecord], max_attempts: int) -> None:
        self._max_attempts = max_attempts
        self._made: dict[str, int] = defaultdict(int)
        self._failed: Counter[str] = Counter()
        self._valid: dict[str, str] = {}
        for record in sealed:
            key = record.id.rpartition("-a")[0]
            self._made[key] = max(self._made[key], record.attempt + 1)
            if record.valid:
                self._valid[key] = record.id

    def next_job(self, trial: PlannedTrial) -> Job | None:
        """The trial's next attempt; None when it has a valid one, or none is left."""
        made = self._made[trial.key] + self._failed[trial.key]
        if trial.key in self._valid or made >= self._max_attempts:
            return None
        return Job(trial, self._made[trial.key])

    def note(self, job: Job, valid: bool) -> None:
        """Remember how an attempt ended."""
        self._made[job.trial.key] = job.attempt + 1
        if valid:
            self._valid[job.trial.key] = job.trial.attempt_id(job.attempt)

    def note_failure(self, job: Job) -> None:
        """Remember that an attempt ended without a result."""
        self._failed[job.trial.key] += 1

    def valid_id(self, trial: PlannedTrial) -> str | None:
        """The id of the trial's valid attempt."""
        return self._valid.get(trial.key)

    def started(self, trial: PlannedTrial) -> bool:
        """Whether there was an attempt at it."""
        return self._made[trial.key] > 0


class PlannedWork:
    """Every trial of a plan."""

    def __init__(self, plan: Plan, sealed: Iterable[TrialRecord], max_attempts: int) -> None:
        self._attempts = Attempts(sealed, max_attempts)
        jobs = [self._attempts.next_job(trial) for trial in plan.trials]
        self._jobs = [job for job in jobs if job is not None]
        self.total = len(plan.trials)
        self.finished = self.total - len(self._jobs)

    def start(self) -> list[Job]:
        """Every trial that has no valid attempt and attempts left."""
        return list(self._jobs)

    def ended(self, job: Job, valid: bool) -> list[Job]:
        """An invalid trial is repeated, as long as it has attempts left."""
        self._attempts.note(job, valid)
        return self._next(job)

    def failed(self, job: Job) -> list[Job]:
        """A trial that failed is repeated, as long as it has attempts left."""
        self._attempts.note_failure(job)
        return self._next(job)

    def _next(self, job: Job) -> list[Job]:
        retry = self._attempts.next_job(job.trial)
        self.finished += retry is None
        return [] if retry is None else [retry]


class Chooser(Protocol):
    """Picks trials of a plan as results arrive: the ask-and-tell interface of optimisers."""

    def ask(self) -> Sequence[PlannedTrial]:
        """Trials to start now; nothing while it waits for results, or when it is done."""

    def tell(self, trial: PlannedTrial, sealed: str | None) -> None:
        """Report that a trial is finished: the id of its valid attempt, or None without one."""


class ChosenWork:
    """The trials that a chooser picks.

    Args:
        plan: What it may pick from; its `expected_trials` is the estimate of their number.
    """

    def __init__(
        self, chooser: Chooser, plan: Plan, sealed: Iterable[TrialRecord], max_attempts: int
    ) -> None:
        self._chooser = chooser
        self._attempts = Attempts(sealed, max_attempts)
        self._expected = plan.expected_trials
        self._open = 0
        self._lock = threading.Lock()
        self.finished = 0
        for trial in plan.trials:
            if self._attempts.started(trial) and self._attempts.next_job(trial) is None:
                self._finish(trial)

    @property
    def total(self) -> int:
        """What was expected, or more where it took more; exact when nothing is left to do."""
        least = self.finished + self._open
        return max(self._expected, least) if self._open else least

    def start(self) -> list[Job]:
        """What the chooser picks first."""
        with self._lock:
            return self._pick()

    def ended(self, job: Job, valid: bool) -> list[Job]:
        """The job's next attempt, or what the chooser picks now that it knows the result."""
        with self._lock:
            self._attempts.note(job, valid)
            return self._next(job)

    def failed(self, job: Job) -> list[Job]:
        """The job once more, or what the chooser picks now that it knows of no result."""
        with self._lock:
            self._attempts.note_failure(job)
            return self._next(job)

    def _next(self, job: Job) -> list[Job]:
        retry = self._attempts.next_job(job.trial)
        if retry is not None:
            return [retry]
        self._open -= 1
        self._finish(job.trial)
        return self._pick()

    def _finish(self, trial: PlannedTrial) -> None:
        self.finished += 1
        self._chooser.tell(trial, self._attempts.valid_id(trial))

    def _pick(self) -> list[Job]:
        """Jobs of the chosen trials; the chooser knows of those that are finished already."""
        next_jobs = [self._attempts.next_job(trial) for trial in self._chooser.ask()]
        jobs = [job for job in next_jobs if job is not None]
        self._open += len(jobs)
        return jobs
