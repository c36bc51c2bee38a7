"""Runs on this machine: who may begin, what each has made, and what the dead have left.

Runs in real time use the machine one at a time, from their checks to their end. Whoever begins
looks for others and writes a state file while holding a lock, so that of two that begin at the same
moment one is refused, or waits. A state file lists what a run makes outside its directory; it is
written before anything is made and after every change, so that a run that is killed at any moment
leaves a complete list behind. Whoever comes next removes what the list of a dead run names.

Sessions in virtual time share nothing, so they need no admission; they have state files of their
own (`guest/scratch.py`).
"""

import hashlib
import json
import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pydantic import ValidationError

from ...contract.errors import HostError
from ...contract.model import ContractModel
from ...store.run_directory import RunDirectory
from ...store.staging import locked, remove_stale, remove_stale_scratch, write_whole
from ..c_files.kinds import CCA, DISCIPLINE
from ..c_files.objects import object_cache
from ..kernels.cache import kernel_cache
from ..process.table import ChildProcess, start_time
from . import namespaces
from .cores import Shield, lower_shield
from .nics import NicBefore, RaisedBacklog, give_back, lower_backlog

LOG = logging.getLogger(__name__)

STATE_DIR = Path("/run/nashbed")
POLL_S = 0.5
"""Between two looks at a run that is waited for."""


def id_of(place: Path) -> str:
    """Four hexadecimal digits from a path, for the names of what a run makes on the machine."""
    return hashlib.sha256(str(place.resolve()).encode()).hexdigest()[:4]


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
        shield: The shield around the packet loops' cores.
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


OnWait = Callable[[RunState], None]
"""Called again and again with the run that is waited for."""


class OtherRunError(HostError):
    """Another run is using this machine."""

    def __init__(self, other: RunState) -> None:
        self.other = other
        super().__init__(
            f"another run (pid {other.pid}, {other.run_dir}) is using this machine; "
            "wait until it ends, or stop it"
        )


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
            raise _not_allowed(self.path, "written", error) from error


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


@contextmanager
def admission(folder: Path = STATE_DIR) -> Iterator[None]:
    """Look for other runs and write one's own state file with nobody else doing so.

    Raises:
        HostError: The lock's file cannot be opened.
    """
    with ExitStack() as held:
        path = folder / "admission.lock"
        try:
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            held.enter_context(locked(path))
        except OSError as error:
            raise _not_allowed(path, "opened", error) from error
        yield


@contextmanager
def reserved(what: str, on_wait: OnWait | None = None, folder: Path = STATE_DIR) -> Iterator[None]:
    """Have the machine for this process while the block lasts, without what dead runs left there.

    Args:
        what: What it is for, as others are told: a folder, or a command.
        on_wait: Called while another run is waited for; None: it is not waited for.
        folder: Of the state files.

    Raises:
        HostError: Another run is alive and not waited for, a state file is damaged, or what a dead
            run left cannot be removed.
    """
    reservation = _reserve(what, on_wait, folder)
    try:
        yield
    finally:
        reservation.remove()


def _reserve(what: str, on_wait: OnWait | None, folder: Path) -> StateFile:
    mine = own_state(f"reserved-{os.getpid()}", what).model_copy(update={"reserves": True})
    while True:
        try:
            with admission(folder):
                remove_dead_runs(folder)
                return StateFile(mine, folder)
        except OtherRunError as error:
            if on_wait is None:
                raise HostError(f"{error.message}; --wait waits for it") from error
            on_wait(error.other)
        time.sleep(POLL_S)


def refuse_live_runs(folder: Path = STATE_DIR) -> None:
    """Raise OtherRunError while another run is alive: two runs would disturb each other."""
    for path, state in read_states(folder):
        if state is None:
            raise HostError(
                f"{path}: the state file is damaged; remove what it lists, then the file"
            )
        if state.pid != os.getpid() and state.is_alive():
            raise OtherRunError(state)


def remove_dead_runs(folder: Path = STATE_DIR) -> list[RunState]:
    """Find runs whose process is gone and remove what they left; returns them.

    To be called in an `admission`, where nobody else begins meanwhile.

    Raises:
        HostError: A run is alive, or something cannot be removed.
    """
    refuse_live_runs(folder)
    remove_stale(folder)
    dead = []
    for path, state in read_states(folder):
        if state is None or (state.reserves and state.is_alive()):
            continue
        LOG.warning("removing what the dead run in %s left behind", state.run_dir)
        require_removed(state)
        path.unlink(missing_ok=True)
        dead.append(state)
    return dead


def remove_run(state: RunState) -> list[str]:
    """Remove a run's processes, interfaces, namespaces and files; returns what is left.

    NICs of this machine are given back as they were.

    The data plane holds its huge pages in anonymous memory (DPDK's --in-memory): they are
    free when its process has ended, and no file is left.
    """
    for child in state.processes:
        child.end()
    left = [what for nic in state.nics for what in give_back(nic)]
    if state.namespaces:
        left += namespaces.remove(state.namespaces, state.interfaces)
    if state.shield:
        lower_shield(state.shield)
    if state.backlog:
        lower_backlog(state.backlog)
    if state.scratch:
        shutil.rmtree(state.scratch, ignore_errors=True)
    return left


def require_removed(state: RunState) -> None:
    """Remove what a dead run left, also what is unfinished in its directory.

    Raises:
        HostError: Something cannot be removed.
    """
    left = remove_run(state)
    if left:
        raise HostError(f"cannot remove {', '.join(left)}, left by a run that was killed")
    RunDirectory(Path(state.run_dir)).remove_unfinished()


def remove_unfinished(*, dry_run: bool = False) -> list[Path]:
    """Remove what killed processes left in this user's caches, and of their scratch folders."""
    objects = (each for kind in (CCA, DISCIPLINE) for each in object_cache(kind).glob("*"))
    caches = (kernel_cache(), *kernel_cache().glob("*/modules"), *objects)
    removed = [left for cache in caches for left in remove_stale(cache, dry_run=dry_run)]
    return removed + remove_stale_scratch(dry_run=dry_run)


def _not_allowed(path: Path, what: str, error: OSError) -> HostError:
    remedy = "; run as root" if isinstance(error, PermissionError) else ""
    return HostError(f"{path}: cannot be {what} ({error.strerror}){remedy}")
