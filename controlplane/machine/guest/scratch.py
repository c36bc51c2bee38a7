"""What guests of this user share: a folder for the scratch of their sessions, and the cores.

Sessions of any number of runs stand side by side in the folder, which is private and short in its
path; each has a state file there, as runs in real time have theirs in /run/nashbed, and is never
left behind. Guests are faster on a core of their own: a claim is a lock on a file in the folder.
"""

import itertools
import logging
import os
import stat
import tempfile
import threading
from pathlib import Path

from ...contract.errors import PrerequisiteError
from ...store.staging import remove_stale, take_lock
from ..host import runs
from ..host.runs import RunState, StateFile, own_state, read_states

LOG = logging.getLogger(__name__)

SOCKET_PATH_BYTES = 107
"""The longest path of a UNIX socket."""
LONGEST_NAME = "control.sock"
KEPT = "cluster.pem"
"""What parts of a cluster on this machine show each other, beside the sessions."""

_numbers = itertools.count()

_held: dict[int, int] = {}
"""Thread of this process -> the core that it has claimed, which it keeps to the process's end."""


def guests_folder() -> Path:
    """The folder of all sessions of this user."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    place = runtime if runtime and _is_own(Path(runtime)) else tempfile.gettempdir()
    return Path(place) / f"nashbed-{os.geteuid()}"


def _is_own(folder: Path) -> bool:
    """Whether it is this user's: `su` leaves root another's runtime folder."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def open_scratch(folder: Path, run_id: str, run_dir: Path) -> StateFile:
    """Make a session's folder, once those of sessions that are gone are removed.

    Args:
        folder: The folder of all sessions.
        run_id: Part of the session's name.
        run_dir: Whose session it is.

    Returns:
        The state file, which names the folder.
    """
    make_private(folder)
    remove_dead_sessions(folder)
    name = f"{run_id}-{os.getpid()}-{next(_numbers)}"
    scratch = folder / name
    if len(os.fsencode(scratch / LONGEST_NAME)) > SOCKET_PATH_BYTES:
        raise PrerequisiteError(
            f"{scratch}: too long a path for UNIX sockets; set XDG_RUNTIME_DIR or TMPDIR to a "
            "shorter one"
        )
    state = own_state(name, run_dir).model_copy(update={"scratch": str(scratch)})
    state_file = StateFile(state, folder)
    scratch.mkdir(mode=0o700)
    return state_file


def remove_dead_sessions(folder: Path) -> list[RunState]:
    """Remove what sessions of processes that are gone have left; returns those sessions.

    Raises:
        HostError: Something cannot be removed, or the folder is another user's.
    """
    if folder.exists():
        _require_own(folder)
    remove_stale(folder)
    dead = []
    for path, state in read_states(folder):
        # The state of a session that is being closed elsewhere may be gone in between.
        if state is None or state.is_alive():
            continue
        LOG.warning("removing what the dead run in %s left behind", state.run_dir)
        runs.require_removed(state)
        path.unlink(missing_ok=True)
        dead.append(state)
    return dead


def make_private(folder: Path) -> None:
    """Make the folder, for this user alone.

    Raises:
        HostError: It cannot be made, or is another user's.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise PrerequisiteError(
            f"{folder}: {error.strerror}; set XDG_RUNTIME_DIR or TMPDIR"
        ) from error
    _require_own(folder)


def _require_own(folder: Path) -> None:
    """Others may write to the folder around it: refuse one that is theirs."""
    if not _is_own(folder):
        raise PrerequisiteError(
            f"{folder}: not a folder of this user; remove it, or set XDG_RUNTIME_DIR"
        )


def claim_core(folder: Path | None = None) -> int | None:
    """The core of this thread: the one that it has, or one that no process of this user claims.

    Args:
        folder: Of the lock files; None: this user's own.

    Returns:
        The core; None where all are claimed.

    Raises:
        HostError: The folder is another user's.
    """
    me = threading.get_ident()
    if me in _held:
        return _held[me]
    folder = folder or guests_folder()
    make_private(folder)
    for core in sorted(os.sched_getaffinity(0)):
        if take_lock(folder / f"core-{core}.lock", wait=False) is not None:
            _held[me] = core
            return core
    return None
