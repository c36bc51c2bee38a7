"""A session and a loaded target: what trials run in; and the labs of a run's lanes."""

import logging
import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ..contract.c_files import CFile
from ..contract.errors import is_repeatable
from ..contract.manifest import LabFacts
from ..contract.messages.dataplane import Hello
from ..contract.target import LaneProgram
from ..contract.testbed import Testbed
from ..machine.c_files.loadable import loadable_bottleneck
from ..machine.guest.kernel import GUEST_MEMORY_BYTES
from ..machine.guest.memory import MEMORY_PAUSE_S, await_memory
from ..machine.host.session import MakeSession, Session, SessionRequest
from ..machine.paths import artefact
from ..targets import Target, artefact_of, capabilities_of, make_target

LOG = logging.getLogger(__name__)

OPENING_ATTEMPTS = 3


@dataclass(frozen=True)
class Lab:
    """Everything that is shared by the trials of a run.

    Attributes:
        session: The machine.
        target: The bottleneck.
        hello: What the target says about itself.
        disciplines: Queue disciplines of the user's own.
    """

    session: Session
    target: Target
    hello: Hello
    disciplines: tuple[CFile, ...] = ()

    @property
    def epoch_ns(self) -> int:
        """Switch clock 0 on CLOCK_MONOTONIC."""
        return self.hello.epoch_ns

    def loadable(self, program: LaneProgram) -> LaneProgram:
        """A lane's program with what the target can load of a discipline of the user's own."""
        bottleneck = loadable_bottleneck(program.bottleneck, self.disciplines)
        return replace(program, bottleneck=bottleneck)

    def facts(self) -> LabFacts:
        """What session and target say about themselves, for the record of a run."""
        session = self.session
        return LabFacts(
            hello=self.hello,
            sysctls=session.sysctls,
            ports=session.ports(),
            nics=session.nics(),
            qdiscs=session.qdiscs(),
        )

    def close(self) -> None:
        """Bring the target down and give the machine back, whatever fails on the way."""
        try:
            self.target.close()
        finally:
            self.session.close()


def open_lab(
    session: Session,
    testbed: Testbed,
    artefact: Path,
    disciplines: tuple[CFile, ...] = (),
) -> Lab:
    """Open a session and load the target; gives everything back when that fails."""
    target = make_target(session, testbed)
    try:
        session.open()
        hello = target.load(artefact)
        session.connect_hosts()
    except BaseException:
        quietly("target", target.close)
        quietly("session", session.close)
        raise
    return Lab(session, target, hello, disciplines)


@contextmanager
def opened_lab(session: Session, testbed: Testbed, artefact: Path) -> Iterator[Lab]:
    """A lab for as long as it is needed; the machine is given back whatever happens."""
    lab = open_lab(session, testbed, artefact)
    try:
        yield lab
    except BaseException:
        quietly("lab", lab.close)
        raise
    lab.close()


def compiled_program(testbed: Testbed) -> Path:
    """The compiled P4 program of a testbed's target."""
    return artefact(artefact_of(testbed))


class Labs:
    """Where each lane of a plan is. The first lab is opened at once, another when it is needed.

    A lane has one thread, and its lab is opened in that thread: processes end with the thread that
    started them.

    Args:
        open_one: Opens a session and loads the target.
        requests: What each lab needs: that of all lanes together, or those of every lane.

    Raises:
        NashbedError: The first one cannot be opened.
    """

    def __init__(
        self, open_one: Callable[[SessionRequest], Lab], requests: Sequence[SessionRequest]
    ) -> None:
        self._open_one = open_one
        self._requests = requests
        self._labs = {0: self._opened_first()}

    def _opened_first(self) -> Lab:
        """The first lab; a guest that does not boot is tried again, as it is in a trial."""
        request = self._requests[0]
        left = OPENING_ATTEMPTS if capabilities_of(request.testbed).isolated else 1
        while True:
            left -= 1
            try:
                return self._open_one(request)
            except Exception as error:
                if not left or not is_repeatable(error):
                    raise
                LOG.warning("the first guest failed, and is tried again: %s", error)
                await_memory(GUEST_MEMORY_BYTES, MEMORY_PAUSE_S)

    def held_bytes(self, lane: Hashable) -> int:
        """The memory that the guest of a lane has taken so far.

        Args:
            lane: A lane with a lab of its own.
        """
        lab = self._labs.get(lane) if isinstance(lane, int) else None
        return 0 if lab is None else lab.session.peak_memory_bytes

    @property
    def first(self) -> Lab:
        """The lab that says what all of them are: they are alike."""
        return self._labs[0]

    def place(self, lane: int) -> tuple[Lab, int]:
        """The lab of a lane of the plan, and its number there: 0 where it has a lab of its own.

        Raises:
            NashbedError: Its lab cannot be opened.
        """
        if len(self._requests) == 1:
            return self.first, lane
        if lane not in self._labs:
            self._labs[lane] = self._open_one(self._requests[lane])
        return self._labs[lane], 0

    def close(self) -> None:
        """Close all of them, whatever fails on the way. No lane may be in use any more."""
        with ExitStack() as stack:
            for lab in self._labs.values():
                stack.callback(lab.close)


@contextmanager
def opened_labs(
    make_session: MakeSession, request: SessionRequest, artefact: Path
) -> Iterator[Labs]:
    """The labs of a plan's lanes for as long as they are needed; all are closed, come what may.

    Args:
        request: What all lanes together need.
    """

    def open_one(each: SessionRequest) -> Lab:
        return open_lab(make_session(each), each.testbed, artefact, each.disciplines)

    labs = Labs(open_one, lab_requests(request))
    try:
        yield labs
    except BaseException:
        quietly("labs", labs.close)
        raise
    labs.close()


def lab_requests(request: SessionRequest) -> tuple[SessionRequest, ...]:
    """What each lab needs: one request as it is, or one for each lane that is a machine of its own.

    These machines are on the cores that this process may use, in turns.
    """
    if not capabilities_of(request.testbed).isolated:
        return (request,)
    cores = sorted(os.sched_getaffinity(0))
    return tuple(
        replace(request, lanes=1, core=cores[lane % len(cores)]) for lane in range(request.lanes)
    )


def quietly(what: str, close: Callable[[], object]) -> None:
    """Close something while another error is on its way; a second one is only logged."""
    try:
        close()
    except Exception:
        LOG.exception("closing the %s failed as well", what)
