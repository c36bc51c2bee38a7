"""Where a worker runs the trials of a run: in virtual time, or on a real testbed of its own."""

import hashlib
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ..config import Loaded, load_testbed, parse_scenario, parse_testbed
from ..contract.c_files import CFile
from ..contract.errors import HostError, InternalError
from ..contract.plan import Plan, PlannedTrial
from ..contract.testbed import Testbed
from ..contract.trial import RanOn, TrialRecord
from ..lane.lab import Lab, compiled_program, open_lab
from ..machine.guest.memory import MEMORY_PAUSE_S, await_memory
from ..machine.guest.programs import changed_programs
from ..machine.guest.scratch import claim_core
from ..machine.host.runs import reserved
from ..machine.host.session import MakeSession, SessionRequest, leave_cores
from ..machine.process.flow_programs import strategy_programs
from ..machine.sessions import check_host, local_session
from ..plan.attempt import make_attempt
from ..plan.estimates import guest_takes_bytes, resources_of
from ..run.lanes import SharedLanes
from ..run.manifest import testbed_facts
from ..run.planning import plan_with
from ..run.standing import after_load, standing
from ..run.trial_runner import TrialRunner
from ..store.run_directory import RunDirectory
from .request import RunBundle, TestbedOffer, TrialAssignment, unpacked_ccas, unpacked_files

CheckHost = Callable[[Testbed, Path, int, Sequence[CFile]], None]
Reserve = Callable[[str], AbstractContextManager[None]]
_ONE_RUN = threading.Lock()
"""Held by the run that has this process' testbed: `reserved` keeps other processes away."""


@dataclass(frozen=True)
class Sealed:
    """A trial that a worker has sealed."""

    folder: Path
    record: TrialRecord
    lab: Lab


class Workplace:
    """What a worker keeps for the trials of one run, whatever they run on."""

    ran_on: RanOn

    def __init__(self, bundle: RunBundle, folder: Path) -> None:
        self.directory = RunDirectory(folder)
        self.directory.trials.mkdir(parents=True, exist_ok=True)
        files = unpacked_files(bundle.files, folder / "files")
        self.scenario = parse_scenario(bundle.scenario, "scenario.yaml", files.__getitem__)
        self.ccas = unpacked_ccas(bundle.controls, folder / "controls")
        here = strategy_programs(self.scenario.model)
        if changed := changed_programs(bundle.programs, here):
            raise HostError(f"its {changed} differ from the client's: install the same there")
        self.stop = threading.Event()

    def run(self, request: TrialAssignment) -> Sealed:
        """Run a trial and seal it in this worker's folder.

        Raises:
            NashbedError: It failed; nothing of it is left.
        """
        raise NotImplementedError

    def close(self) -> None:
        """End what is running, and give everything back."""
        raise NotImplementedError

    def seats(self, threads: int) -> int:
        """Trials at once, with so many threads of the worker's."""
        return threads

    def _request(
        self, bundle: RunBundle, testbed: Testbed, lanes: int, window_bytes: int
    ) -> SessionRequest:
        """What trials need of a machine."""
        scenario = self.scenario.model
        return SessionRequest(
            bundle.run[:4],
            self.directory.path,
            testbed,
            lanes=lanes,
            groups=len(scenario.flows),
            window_bytes=window_bytes,
            hosts=scenario.hosts,
            ccas=self.ccas,
            programs=bool(scenario.programs),
        )

    def _run_in(self, lab: Lab, lane: int, trial: PlannedTrial, attempt: int) -> Sealed:
        """Run a trial on a lane of a lab, and seal it."""
        name = trial.attempt_id(attempt)
        sealed = self.directory.trials / name
        shutil.rmtree(sealed, ignore_errors=True)
        with self.directory.unsealed(name) as folder:
            made = make_attempt(self.scenario.model, trial, attempt, lane, folder)
            record = TrialRunner(lab, self.directory, made, self.stop, lambda step: None).execute()
        return Sealed(sealed, record, lab)


class VirtualWorkplace(Workplace):
    """Guests in virtual time: a session and a core for each thread of the worker.

    A session is opened by the thread that runs trials in it: processes end with the thread that
    started them.
    """

    def __init__(
        self,
        bundle: RunBundle,
        folder: Path,
        make_session: MakeSession = local_session,
        program: Callable[[Testbed], Path] = compiled_program,
    ) -> None:
        super().__init__(bundle, folder)
        self._make_session = make_session
        self._testbed = parse_testbed(bundle.testbed, "testbed.yaml").model
        self._program = program(self._testbed)
        self._session = self._request(bundle, self._testbed, 1, bundle.window_bytes)
        self.ran_on = RanOn(
            host=socket.gethostname(),
            testbed=self._testbed.name,
            testbed_digest=hashlib.sha256(bundle.testbed.encode()).hexdigest(),
            certificate="none",
        )
        self._labs: dict[int, tuple[Lab, threading.Lock]] = {}
        self._lock = threading.Lock()
        self._failed = False

    def run(self, request: TrialAssignment) -> Sealed:
        """See `Workplace`; after a trial that failed it waits for memory, though not for long."""
        if self._failed:  # perhaps for want of memory
            needed_bytes = guest_takes_bytes(request.trial.setting)
            await_memory(needed_bytes, MEMORY_PAUSE_S, self.stop)
        self._failed = False
        try:
            lab, busy = self._lab()
            with busy:
                return self._run_in(lab, 0, request.trial, request.attempt)
        except BaseException:
            self._failed = True
            raise

    def _lab(self) -> tuple[Lab, threading.Lock]:
        """The lab of this thread, and what is held while a trial runs there."""
        me = threading.get_ident()
        with self._lock:
            self._require_open()
            known = self._labs.get(me)
        if known is not None:
            return known
        core = claim_core() if self._testbed.is_virtual else None
        session = self._make_session(replace(self._session, core=core))
        lab = open_lab(session, self._testbed, self._program)
        with self._lock:
            try:
                self._require_open()  # `close` does not know of a lab that was being opened
            except InternalError:
                lab.close()
                raise
            return self._labs.setdefault(me, (lab, threading.Lock()))

    def _require_open(self) -> None:
        if self.stop.is_set():
            raise InternalError("the run has left this worker")

    def close(self) -> None:
        """See `Workplace`."""
        self.stop.set()
        with self._lock, ExitStack() as stack:
            stack.callback(shutil.rmtree, self.directory.path, ignore_errors=True)
            for lab, busy in self._labs.values():
                stack.enter_context(busy)
                stack.callback(lab.close)
            self._labs = {}


@dataclass(frozen=True)
class Machine:
    """What a real testbed needs of its machine; tests have their own."""

    make_session: MakeSession = local_session
    program: Callable[[Testbed], Path] = compiled_program
    check: CheckHost = check_host
    reserve: Reserve = reserved


class TestbedWorkplace(Workplace):
    """A real testbed with a plan of its own: one session for all its lanes.

    The machine is this run's until it is closed. The session is opened by a thread that lives as
    long: processes end with the thread that started them.

    Raises:
        NashbedError: This testbed cannot do what the scenario asks for, or the machine is not
            ready, or somebody else's.
    """

    __test__ = False  # not a test class, whatever pytest thinks of its name

    def __init__(
        self, bundle: RunBundle, folder: Path, file: Path, machine: Machine = Machine()
    ) -> None:
        super().__init__(bundle, folder)
        self._machine = machine
        self._testbed = load_testbed(file)
        self._known = standing(self._testbed)
        plan = plan_with(self.scenario, self._testbed, self.ccas)
        bed = self._testbed.model
        self._trials = {trial.key: trial for trial in plan.trials}
        self._lanes = SharedLanes(plan.lanes, resources_of(bed, plan), loops=bed.dataplane.loops)
        self._most = plan.lanes
        request = self._request(bundle, bed, plan.lanes, plan.largest_window_bytes)
        self._opened = ExitStack()
        self._opener = ThreadPoolExecutor(1, thread_name_prefix="testbed")
        try:
            self._lab = self._opener.submit(self._open, bundle, request, plan).result()
        except BaseException:
            self._opener.shutdown()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self.ran_on, self.offer = self._described()

    def seats(self, threads: int) -> int:
        """See `Workplace`: no more than it has lanes for this run."""
        return min(threads, self._most)

    def _open(self, bundle: RunBundle, request: SessionRequest, plan: Plan) -> Lab:
        bed, lanes = self._testbed.model, plan.lanes
        each_bytes = plan.estimated_disk_bytes // max(1, plan.expected_trials)
        with ExitStack() as stack:
            stack.enter_context(_alone(self._testbed))
            stack.enter_context(self._machine.reserve(f"the run {bundle.directory} of a cluster"))
            self._machine.check(bed, request.folder, lanes * each_bytes, request.ccas)
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
        """See `Workplace`; it waits until the testbed carries the trial beside the others."""
        trial = self._trials.get(request.trial.key)
        if trial is None:
            raise HostError(f"{request.trial.key}: not in the plan of {self._testbed.name}")
        with self._lanes.lane_for(trial.setting) as (lane, ended), self._off_the_core():
            sealed = self._run_in(self._lab, lane, trial, request.attempt)
            ended(sealed.record)
        return sealed

    @contextmanager
    def _off_the_core(self) -> Iterator[None]:
        """Keep this thread, and the flows that it starts, off the packet loops' cores."""
        before = leave_cores(self._testbed.model.dataplane.cores)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)

    def close(self) -> None:
        """See `Workplace`."""
        self.stop.set()
        self._lanes.close()
        try:
            self._opener.submit(self._opened.close).result()
        finally:
            self._opener.shutdown()
            shutil.rmtree(self.directory.path, ignore_errors=True)


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
