"""Where the trials of a run are carried out: this machine, or others; the run is the same."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from .active_run import ActiveRun
from .snapshot import OnProgress
from .work import Job


class TrialScheduler(Protocol):
    """Carries out jobs, and those that follow from them, until none is left."""

    def run(self, on_progress: OnProgress, every_s: float = 0.25) -> None:
        """Run everything; returns when all is done.

        Args:
            on_progress: Called with the state of the run, again and again.
            every_s: How often, in seconds.

        Raises:
            NashbedError: What ended the run early; Interrupted on Ctrl-C.
        """


class TrialPlace(Protocol):
    """Where trials are carried out."""

    def opened(self, run: ActiveRun, first: list[Job]) -> AbstractContextManager[TrialScheduler]:
        """Make ready what the trials need, and give all of it back at the end.

        The run's manifest says what they run on by the time that the scheduler is there.

        Args:
            run: The run.
            first: Its first jobs.

        Raises:
            NashbedError: The place cannot run them.
        """
