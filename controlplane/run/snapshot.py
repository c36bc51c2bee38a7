"""Where a run stands, for whoever shows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..contract.plan import PlannedTrial
from ..contract.trial import FailedAttempt
from .steps import TrialStep
from .work import Job


@dataclass
class Running:
    """A trial that is running.

    Attributes:
        job: The trial.
        where: Its lane, or the worker that has it, as shown.
        since: When it started, in seconds of time.monotonic.
        step: Where it stands; a trial on another machine runs as long as it is there.
    """

    job: Job
    where: str
    since: float = field(default_factory=time.monotonic)
    step: TrialStep = TrialStep.VALIDATE


@dataclass(frozen=True)
class Snapshot:
    """Where the run stands.

    Attributes:
        running: Trials that are running.
        waiting: Trials that are not yet started.
        finished: Trials that ended with a valid result or used up their attempts.
        invalid: Attempts that were invalid.
        failures: Attempts that ended without a result, in this session.
        total: Trials of the run; an estimate where they are chosen as results arrive.
        allowed_bps: Largest sum of rates at once, now.
        reduced: Whether that is less than the testbed's capacity: departures were late.
        held_up: Why lanes wait though there are trials; empty: they do not, or for their rates.
    """

    running: tuple[Running, ...]
    waiting: tuple[PlannedTrial, ...]
    finished: int
    invalid: int
    failures: tuple[FailedAttempt, ...]
    total: int
    allowed_bps: int
    reduced: bool
    held_up: str = ""


OnProgress = Callable[[Snapshot], None]
"""Called again and again while the run goes on."""
