"""The steps of a trial and the order that they may come in."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from ..contract.errors import InternalError
from ..machine.log import LOG


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
        on_step: Called at each step.
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
