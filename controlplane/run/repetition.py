"""The work of a verification: sealed trials that are run again and compared one by one."""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ..contract.plan import Plan
from ..contract.trial import TrialRecord
from ..store.comparison import RepeatedTrial, compare_trials
from .work import Job

MOST_FAILURES = 3
"""Times that a trial may fail for its host or guest."""


class Repetition:
    """Sealed trials to run again, each as the attempt that it was: it has the same seed then.

    Args:
        plan: The run's plan.
        chosen: Records of the trials to run again.
        sealed: Folder of the run's trials.
        repeated: Folder of their repetitions.
        keep: Whether a repetition is kept there once it was compared.
    """

    def __init__(
        self, plan: Plan, chosen: Sequence[TrialRecord], sealed: Path, repeated: Path, keep: bool
    ) -> None:
        planned = {trial.key: trial for trial in plan.trials}
        self._jobs = [Job(planned[key_of(record)], record.attempt) for record in chosen]
        self._sealed = sealed
        self._repeated = repeated
        self.keep = keep
        self._lock = threading.Lock()
        self._failed: Counter[tuple[str, int]] = Counter()
        self._compared: dict[str, RepeatedTrial] = {}
        self.total = len(self._jobs)

    @property
    def finished(self) -> int:
        """Trials that were run again and compared."""
        return len(self._compared)

    @property
    def trials(self) -> list[RepeatedTrial]:
        """What came of them, by id."""
        return [self._compared[name] for name in sorted(self._compared)]

    def start(self) -> list[Job]:
        """Every trial, large ones first: small ones fill gaps."""
        return sorted(self._jobs, key=lambda job: -job.trial.setting.rate_bps)

    def ended(self, job: Job, valid: bool) -> list[Job]:
        """Compare a trial that was run again; nothing follows from it."""
        name = job.trial.attempt_id(job.attempt)
        folder = self._repeated / name
        compared = compare_trials(self._sealed / name, folder)
        if not self.keep:
            shutil.rmtree(folder)
        with self._lock:
            self._compared[name] = compared
        return []

    def failed(self, job: Job) -> list[Job]:
        """The trial again; one that fails again and again is not compared."""
        with self._lock:
            self._failed[job.trial.key, job.attempt] += 1
            left = self._failed[job.trial.key, job.attempt] < MOST_FAILURES
        return [job] if left else []


def key_of(record: TrialRecord) -> str:
    """The key of the planned trial that a record is an attempt at."""
    return record.id.rpartition("-a")[0]
