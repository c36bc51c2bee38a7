"""Where a run and its trials stand: a trial's steps and their order, and what is shown of a run."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from ..contract.errors import InternalError
from ..contract.plan import Plan, PlannedTrial
from ..contract.trial import FailedAttempt
from ..plan.estimates import (
    UNLIMITED,
    Resources,
    estimate_seconds,
    mean_seconds,
    planned_time,
    trials_at_once,
)
from .work import Job

LOG = logging.getLogger(__name__)


class TrialStep(Enum):
    """A step of a trial."""

    VALIDATE = "validate"
    PREPARE = "prepare"
    PROGRAM = "program"
    START_FLOWS = "start flows"
    RUN = "run"
    STOP = "stop"
    RESTORE = "restore"
    COLLECT = "collect"
    SEAL = "seal"


ORDER = tuple(TrialStep)
OnStep = Callable[[TrialStep], None]
"""Called at each step of a trial."""


class Steps:
    """Where a trial stands. Each step follows the one before it.

    `restore` gives the lane back and so may follow any step that uses it; after a failure
    nothing follows it.

    Args:
        name: The trial, for the log.
    """

    def __init__(self, name: str, on_step: OnStep) -> None:
        self._name = name
        self._on_step = on_step
        self._stopped = False
        self.current: TrialStep | None = None

    def enter(self, step: TrialStep) -> None:
        """Go on to a step; raises InternalError when it is not its turn."""
        if not self._may(step):
            previous = self.current.value if self.current else "nothing"
            raise InternalError(f"{self._name}: {step.value} cannot follow {previous}")
        LOG.info("trial %s: %s", self._name, step.value)
        self._stopped |= self.current is TrialStep.STOP
        self.current = step
        self._on_step(step)

    def _may(self, step: TrialStep) -> bool:
        place = -1 if self.current is None else ORDER.index(self.current)
        if step is TrialStep.RESTORE:
            return place < ORDER.index(TrialStep.RESTORE)
        if step is TrialStep.COLLECT and not self._stopped:
            return False
        return ORDER.index(step) == place + 1


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
class AllowedLoad:
    """How much trials may load what they run on.

    Attributes:
        allowed_bps: Largest sum of rates at once, now.
        reduced: Whether that is less than the testbed's capacity: departures were late.
        held_up: Why lanes wait though there are trials; empty: they do not, or for their rates.
    """

    allowed_bps: int = UNLIMITED
    reduced: bool = False
    held_up: str = ""


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


class TimeLeft:
    """Estimates of a run's wall-clock time.

    Args:
        plan: What is run.
        room: What trials share.
    """

    def __init__(self, plan: Plan, room: Resources) -> None:
        self._plan = plan
        self._room = room
        self._takes = planned_time(plan)

    def seconds(self, snapshot: Snapshot) -> float:
        """What is left of the run, in seconds."""
        now, takes = time.monotonic(), self._takes
        left = (takes(r.job.trial) - (now - r.since) for r in snapshot.running)
        current = max(left, default=0.0)
        lanes = max(1, self._plan.lanes)
        waiting = snapshot.waiting
        later = estimate_seconds(waiting, takes, lanes, self._room)
        known = snapshot.finished + len(snapshot.running) + len(waiting)
        beside = trials_at_once(self._plan.trials, lanes, self._room)
        rounds = max(0, snapshot.total - known) / beside  # not chosen yet
        unknown = rounds * mean_seconds(self._plan.trials, takes)
        return max(0.0, current) + later + unknown

    def measures_s(self, running: Running) -> float:
        """Seconds in which a trial's packets flow: by the clock, or as computed."""
        if self._plan.virtual_time:
            return self._takes(running.job.trial)
        return self._plan.seconds_of(running.job.trial.setting)


OnProgress = Callable[[Snapshot], None]
"""Called again and again while the run goes on."""
