"""Who may use this machine: of all runs in real time one, from its checks to its end.

Whoever begins looks for others and says that he is there while he holds a lock, so that of two that
begin at the same moment one is refused, or waits. What runs in virtual time shares nothing.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..contract.errors import HostError
from . import cleanup
from .state import STATE_DIR, RunState, StateFile, own_state

POLL_S = 0.5

OnWait = Callable[[RunState], None]
"""Called again and again with the run that is waited for."""


@contextmanager
def admission(folder: Path = STATE_DIR) -> Iterator[None]:
    """Look for other runs and write one's own state file with nobody else doing so.

    The kernel gives the lock back when its holder dies.

    Raises:
        HostError: The lock's file cannot be opened.
    """
    path = folder / "admission.lock"
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        remedy = "; run as root" if isinstance(error, PermissionError) else ""
        raise HostError(f"{path}: cannot be opened ({error.strerror}){remedy}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


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
                cleanup.remove_dead_runs(folder)
                return StateFile(mine, folder)
        except cleanup.OtherRunError as error:
            if on_wait is None:
                raise HostError(f"{error.message}; --wait waits for it") from error
            on_wait(error.other)
        time.sleep(POLL_S)
