"""Waiting by polling with a deadline, never by a fixed sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def poll(
    probe: Callable[[], T | None],
    timeout_s: float,
    failure: Callable[[], Exception],
    interval_s: float = 0.01,
) -> T:
    """Call probe until it returns something else than None.

    Args:
        probe: Returns None for "not yet"; may raise to give up.
        timeout_s: How long to try, in seconds.
        failure: Makes the exception that is raised at the deadline.
        interval_s: Pause between calls, in seconds.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        value = probe()
        if value is not None:
            return value
        if time.monotonic() >= deadline:
            raise failure()
        time.sleep(interval_s)
