"""Where a measurement of a whole path takes place: a testbed, a folder, a session for each turn."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..config import Loaded
from ..contract.errors import NashbedError
from ..contract.testbed import Testbed
from ..run.lab import Lab, open_lab, quietly
from ..run.runner import compiled_program
from ..session.log import LOG, close_log, log_to
from ..session.session import LocalSession, Session

Tell = Callable[[str, int, int], None]
"""Told of each step: title, how many are done, of how many."""
MakeSession = Callable[["Place", int, int], Session]
"""Makes a session: (place, lanes, largest window of a flow in bytes) -> session."""


def local_session(place: Place, lanes: int, window_bytes: int) -> Session:
    """A session on this machine, with one flow group for each lane."""
    return LocalSession(
        place.id, place.folder, place.bed, lanes=lanes, groups=1, window_bytes=window_bytes
    )


@dataclass(frozen=True)
class Place:
    """A testbed and a folder.

    Attributes:
        testbed: The testbed.
        folder: Where logs and what flows leave go.
        make_session: Makes a session; tests give one without a real machine.
        program: Finds the compiled P4 program.
    """

    testbed: Loaded[Testbed]
    folder: Path
    make_session: MakeSession = local_session
    program: Callable[[Testbed], Path] = compiled_program
    _numbers: Iterator[int] = field(default_factory=partial(itertools.count, 1))

    @property
    def bed(self) -> Testbed:
        """What the testbed file says."""
        return self.testbed.model

    @property
    def id(self) -> str:
        """Four hexadecimal digits from the folder's place."""
        return hashlib.sha256(str(self.folder.resolve()).encode()).hexdigest()[:4]

    def turn_folder(self) -> Path:
        """A folder for the next turn."""
        path = self.folder / f"turn{next(self._numbers):02d}"
        path.mkdir()
        return path

    @contextmanager
    def logged(self) -> Iterator[None]:
        """Keep a log of everything that is done meanwhile."""
        handler = log_to(self.folder / "bench.log")
        try:
            yield
        except BaseException as error:
            unknown = not isinstance(error, NashbedError)
            LOG.error("measurement ended: %s", error, exc_info=unknown)
            raise
        finally:
            close_log(handler)

    @contextmanager
    def lab(self, lanes: int, window_bytes: int) -> Iterator[Lab]:
        """The whole bottleneck between the hosts; the machine is given back whatever happens."""
        lab = open_lab(
            self.make_session(self, lanes, window_bytes), self.bed, self.program(self.bed)
        )
        try:
            yield lab
        except BaseException:
            quietly("lab", lab.close)
            raise
        lab.close()
