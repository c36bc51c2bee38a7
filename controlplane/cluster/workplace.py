"""Where a worker runs the trials of a run in virtual time: a session and a core for each thread."""

from __future__ import annotations

import hashlib
import shutil
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..config import parse_scenario, parse_testbed
from ..contract.errors import InternalError
from ..contract.testbed import Testbed
from ..contract.trial import RanOn
from ..lane.lab import Lab, compiled_program, open_lab
from ..machine.guest.memory import MEMORY_PAUSE_S, await_memory
from ..machine.guest.scratch import claim_core
from ..machine.host.session import MakeSession, SessionRequest
from ..machine.sessions import local_session
from ..plan.estimates import guest_takes_bytes
from ..store.run_directory import RunDirectory
from .bundle import unpacked_controls
from .request import RunBundle, TrialAssignment
from .trial_here import Ground, Sealed


@dataclass
class Seat:
    """The place of one thread.

    Attributes:
        lab: Session and target.
        busy: Held while a trial runs.
    """

    lab: Lab
    busy: threading.Lock = field(default_factory=threading.Lock)


class Workplace:
    """What a worker keeps for the trials of one run.

    A session is opened by the thread that runs trials in it: processes end with the thread that
    started them.

    Args:
        bundle: The run.
        folder: Where its files go; a folder of its own.
        make_session: Makes sessions.
        program: Finds the compiled P4 program.
    """

    def __init__(
        self,
        bundle: RunBundle,
        folder: Path,
        make_session: MakeSession = local_session,
        program: Callable[[Testbed], Path] = compiled_program,
    ) -> None:
        self.stop = threading.Event()
        self.directory = RunDirectory(folder)
        self._make_session = make_session
        self._scenario = parse_scenario(bundle.scenario, "scenario.yaml").model
        self._testbed = parse_testbed(bundle.testbed, "testbed.yaml").model
        self._program = program(self._testbed)
        self.ran_on = RanOn(
            host=socket.gethostname(),
            testbed=self._testbed.name,
            testbed_digest=hashlib.sha256(bundle.testbed.encode()).hexdigest(),
            certificate="none",
        )
        self._seats: dict[int, Seat] = {}
        self._lock = threading.Lock()
        self._failed = False
        self.directory.trials.mkdir(parents=True, exist_ok=True)
        self._request = SessionRequest(
            bundle.run[:4],
            folder,
            self._testbed,
            lanes=1,
            groups=len(self._scenario.flows),
            window_bytes=bundle.window_bytes,
            hosts=self._scenario.hosts,
            controls=unpacked_controls(bundle.controls, folder / "controls"),
        )

    def run(self, request: TrialAssignment) -> Sealed:
        """Run a trial and seal it in this worker's folder.

        After one that failed it waits for memory first, though not for long.

        Args:
            request: Which one.

        Raises:
            NashbedError: It failed; nothing of it is left.
        """
        if self._failed:  # perhaps for want of memory
            needed_bytes = guest_takes_bytes(request.trial.setting)
            await_memory(needed_bytes, MEMORY_PAUSE_S, self.stop)
        self._failed = False
        try:
            seat = self._seat()
            with seat.busy:
                ground = Ground(self._scenario, self.directory, self.stop)
                return ground.run(request.trial, request.attempt, seat.lab)
        except BaseException:
            self._failed = True
            raise

    def _seat(self) -> Seat:
        me = threading.get_ident()
        with self._lock:
            self._require_open()
            known = self._seats.get(me)
        if known is not None:
            return known
        core = claim_core() if self._testbed.is_virtual else None
        request = replace(self._request, core=core)
        seat = Seat(open_lab(self._make_session(request), self._testbed, self._program))
        with self._lock:
            try:
                self._require_open()  # `close` does not know of a lab that was being opened
            except InternalError:
                seat.lab.close()
                raise
            self._seats[me] = seat
        return seat

    def _require_open(self) -> None:
        if self.stop.is_set():
            raise InternalError("the run has left this worker")

    def close(self) -> None:
        """End what is running, and give everything back."""
        self.stop.set()
        with self._lock, ExitStack() as stack:
            stack.callback(shutil.rmtree, self.directory.path, ignore_errors=True)
            for seat in self._seats.values():
                stack.enter_context(seat.busy)
                stack.callback(seat.lab.close)
            self._seats = {}
