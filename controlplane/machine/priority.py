"""Computing beside measurements: what is measured goes first."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

NICE = 10


@contextmanager
def lower_priority(nice: int = NICE) -> Iterator[None]:
    """Let the measuring trials go first while this thread computes.

    Only the calling thread is made nicer (on Linux a thread has its own), so that the flow
    generators started by others are not.
    """
    thread = threading.get_native_id()
    usual = os.getpriority(os.PRIO_PROCESS, thread)
    os.setpriority(os.PRIO_PROCESS, thread, min(19, usual + nice))
    try:
        yield
    finally:
        _restore_priority(thread, usual)


def _restore_priority(thread: int, usual: int) -> None:
    """Only root may become less nice again; without root nothing is measured anyway."""
    if os.geteuid() == 0:
        os.setpriority(os.PRIO_PROCESS, thread, usual)
