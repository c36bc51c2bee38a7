"""A worker's part of a measurement: trials that take no time, whose result is one of before."""

from __future__ import annotations

from dataclasses import replace

from distributed import get_worker

from ..cluster.request import TrialAssignment, TrialOutcome
from ..cluster.tasks import tell_start

_STORED: list[TrialOutcome] = []
"""Of this process: what every trial returns."""


def store(outcome: TrialOutcome) -> None:
    """Keep what trials are to return.

    Args:
        outcome: A trial's that was run.
    """
    _STORED[:] = [outcome]


def stored_trial(text: str) -> TrialOutcome:
    """Do what `run_trial` does, but for the trial and its packing.

    Args:
        text: A `TrialAssignment`, as JSON.
    """
    worker = get_worker()
    tell_start(worker, TrialAssignment.model_validate_json(text))
    return replace(_STORED[0], worker=worker.address)
