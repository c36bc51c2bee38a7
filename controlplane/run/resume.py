"""Which trials of a plan are still to be run."""

from __future__ import annotations

from collections import defaultdict

from ..contract.plan import Plan
from ..contract.trial import TrialRecord
from .scheduler import Job


def remaining(plan: Plan, sealed: list[TrialRecord], max_attempts: int) -> list[Job]:
    """Trials without a valid attempt that have attempts left, with their next attempt.

    Args:
        plan: The run's plan.
        sealed: Everything that was sealed so far.
        max_attempts: Attempts at each trial.
    """
    attempts: dict[str, list[TrialRecord]] = defaultdict(list)
    for record in sealed:
        attempts[record.id.rpartition("-a")[0]].append(record)
    jobs = []
    for trial in plan.trials:
        done = attempts[trial.key]
        following = max((record.attempt for record in done), default=-1) + 1
        if not any(record.valid for record in done) and following < max_attempts:
            jobs.append(Job(trial, following))
    return jobs
