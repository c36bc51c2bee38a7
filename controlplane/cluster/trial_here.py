"""One trial in a lab of this worker: run, judged, and sealed in the worker's own folder."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

from ..contract.plan import PlannedTrial
from ..contract.scenario import Scenario
from ..contract.trial import TrialRecord
from ..lane.lab import Lab
from ..plan.attempt import make_attempt
from ..run.trial_runner import TrialRunner
from ..store.run_directory import RunDirectory


@dataclass(frozen=True)
class Sealed:
    """A trial that a worker has sealed.

    Attributes:
        folder: Where.
        record: Its record.
        lab: What it ran on.
    """

    folder: Path
    record: TrialRecord
    lab: Lab


@dataclass(frozen=True)
class Ground:
    """What all trials of a run on a worker have in common.

    Attributes:
        scenario: The scenario.
        directory: Where they are sealed.
        stop: Set when the run leaves the worker.
    """

    scenario: Scenario
    directory: RunDirectory
    stop: threading.Event

    def run(self, trial: PlannedTrial, attempt: int, lab: Lab, lane: int = 0) -> Sealed:
        """Run a trial and seal it.

        Args:
            trial: What is planned.
            attempt: Which attempt at it.
            lab: Session and target.
            lane: The lane there.

        Raises:
            NashbedError: It failed; nothing of it is left.
        """
        name = trial.attempt_id(attempt)
        sealed = self.directory.trials / name
        shutil.rmtree(sealed, ignore_errors=True)
        with self.directory.unsealed(name) as folder:
            made = make_attempt(self.scenario, trial, attempt, lane, folder)
            record = TrialRunner(lab, self.directory, made, self.stop, lambda step: None).execute()
        return Sealed(sealed, record, lab)
