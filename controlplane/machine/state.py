"""The state file of a live run: what to remove when the run is found dead.

It is written before anything is created and after every change, so that a run killed at
any moment leaves a complete list behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import threading
from pathlib import Path

from pydantic import ValidationError

from ..contract.errors import HostError
from ..contract.model import ContractModel
from ..store.staging import write_whole
from .backlog import RaisedBacklog
from .nics import NicBefore
from .procfs import executable, session_members, start_time
from .shield import Shield

STATE_DIR = Path("/run/nashbed")


def id_of(place: Path) -> str:
    """Four hexadecimal digits from a path, for the names of what a run makes on the machine."""
    return hashlib.sha256(str(place.resolve()).encode()).hexdigest()[:4]


class ChildProcess(ContractModel):
    """A process that the run started.

    Attributes:
        pid: Its process id.
        start: Its start time in clock ticks since boot.
        executables: Files it may be running: the wrappers it is started through, then itself.
    """

    pid: int
    start: int
    executables: tuple[str, ...]

    def is_alive(self) -> bool:
        """Whether this very process (not a later one with its pid) is running."""
        return start_time(self.pid) == self.start and self._runs(self.pid)

    def descendants(self) -> list[int]:
        """What this process has started of its own kind, which may outlive it.

        Every process that is started here leads a session, whose number is not given to another
        process as long as one of the session is there.
        """
        if start_time(self.pid) not in (None, self.start):
            return []
        return [p for p in session_members(self.pid) if p != self.pid and self._runs(p)]

    def _runs(self, pid: int) -> bool:
        running = (executable(pid) or "").removesuffix(" (deleted)")
        return running in self.executables


def end_descendants(child: ChildProcess) -> None:
    """Kill what a process has started of its own kind."""
    for pid in child.descendants():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class RunState(ContractModel):
    """Everything outside the run directory that belongs to a run.

    Attributes:
        id: Part of every name: four hexadecimal digits, in virtual time with more behind them; of a
            reservation, its process.
        pid: Process id of the controlling process.
        start: Its start time in clock ticks since boot.
        run_dir: The run directory; of a reservation, what it is for.
        namespaces: Network namespaces.
        interfaces: Interfaces by namespace, removed first.
        nics: NICs of this machine, moved to its namespaces, as they were before.
        processes: Running children.
        scratch: Directory of sockets and generated files.
        shield: The shield around the packet loop's core.
        backlog: What the kernel's backlog was, where the run raises it.
        reserves: Whether it only says that its process has the machine (see `admission`).
    """

    id: str
    pid: int
    start: int
    run_dir: str
    namespaces: tuple[str, ...] = ()
    interfaces: tuple[tuple[str, str], ...] = ()
    nics: tuple[NicBefore, ...] = ()
    processes: tuple[ChildProcess, ...] = ()
    scratch: str = ""
    shield: Shield | None = None
    backlog: RaisedBacklog | None = None
    reserves: bool = False

    def is_alive(self) -> bool:
        """Whether the controlling process is still running."""
        return start_time(self.pid) == self.start


class StateFile:
    """Keeps a RunState on disk, replaced as a whole at each change. Safe between threads."""

    def __init__(self, state: RunState, folder: Path = STATE_DIR) -> None:
        self.path = folder / f"{state.id}.json"
        self._state = state
        self._lock = threading.Lock()
        self._write()

    @property
    def state(self) -> RunState:
        """The current state."""
        return self._state

    def add_process(self, child: ChildProcess) -> None:
        """Note a process that was started."""
        with self._lock:
            processes = (*self._state.processes, child)
            self._state = self._state.model_copy(update={"processes": processes})
            self._write()

    def remove_process(self, pid: int) -> None:
        """Forget a process that has ended."""
        with self._lock:
            remaining = tuple(p for p in self._state.processes if p.pid != pid)
            self._state = self._state.model_copy(update={"processes": remaining})
            self._write()

    def remove(self) -> None:
        """The run has ended and nothing of it is left: remove the file."""
        with self._lock:
            self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        try:
            self.path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            write_whole(self.path, self._state.model_dump_json(indent=1))
        except OSError as error:
            remedy = "; run as root" if isinstance(error, PermissionError) else ""
            raise HostError(f"{self.path}: cannot be written ({error.strerror}){remedy}") from error


def own_state(run_id: str, run_dir: Path | str) -> RunState:
    """The state of a run that this process controls, with nothing created yet."""
    pid = os.getpid()
    return RunState(id=run_id, pid=pid, start=start_time(pid) or 0, run_dir=str(run_dir))


def read_states(folder: Path = STATE_DIR) -> list[tuple[Path, RunState | None]]:
    """All state files; None for one that cannot be read."""
    states: list[tuple[Path, RunState | None]] = []
    for path in sorted(folder.glob("*.json")):
        try:
            states.append((path, RunState.model_validate(json.loads(path.read_text()))))
        except (OSError, ValueError, ValidationError):
            states.append((path, None))
    return states
