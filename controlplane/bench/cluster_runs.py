"""Runs to be timed: on this machine's lanes, on workers, and with trials that take no time."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from distributed import Client, get_worker

from ..cluster.on_cluster import OnCluster
from ..cluster.parcel import Parcel, pack, unpack
from ..cluster.request import TrialAssignment, TrialOutcome
from ..cluster.worker import tell_start
from ..config import Loaded, parse_scenario
from ..contract.errors import InternalError
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed
from ..contract.trial import TrialRecord
from ..machine.log import ShowStep
from ..run.active_run import ActiveRun, new_run
from ..run.dispatcher import TrialPlace
from ..run.planning import plan_run
from ..run.progress import Snapshot
from ..run.runner import execute
from ..store.documents import read_document, write_document
from ..store.staging import scratch_folder

LOG = logging.getLogger(__name__)

SCENARIO = """\
name: cluster
title: A short sweep
bottleneck: {{rate: 100mbit, buffer: 2bdp}}
flows: [{{name: main, count: 10, base_rtt: 40ms}}]
strategies: [cubic, bbr]
duration: {seconds}s
warmup: 2s
trials: {trials}
seed: 1
sweep: {{mixes: [{mixes}]}}
"""
RECORD = "trial.json"
_STORED: list[Stored] = []
"""The stored trial that every task of this process returns."""


@dataclass(frozen=True)
class TimedSweep:
    """Trials of ten flows at 100 Mbit/s, 40 ms, 2 BDP, with every postcard.

    Attributes:
        seconds: Virtual seconds of each.
        mixes: How many of its flows run BBR, in each mix.
        trials: Trials of each mix.
    """

    seconds: int
    mixes: tuple[int, ...]
    trials: int

    @property
    def scenario(self) -> Loaded[Scenario]:
        """The scenario of all of them."""
        mixes = ", ".join(map(str, self.mixes))
        text = SCENARIO.format(seconds=self.seconds, trials=self.trials, mixes=mixes)
        return parse_scenario(text, "cluster.yaml")


@dataclass(frozen=True)
class TimedRun:
    """A run that was timed.

    Attributes:
        trials: Trials that were sealed.
        wall_s: From the first look at the plan to the last sealed trial.
        cpu_s: Processor time of this process meanwhile: client, and scheduler where it runs here.
    """

    trials: int
    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class RunTimer:
    """Times runs, one after the other.

    Attributes:
        testbed: The testbed, in virtual time.
        folder: For run directories, each of which is removed when its run was timed.
        show_step: Called with where a run stands.
    """

    testbed: Loaded[Testbed]
    folder: Path
    show_step: ShowStep

    def time_run(
        self, title: str, sweep: TimedSweep, place: TrialPlace | None, seats: int | None
    ) -> TimedRun:
        """Run a sweep from its plan to its last trial.

        Args:
            title: What is shown.
            sweep: The trials.
            place: Where; None: on the lanes of this machine.
            seats: Trials at once there; None: this machine's lanes.
        """
        run = self._new_run(sweep, seats)
        told = [-1]

        def show(state: Snapshot) -> None:
            if state.finished != told[0]:
                told[0] = state.finished
                self.show_step(title, state.finished, state.total)

        begun, cpu = time.perf_counter(), time.process_time()
        try:
            records = execute(run, show, place)
            return TimedRun(len(records), time.perf_counter() - begun, time.process_time() - cpu)
        finally:
            shutil.rmtree(run.directory.path)

    def _new_run(self, sweep: TimedSweep, seats: int | None) -> ActiveRun:
        scenario = sweep.scenario
        plan = plan_run(scenario, self.testbed, _no_search, seats)
        return new_run(self.folder, scenario, self.testbed, plan, _no_search)

    def on_workers(
        self, title: str, sweep: TimedSweep, client: Client, seats: int
    ) -> tuple[TimedRun, list[TrialOutcome]]:
        """Run a sweep on workers; also returns all that came back.

        Args:
            title: What is shown.
            sweep: The trials.
            client: Of the cluster.
            seats: Trials at once there.
        """
        came: list[TrialOutcome] = []
        place = OnCluster(client, LOG.info, on_outcome=came.append)
        return self.time_run(title, sweep, place, seats), came

    def without_trials(
        self, title: str, sweep: TimedSweep, client: Client, seats: int, stored: TrialOutcome
    ) -> TimedRun:
        """Run a sweep of trials that take no time: each returns a stored one.

        Args:
            title: What is shown.
            client: Of the cluster.
            seats: Trials at once there.
            stored: What each returns.
        """
        plan = plan_run(sweep.scenario, self.testbed, _no_search, seats)
        trials = [trial.attempt_id(0) for trial in plan.trials]
        parcels = self.folder / f"parcels-{sweep.seconds}s"
        try:
            client.run(keep, store(stored, trials, parcels))
            place = OnCluster(client, LOG.info, task=stored_trial)
            return self.time_run(title, sweep, place, seats)
        finally:
            shutil.rmtree(parcels, ignore_errors=True)


def _no_search(*_: object) -> NoReturn:
    raise InternalError("a sweep to be timed is planned, not searched for")


@dataclass(frozen=True)
class Stored:
    """What workers answer with.

    Attributes:
        outcome: Of the trial that was run, without its parcel.
        folder: A parcel for each trial that may be asked for; worker and client both see it.
    """

    outcome: TrialOutcome
    folder: Path


def store(outcome: TrialOutcome, trials: Iterable[str], folder: Path) -> Stored:
    """Pack a trial that was run under the names of others: only what was asked for is sealed.

    Args:
        trials: The others' ids.
        folder: Where the parcels go; it is made.
    """
    folder.mkdir()
    parcel = Parcel.from_bytes(outcome.parcel)
    with scratch_folder("bench", folder) as work:
        place = work / "trial"
        unpack(parcel, place)
        record = read_document(place / RECORD, TrialRecord, "run the trial again")
        for trial in trials:
            write_document(place / RECORD, record.model_copy(update={"id": trial}))
            named = place.with_name(trial)
            named.symlink_to(place)
            (folder / trial).write_bytes(pack(named).to_bytes())
    return Stored(replace(outcome, parcel=b""), folder)


def keep(stored: Stored) -> None:
    """On a worker: answer with this from now on.

    Args:
        stored: What `store` has made.
    """
    _STORED[:] = [stored]


def stored_trial(text: str) -> TrialOutcome:
    """Do what `run_trial` does, but for the trial and its packing.

    Args:
        text: A `TrialAssignment`, as JSON.
    """
    worker, (stored,) = get_worker(), _STORED
    asked = TrialAssignment.model_validate_json(text)
    tell_start(worker, asked)
    parcel = (stored.folder / asked.trial.attempt_id(asked.attempt)).read_bytes()
    return replace(stored.outcome, worker=worker.address, parcel=parcel)
