"""Hands the jobs of a run out to workers and keeps the book of them, whoever the workers are.

Workers are the lanes of this machine (`this_machine`) or processes elsewhere (the room `cluster`).
One thread hands out and takes in; what follows from a job is decided here alone.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ..contract.errors import HostError, Interrupted, NashbedError, is_repeatable
from ..contract.trial import FailedAttempt, TrialRecord
from ..contract.units import counted
from ..machine.process.clock import utc_now
from .active_run import ActiveRun
from .progress import AllowedLoad, OnProgress, Running, Snapshot, TrialStep
from .work import Job, Work

T = TypeVar("T")
STOPPED = "stopped; finished trials are kept"
HOPELESS_ATTEMPTS = 9
HOPELESS_TRIALS = 3
"""So many attempts at so many trials may fail one after the other: the next ones would, too."""
OnFailure = Callable[[FailedAttempt], None]
"""Called with each attempt that ended without a result and did not end the run."""


@dataclass(frozen=True)
class JobResult:
    """What became of a job that was handed out.

    Attributes:
        where: As `Running.where`.
        result: Its sealed record, or what ended it; None: it is no attempt, and is handed out anew.
    """

    job: Job
    where: str
    result: TrialRecord | BaseException | None


class TrialWorkers(Protocol):
    """Carry out trials side by side; they say in the book when one begins."""

    def hand_out(self) -> None:
        """Give workers those of the waiting jobs that they have room for.

        Raises:
            NashbedError: No worker will ever take one.
        """

    def ended(self, timeout_s: float) -> Iterable[JobResult]:
        """Seal what comes back, and say what has ended.

        Args:
            timeout_s: How long to wait for the first.

        Raises:
            NashbedError: The workers are gone.
        """

    @property
    def load(self) -> AllowedLoad:
        """How much trials may load what they run on."""

    def stop(self) -> None:
        """End what is still running, and wait for it."""


class Executor(Protocol):
    """Where the trials of a run are carried out: this machine, or others; the run is the same."""

    def opened(self, run: ActiveRun, book: JobBook) -> AbstractContextManager[TrialWorkers]:
        """Make ready what the trials need, and give all of it back at the end.

        The run's manifest says what they run on by the time that the workers are there.

        Raises:
            NashbedError: The place cannot run them.
        """


def dispatch(book: JobBook, workers: TrialWorkers, every_s: float = 0.25) -> Generator[Snapshot]:
    """Have workers carry out jobs, and those that follow from them, until none is left.

    An attempt that its host or its guest ended is one failed attempt (see `JobBook.settle`). What
    another attempt would meet again ends the run: a dead target that all lanes share, a full disk,
    CCAs that are lost.

    Args:
        workers: Who carries them out; they have stopped at the end, whatever it was.
        every_s: How often the state of the run is given, in seconds.

    Yields:
        The state of the run, again and again; the work goes on when the next one is asked for.

    Raises:
        NashbedError: What ended the run early; Interrupted on Ctrl-C.
    """
    try:
        while not book.is_done:
            workers.hand_out()
            yield book.snapshot(workers.load)
            for ended in workers.ended(every_s):
                book.settle(ended)
        yield book.snapshot(workers.load)
        book.require_results()
    except KeyboardInterrupt as error:
        raise Interrupted(STOPPED) from error
    finally:
        workers.stop()


class States(Protocol):
    """States of a run that goes on while they are iterated."""

    def __iter__(self) -> Iterator[Snapshot]:
        """Go on."""

    def close(self) -> None:
        """Stop it."""


def watch(states: States, on_progress: OnProgress) -> None:
    """Go through the states of a run, which is stopped at the end, whatever it was.

    Args:
        states: As `dispatch` yields them.

    Raises:
        NashbedError: What ended the run early; Interrupted on Ctrl-C, here or there.
    """
    with closing(states):
        try:
            for state in states:
                on_progress(state)
        except KeyboardInterrupt as error:
            raise Interrupted(STOPPED) from error


def drained(source: queue.SimpleQueue[T], timeout_s: float) -> Iterator[T]:
    """Take all that a queue has.

    Args:
        timeout_s: How long to wait for the first.
    """
    with suppress(queue.Empty):
        yield source.get(timeout=timeout_s)
        while True:
            yield source.get_nowait()


class JobBook:
    """What waits and what runs. Safe between threads: take `lock` to look and act as one.

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
        self.lock = threading.RLock()
        self.waiting = deque(first)
        self.running: dict[str, Running] = {}

    @property
    def is_done(self) -> bool:
        """Whether nothing runs and nothing waits."""
        with self.lock:
            return not self.waiting and not self.running

    def begin(self, job: Job, where: str, step: TrialStep = TrialStep.VALIDATE) -> None:
        """A waiting job runs now; one that ran elsewhere runs here instead.

        Args:
            where: As `Running.where`.
        """
        with self.lock:
            if job.id not in self.running:
                self.waiting.remove(job)
            self.running[job.id] = Running(job, where, step=step)

    def set_step(self, job: Job, step: TrialStep) -> None:
        """A job that runs has come to a step."""
        with self.lock:
            if job.id in self.running:
                self.running[job.id].step = step

    def put_back(self, job: Job) -> None:
        """A job that was handed out waits again; if it ran, before all others."""
        with self.lock:
            if self.running.pop(job.id, None) is not None:
                self.waiting.appendleft(job)

    def settle(self, ended: JobResult) -> None:
        """Note what became of a job, and have wait what follows from it.

        Raises:
            Exception: What ended the attempt, where another would meet it again; or that there is
                no hope for the others, for trials fail one after the other.
        """
        job, result = ended.job, ended.result
        if result is None:
            with self.lock:
                self.waiting.append(job)
        elif isinstance(result, BaseException):
            self._note_failure(job, ended.where, result)
        else:
            self._note_result(job, result.valid)
        self._leave(job)

    def _leave(self, job: Job) -> None:
        """A job is done: it neither runs nor waits, not even where nobody had said it began."""
        with self.lock:
            if self.running.pop(job.id, None) is None:
                self.waiting.remove(job)

    def _note_result(self, job: Job, valid: bool) -> None:
        """An attempt has its result: ask what follows, while its trial still counts as running."""
        jobs = self._work.ended(job, valid)
        with self.lock:
            self._invalid += not valid
            self._has_results = True
            self._in_a_row.clear()
            self.waiting.extend(jobs)

    def _note_failure(self, job: Job, where: str, error: BaseException) -> None:
        """An attempt has no result: note why, and ask what follows.

        Its trial comes again as long as it has attempts left, once the others have begun: the bad
        moment may be over then. Else it is given up, and the run goes on without it.
        """
        if not isinstance(error, Exception) or not is_repeatable(error):
            raise error
        reason = error.message if isinstance(error, NashbedError) else repr(error)
        jobs = self._work.failed(job)
        again = any(each.trial == job.trial for each in jobs)
        failure = FailedAttempt(
            trial=job.id, where=where, failed_utc=utc_now(), reason=reason, repeated=again
        )
        with self.lock:
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
        with self.lock:
            if self._last_error is not None and not self._has_results:
                raise self._hopeless(self._last_error)

    def _hopeless(self, error: Exception) -> HostError:
        """That attempt after attempt has failed, and why the last one has."""
        attempts, trials = len(self._in_a_row), counted(len(set(self._in_a_row)), "trial")
        what = error.message if isinstance(error, NashbedError) else repr(error)
        code = error.exit_code if isinstance(error, NashbedError) else None
        return HostError(f"{attempts} attempts in a row failed, at {trials}, at last: {what}", code)

    def snapshot(self, load: AllowedLoad) -> Snapshot:
        """Where the run stands.

        Args:
            load: How much its trials may load what they run on.
        """
        with self.lock:
            return Snapshot(
                running=tuple(self.running.values()),
                waiting=tuple(job.trial for job in self.waiting),
                finished=self._work.finished,
                invalid=self._invalid,
                failures=tuple(self._failures),
                total=self._work.total,
                allowed_bps=load.allowed_bps,
                reduced=load.reduced,
                held_up=load.held_up if self.waiting else "",
            )
