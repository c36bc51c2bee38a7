"""A whole run: from a plan, or from what is left of one, to a sealed run directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..config import (
    Loaded,
    load_scenario,
    load_testbed,
)
from ..contract.control import ControlFile
from ..contract.errors import ConfigError, Interrupted, NashbedError
from ..contract.manifest import Manifest
from ..contract.plan import Plan
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed
from ..contract.trial import TrialRecord
from ..lane.lab import compiled_program
from ..lane.labs import Labs, opened_labs
from ..machine.log import LOG, close_log, log_to
from ..machine.make_session import local_session
from ..machine.session import MakeSession, SessionRequest
from ..machine.state import id_of
from ..plan.attempt import make_attempt
from ..plan.resources import resources_of
from ..store.run_directory import RunDirectory, check_manifest, create, open_existing
from .controls import controls_of, keep_controls, kept_controls, with_objects
from .manifest import Status, new_manifest, with_guest_kernels, with_lab, with_status
from .scheduler import OnProgress, Scheduler
from .standing import standing
from .steps import OnStep
from .trial_runner import TrialRunner
from .work import Chooser, ChosenWork, Job, PlannedWork, Work

MakeChooser = Callable[[Path, Scenario, Testbed, Plan], Chooser]
"""Makes the chooser of an adaptive run: (run directory, scenario, testbed, plan) -> chooser."""


@dataclass
class ActiveRun:
    """A run directory and what is to be done in it.

    Attributes:
        directory: The run directory.
        scenario: The scenario.
        testbed: The testbed.
        plan: Every trial.
        manifest: The manifest as it stands.
        work: What is still to be run.
        controls: Congestion controls that the hosts' kernel does not have.
    """

    directory: RunDirectory
    scenario: Loaded[Scenario]
    testbed: Loaded[Testbed]
    plan: Plan
    manifest: Manifest
    work: Work
    controls: tuple[ControlFile, ...] = ()

    @property
    def id(self) -> str:
        """Four hexadecimal digits from the run directory's place."""
        return id_of(self.directory.path)

    def set_status(self, status: Status) -> None:
        """Write the manifest with another status."""
        self.manifest = with_status(self.manifest, status, self.directory.sealed())
        self.directory.write("manifest.json", self.manifest)


def new_run(
    results: Path,
    scenario: Loaded[Scenario],
    testbed: Loaded[Testbed],
    plan: Plan,
    choose: MakeChooser,
) -> ActiveRun:
    """Make the run directory of a new run.

    Args:
        results: Folder that it goes into.
        scenario: What to run.
        testbed: Where.
        plan: Every trial, or those that may be chosen.
        choose: Makes the chooser of an adaptive run.
    """
    certificate = standing(testbed)
    controls = controls_of(scenario, testbed)
    directory = create(results, scenario, testbed, plan)
    kept = keep_controls(directory.path, controls)
    manifest = new_manifest(directory, scenario, testbed, certificate, kept)
    directory.write("manifest.json", manifest)
    work = _remaining_work(directory, scenario.model, testbed.model, plan, choose)
    return ActiveRun(directory, scenario, testbed, plan, manifest, work, controls)


def testbed_of(path: Path) -> Testbed:
    """The testbed of an existing run.

    Args:
        path: The run directory.
    """
    open_existing(path)
    return load_testbed(path / "testbed.yaml").model


def resumed_run(path: Path, choose: MakeChooser) -> ActiveRun:
    """Open an existing run; finished trials are kept.

    Args:
        path: The run directory.
        choose: Makes the chooser of an adaptive run.
    """
    directory = open_existing(path)
    scenario = load_scenario(path / "scenario.yaml")
    testbed = load_testbed(path / "testbed.yaml")
    manifest = check_manifest(directory, scenario, testbed)
    controls = kept_controls(directory.path, manifest)
    plan = directory.read("plan.json", Plan)
    unplanned = {r.id.rpartition("-a")[0] for r in directory.sealed()}
    unplanned -= {trial.key for trial in plan.trials}
    if unplanned:
        raise ConfigError(
            f"{directory.trials}: {min(unplanned)} is not a trial of this plan; move it away"
        )
    work = _remaining_work(directory, scenario.model, testbed.model, plan, choose)
    return ActiveRun(directory, scenario, testbed, plan, manifest, work, controls)


def _remaining_work(
    directory: RunDirectory, scenario: Scenario, testbed: Testbed, plan: Plan, choose: MakeChooser
) -> Work:
    sealed, attempts = directory.sealed(), scenario.max_attempts
    if plan.search == "exhaustive":
        return PlannedWork(plan, sealed, attempts)
    return ChosenWork(choose(directory.path, scenario, testbed, plan), plan, sealed, attempts)


def needed_disk_bytes(plan: Plan, work: Work | None = None) -> int:
    """Upper estimate of what is still to be written: of all of a plan, or of what is left."""
    if work is None:
        return plan.estimated_disk_bytes
    left = (work.total - work.finished) / max(1, work.total)
    return int(plan.estimated_disk_bytes * left)


def _session_request(run: ActiveRun) -> SessionRequest:
    return SessionRequest(
        run.id,
        run.directory.path,
        run.testbed.model,
        lanes=run.plan.lanes,
        groups=len(run.scenario.model.flows),
        window_bytes=max(trial.setting.largest_window_bytes for trial in run.plan.trials),
        hosts=run.scenario.model.hosts,
        controls=run.controls,
    )


def execute(
    run: ActiveRun,
    on_progress: OnProgress,
    make_session: MakeSession = local_session,
    program: Callable[[Testbed], Path] = compiled_program,
) -> list[TrialRecord]:
    """Run all jobs of a run; returns every sealed record.

    Args:
        run: What to do.
        on_progress: Called with the state of the run, again and again.
        make_session: Makes the session; tests give one without a real machine.
        program: Finds the compiled P4 program.

    Raises:
        NashbedError: What ended the run early. The machine has been given back, finished
            trials are kept, and the manifest says how the run ended.
    """
    handler = log_to(run.directory.log)
    try:
        first = run.work.start()
        if first:
            _run_jobs(run, first, on_progress, make_session, program)
        run.set_status("complete")
    except BaseException as error:
        stopped = isinstance(error, Interrupted | KeyboardInterrupt)
        LOG.error("run ended early: %s", error, exc_info=not isinstance(error, NashbedError))
        run.set_status("interrupted" if stopped else "failed")
        raise
    finally:
        close_log(handler)
    return run.directory.sealed()


def _run_jobs(
    run: ActiveRun,
    first: list[Job],
    on_progress: OnProgress,
    make_session: MakeSession,
    program: Callable[[Testbed], Path],
) -> None:
    run.directory.remove_unfinished()
    bed = run.testbed.model
    if bed.is_virtual:
        run.manifest = with_guest_kernels(run.manifest, bed, run.plan)
    run.manifest = with_objects(run.manifest, bed, run.controls)
    with opened_labs(make_session, _session_request(run), program(bed)) as labs:
        run.manifest = with_lab(run.manifest, labs.first)
        run.directory.write("manifest.json", run.manifest)
        _scheduler(run, first, labs).run(on_progress)


def _scheduler(run: ActiveRun, first: list[Job], labs: Labs) -> Scheduler:
    scenario = run.scenario.model

    def execute_job(job: Job, lane: int, on_step: OnStep) -> TrialRecord:
        folder = run.directory.unfinished(job.trial.attempt_id(job.attempt))
        place = labs.place(lane)
        attempt = make_attempt(scenario, job.trial, job.attempt, place.lane, folder)
        return TrialRunner(place.lab, run.directory, attempt, scheduler.stop, on_step).execute()

    available = resources_of(run.testbed.model, run.plan)
    scheduler = Scheduler(first, run.work, run.plan.lanes, available, execute_job)
    return scheduler
