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
    START_TELEMETRY = "start telemetry"
    START_FLOWS = "start flows"
    RUN = "run"
    STOP = "stop"
    COLLECT = "collect"
    RESTORE = "restore"
    SEAL = "seal"


ORDER = tuple(TrialStep)


class Steps:
    """Where a trial stands. Every step follows the one before it; restore follows any.

    Args:
        name: The trial, for the log.
        tell: Told of each step.
    """

    def __init__(self, name: str, tell: Callable[[TrialStep], None]) -> None:
        self._name = name
        self._tell = tell
        self._collected = False
        self.current: TrialStep | None = None

    def enter(self, step: TrialStep) -> None:
        """Go on to a step; raises InternalError when it is not its turn."""
        if not self._may(step):
            was = self.current.value if self.current else "nothing"
            raise InternalError(f"{self._name}: {step.value} cannot follow {was}")
        LOG.info("trial %s: %s", self._name, step.value)
        self._collected |= self.current is TrialStep.COLLECT
        self.current = step
        self._tell(step)

    def _may(self, step: TrialStep) -> bool:
        if step is TrialStep.RESTORE:
            return self.current not in (TrialStep.RESTORE, TrialStep.SEAL)
        if step is TrialStep.SEAL and not self._collected:
            return False
        place = -1 if self.current is None else ORDER.index(self.current)
        return ORDER.index(step) == place + 1
