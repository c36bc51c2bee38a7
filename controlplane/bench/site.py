"""Where a measurement of a whole path takes place: a testbed, a folder, a session for each turn."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..config import Loaded
from ..contract.testbed import Testbed
from ..lane.lab import Lab, compiled_program, opened_lab
from ..machine.host.runs import id_of
from ..machine.host.session import MakeSession, Session, SessionRequest
from ..machine.sessions import local_session

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class BenchSite:
    """A testbed and a folder.

    Attributes:
        folder: Where logs and what flows leave go.
        make_session: Makes a session; tests give one without a real machine.
        find_artefact: Finds the compiled P4 program.
    """

    testbed: Loaded[Testbed]
    folder: Path
    make_session: MakeSession = local_session
    find_artefact: Callable[[Testbed], Path] = compiled_program
    _numbers: Iterator[int] = field(default_factory=partial(itertools.count, 1))

    @property
    def bed(self) -> Testbed:
        """What the testbed file says."""
        return self.testbed.model

    @property
    def id(self) -> str:
        """Four hexadecimal digits, from the folder's path."""
        return id_of(self.folder)

    def turn_folder(self) -> Path:
        """A folder for the next turn."""
        path = self.folder / f"turn{next(self._numbers):02d}"
        path.mkdir()
        return path

    def session(self, lanes: int, window_bytes: int, groups: int = 1) -> Session:
        """A new session.

        Args:
            lanes: Lanes side by side.
            window_bytes: Largest window of a flow.
            groups: Flow groups of each lane.
        """
        return self.make_session(
            SessionRequest(self.id, self.folder, self.bed, lanes, groups, window_bytes)
        )

    def lab(self, lanes: int, window_bytes: int, groups: int = 1) -> AbstractContextManager[Lab]:
        """The whole bottleneck between the hosts; the machine is given back whatever happens."""
        session = self.session(lanes, window_bytes, groups)
        return opened_lab(session, self.bed, self.find_artefact(self.bed))
