"""This machine as the place of a run: its lanes, in network namespaces or as guests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..contract.testbed import Testbed
from ..contract.trial import TrialRecord
from ..lane.lab import compiled_program
from ..lane.labs import Labs, opened_labs
from ..machine.host.session import MakeSession, SessionRequest
from ..machine.sessions import local_session
from ..plan.attempt import make_attempt
from ..plan.estimates import resources_of
from .active_run import ActiveRun
from .controls import with_objects
from .guest_memory import GuestMemory
from .manifest import with_guest_kernels, with_lab
from .scheduler import LaneScheduler
from .standing import standing, with_capacity
from .steps import OnStep
from .trial_runner import TrialRunner
from .work import Job


@dataclass(frozen=True)
class ThisMachine:
    """Trials on the lanes of this machine, a thread for each.

    Attributes:
        make_session: Makes the session; tests give one without a real machine.
        program: Finds the compiled P4 program.
    """

    make_session: MakeSession = local_session
    program: Callable[[Testbed], Path] = compiled_program

    @contextmanager
    def opened(self, run: ActiveRun, first: list[Job]) -> Iterator[LaneScheduler]:
        """See `TrialPlace`."""
        bed = run.testbed.model
        if bed.is_virtual:
            run.manifest = with_guest_kernels(run.manifest, bed, run.plan)
        run.manifest = with_objects(run.manifest, bed, run.controls)
        with opened_labs(self.make_session, session_request(run), self.program(bed)) as labs:
            run.manifest = with_lab(run.manifest, labs.first.facts())
            run.directory.write("manifest.json", run.manifest)
            yield _scheduler(run, first, labs)


def lanes_here(run: ActiveRun) -> int:
    """Trials side by side: as planned, but no more guests than this machine has room for.

    A plan may be a cluster's.
    """
    if not run.plan.isolated:
        return run.plan.lanes
    room = with_capacity(run.testbed, standing(run.testbed))[0].model.capacity.lanes
    return max(1, min(run.plan.lanes, room))


def session_request(run: ActiveRun) -> SessionRequest:
    """What all lanes of a run together need of a machine."""
    return SessionRequest(
        run.id,
        run.directory.path,
        run.testbed.model,
        lanes=lanes_here(run),
        groups=len(run.scenario.model.flows),
        window_bytes=run.plan.largest_window_bytes,
        hosts=run.scenario.model.hosts,
        controls=run.controls,
    )


def _scheduler(run: ActiveRun, first: list[Job], labs: Labs) -> LaneScheduler:
    scenario = run.scenario.model

    def execute_job(job: Job, lane: int, on_step: OnStep) -> TrialRecord:
        place = labs.place(lane)
        with run.directory.unsealed(job.trial.attempt_id(job.attempt)) as folder:
            attempt = make_attempt(scenario, job.trial, job.attempt, place.lane, folder)
            return TrialRunner(place.lab, run.directory, attempt, scheduler.stop, on_step).execute()

    available = resources_of(run.testbed.model, run.plan)
    scheduler = LaneScheduler(
        first,
        run.work,
        lanes_here(run),
        available,
        execute_job,
        run.directory.note_failure,
        GuestMemory(labs.held_bytes) if run.plan.isolated else None,
    )
    return scheduler
