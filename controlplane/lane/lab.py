"""A session and a loaded target: what trials run in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..contract.manifest import LabFacts
from ..contract.messages import Hello
from ..contract.testbed import Testbed
from ..machine.host.session import Session
from ..machine.log import LOG
from ..machine.paths import artefact
from ..targets import Target, artefact_of, make_target


@dataclass(frozen=True)
class Lab:
    """Everything that is shared by the trials of a run.

    Attributes:
        session: The machine.
        target: The bottleneck.
        hello: What the target says about itself.
    """

    session: Session
    target: Target
    hello: Hello

    @property
    def epoch_ns(self) -> int:
        """Switch clock 0 on CLOCK_MONOTONIC."""
        return self.hello.epoch_ns

    def facts(self) -> LabFacts:
        """What session and target say about themselves, for the record of a run."""
        return LabFacts(hello=self.hello, sysctls=self.session.sysctls, ports=self.session.ports())

    def close(self) -> None:
        """Bring the target down and give the machine back, whatever fails on the way."""
        try:
            self.target.close()
        finally:
            self.session.close()


def open_lab(session: Session, testbed: Testbed, artefact: Path) -> Lab:
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
    return Lab(session, target, hello)


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


def quietly(what: str, close: Callable[[], object]) -> None:
    """Close something while another error is on its way; a second one is only logged."""
    try:
        close()
    except Exception:
        LOG.exception("closing the %s failed as well", what)


def compiled_program(testbed: Testbed) -> Path:
    """The compiled P4 program of a testbed's target."""
    return artefact(artefact_of(testbed))
