"""This machine as the place of a run: its lanes, in network namespaces or as guests."""

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..contract.testbed import Testbed
from ..contract.trial import TrialRecord
from ..lane.lab import Labs, compiled_program, opened_labs
from ..machine.host.session import MakeSession, SessionRequest
from ..machine.sessions import local_session
from ..plan.attempt import make_attempt
from ..plan.estimates import resources_of
from .active_run import ActiveRun
from .dispatcher import JobBook, JobResult, drained
from .lanes import GuestMemory, SharedLanes
from .manifest import with_lab
from .progress import AllowedLoad, OnStep
from .standing import standing, with_capacity
from .trial_runner import TrialRunner
from .work import Job

LOG = logging.getLogger(__name__)

Execute = Callable[[Job, int, threading.Event, OnStep], TrialRecord]
"""Runs a job on a lane until it is asked to stop; returns its sealed record."""


class LaneWorkers:
    """Lanes of this machine as workers: each is a thread that takes one trial after another.

    A lane's lab is opened in its thread, which lives as long: processes end with the thread that
    started them.
    """

    def __init__(self, book: JobBook, lanes: SharedLanes, execute: Execute) -> None:
        self._book = book
        self._lanes = lanes
        self._execute = execute
        self._given: dict[int, queue.SimpleQueue[Job | None]] = {}
        self._threads: list[threading.Thread] = []
        self._ended: queue.SimpleQueue[tuple[int, JobResult]] = queue.SimpleQueue()
        self._stop = threading.Event()

    @property
    def load(self) -> AllowedLoad:
        """See `TrialWorkers`."""
        return AllowedLoad(self._lanes.allowed_bps, self._lanes.reduced, self._lanes.held_up)

    def hand_out(self) -> None:
        """See `TrialWorkers`: the first that fits goes to the lowest free lane."""
        while True:
            waiting = list(self._book.waiting)
            number = self._lanes.first_fitting([job.trial.setting for job in waiting])
            if number is None:
                return
            job = waiting[number]
            lane = self._lanes.take(job.trial.setting)
            self._book.begin(job, f"lane {lane}")
            self._jobs_of(lane).put(job)

    def _jobs_of(self, lane: int) -> queue.SimpleQueue[Job | None]:
        """What a lane's thread is given; it is started with its first job."""
        if lane not in self._given:
            self._given[lane] = queue.SimpleQueue()
            thread = threading.Thread(
                target=self._run_lane, args=(lane,), name=f"lane-{lane}", daemon=True
            )
            thread.start()
            self._threads.append(thread)  # one that did not start is not joined
        return self._given[lane]

    def _run_lane(self, lane: int) -> None:
        while (job := self._given[lane].get()) is not None:
            self._ended.put((lane, self._run_one(job, lane)))

    def _run_one(self, job: Job, lane: int) -> JobResult:
        result: TrialRecord | BaseException
        try:
            result = self._execute(
                job, lane, self._stop, lambda step: self._book.set_step(job, step)
            )
            self._lanes.note_end(lane, result)
        except BaseException as error:
            LOG.exception("trial %s failed", job.id)
            self._lanes.note_failure()
            result = error
        return JobResult(job, f"lane {lane}", result)

    def ended(self, timeout_s: float) -> Iterator[JobResult]:
        """See `TrialWorkers`."""
        for lane, ended in drained(self._ended, timeout_s):
            self._lanes.free(lane)
            yield ended

    def stop(self) -> None:
        """See `TrialWorkers`: each lane restores what it was using."""
        self._stop.set()
        for jobs in self._given.values():
            jobs.put(None)
        for thread in self._threads:
            thread.join()


@dataclass(frozen=True)
class ThisMachine:
    """Trials on the lanes of this machine.

    Attributes:
        make_session: Makes the session; tests give one without a real machine.
        program: Finds the compiled P4 program.
    """

    make_session: MakeSession = local_session
    program: Callable[[Testbed], Path] = compiled_program

    @contextmanager
    def opened(self, run: ActiveRun, book: JobBook) -> Iterator[LaneWorkers]:
        """See `Executor`."""
        bed = run.testbed.model
        with opened_labs(self.make_session, session_request(run), self.program(bed)) as labs:
            run.write_manifest(with_lab(run.manifest, labs.first.facts()))
            memory = GuestMemory(labs.held_bytes) if run.plan.isolated else None
            loops = bed.dataplane.loops
            lanes = SharedLanes(lanes_here(run), resources_of(bed, run.plan), memory, loops)
            yield LaneWorkers(book, lanes, _execute_on(run, labs))


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
        ccas=run.ccas,
        disciplines=run.disciplines,
        programs=bool(run.scenario.model.programs),
    )


def _execute_on(run: ActiveRun, labs: Labs) -> Execute:
    def execute(job: Job, lane: int, stop: threading.Event, on_step: OnStep) -> TrialRecord:
        lab, lane_there = labs.place(lane)
        with run.directory.unsealed(job.id) as folder:
            attempt = make_attempt(run.scenario.model, job.trial, job.attempt, lane_there, folder)
            return TrialRunner(lab, run.directory, attempt, stop, on_step).execute()

    return execute
