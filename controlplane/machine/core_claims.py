"""Cores that processes of this user have for themselves, so that no two guests share one.

Guests are faster on a core of their own. A claim is a lock on a file: the kernel gives it back when
the process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

from .guest_scratch import guests_folder, make_private

_held: dict[int, int] = {}
"""Thread of this process -> the core that it has claimed, which it keeps to the process's end."""


def claim_core(folder: Path | None = None) -> int | None:
    """The core of this thread: the one that it has, or one that nobody has claimed.

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
        file = os.open(folder / f"core-{core}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            continue
        _held[me] = core
        return core
    return None
