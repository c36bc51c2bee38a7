"""Where a worker that is a real testbed runs the trials of a run: one session for all its lanes."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..config import Loaded, load_testbed, parse_scenario
from ..contract.control import ControlFile
from ..contract.errors import HostError
from ..contract.plan import Plan
from ..contract.testbed import Testbed
from ..contract.trial import RanOn
from ..lane.lab import Lab, compiled_program, open_lab
from ..machine.host.runs import reserved
from ..machine.host.session import MakeSession, SessionRequest, leave_core
from ..machine.sessions import check_host, local_session
from ..plan.estimates import resources_of
from ..run.manifest import testbed_facts
from ..run.planning import plan_with
from ..run.standing import after_load, standing
from ..store.run_directory import RunDirectory
from .bundle import unpacked_controls
from .request import RunBundle, TestbedOffer, TrialAssignment
from .shared_lanes import SharedLanes
from .trial_here import Ground, Sealed

CheckHost = Callable[[Testbed, Path, int, Sequence[ControlFile]], None]
Reserve = Callable[[str], AbstractContextManager[None]]
_ONE_RUN = threading.Lock()
"""Held by the run that has this process' testbed: `reserved` keeps other processes away."""


@dataclass(frozen=True)
class Machine:
    """What a real testbed needs of its machine; tests have their own.

    Attributes:
        make_session: Makes the session.
        program: Finds the compiled P4 program.
        check: Checks the machine.
        reserve: Has the machine while its block lasts.
    """

    make_session: MakeSession = local_session
    program: Callable[[Testbed], Path] = compiled_program
    check: CheckHost = check_host
    reserve: Reserve = reserved


class TestbedWorkplace:
    """What a worker that is a real testbed keeps for the trials of one run.

    The machine is this run's until it is closed. The session is opened by a thread that lives as
    long: processes end with the thread that started them.

    Args:
        bundle: The run.
        folder: Where its files go; a folder of its own.
        file: The testbed file.
        machine: What is needed of the machine.

    Raises:
        NashbedError: This testbed cannot do what the scenario asks for, or the machine is not
            ready, or somebody else's.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    def __init__(
        self, bundle: RunBundle, folder: Path, file: Path, machine: Machine = Machine()
    ) -> None:
        self._machine = machine
        self._testbed = load_testbed(file)
        self._known = standing(self._testbed)
        scenario = parse_scenario(bundle.scenario, "scenario.yaml")
        self._ground = Ground(scenario.model, RunDirectory(folder), threading.Event())
        self._ground.directory.trials.mkdir(parents=True, exist_ok=True)
        controls = unpacked_controls(bundle.controls, folder / "controls")
        plan = plan_with(scenario, self._testbed, controls)
        self._trials = {trial.key: trial for trial in plan.trials}
        self._lanes = SharedLanes(plan.lanes, resources_of(self._testbed.model, plan))
        self.seats = plan.lanes
        request = SessionRequest(
            bundle.run[:4],
            folder,
            self._testbed.model,
            lanes=plan.lanes,
            groups=len(scenario.model.flows),
            window_bytes=plan.largest_window_bytes,
            hosts=scenario.model.hosts,
            controls=controls,
        )
        self._opened = ExitStack()
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="testbed")
        try:
            self._lab = self._opener.submit(self._open, bundle, request, plan).result()
        except BaseException:
            self._opener.shutdown()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self.ran_on, self.offer = self._described()

    def _open(self, bundle: RunBundle, request: SessionRequest, plan: Plan) -> Lab:
        bed, lanes = self._testbed.model, plan.lanes
        each_bytes = plan.estimated_disk_bytes // max(1, plan.expected_trials)
        with ExitStack() as stack:
            stack.enter_context(_alone(self._testbed))
            stack.enter_context(self._machine.reserve(f"the run {bundle.directory} of a cluster"))
            self._machine.check(bed, request.folder, lanes * each_bytes, request.controls)
            program = self._machine.program(bed)
            lab = open_lab(self._machine.make_session(request), bed, program)
            stack.callback(lab.close)
            self._opened = stack.pop_all()
        return lab

    def _described(self) -> tuple[RanOn, TestbedOffer]:
        testbed, host = self._testbed, socket.gethostname()
        known = after_load(self._known, self._lab.hello)
        ran_on = RanOn(
            host=host,
            testbed=testbed.model.name,
            testbed_digest=testbed.digest,
            certificate=known.state,
            certificate_digest=known.digest,
        )
        facts = testbed_facts(testbed, known, self._lab.facts(), host)
        return ran_on, TestbedOffer(name=testbed.model.name, text=testbed.text, facts=facts)

    def run(self, request: TrialAssignment) -> Sealed:
        """Run a trial, as this testbed's target has it, and seal it in this worker's folder.

        Args:
            request: Which one. It waits until the testbed carries it beside the others.

        Raises:
            NashbedError: It failed; nothing of it is left.
        """
        trial = self._trials.get(request.trial.key)
        if trial is None:
            raise HostError(f"{request.trial.key}: not in the plan of {self._testbed.name}")
        with self._lanes.lane_for(trial.setting) as (lane, ended), self._off_the_core():
            sealed = self._ground.run(trial, request.attempt, self._lab, lane)
            ended(sealed.record)
        return sealed

    @contextmanager
    def _off_the_core(self) -> Iterator[None]:
        """Keep this thread, and the flows that it starts, off the data plane's core."""
        before = leave_core(self._testbed.model.dataplane.core)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)

    def close(self) -> None:
        """End what is running, and give everything back."""
        self._ground.stop.set()
        self._lanes.close()
        try:
            self._opener.submit(self._opened.close).result()
        finally:
            self._opener.shutdown()
            shutil.rmtree(self._ground.directory.path, ignore_errors=True)


@contextmanager
def _alone(testbed: Loaded[Testbed]) -> Iterator[None]:
    """Have this process' testbed for one run while the block lasts."""
    if not _ONE_RUN.acquire(blocking=False):
        raise HostError(
            f"testbed {testbed.model.name} is another run's: wait until that ends (one whose "
            "client was killed ends by itself, within a minute)"
        )
    try:
        yield
    finally:
        _ONE_RUN.release()
