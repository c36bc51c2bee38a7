"""Waiting by polling with a deadline, never by a fixed sleep."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .clock import SYSTEM_CLOCK, Clock

T = TypeVar("T")


def poll(
    probe: Callable[[], T | None],
    timeout_s: float,
    failure: Callable[[], Exception],
    interval_s: float = 0.01,
    clock: Clock = SYSTEM_CLOCK,
) -> T:
    """Call probe until it returns something else than None.

    Args:
        probe: Returns None for "not yet"; may raise to give up.
        timeout_s: How long to try, in seconds.
        failure: Makes the exception that is raised at the deadline.
        interval_s: Pause between calls, in seconds.
        clock: The clock that all of this goes by.
    """
    deadline_ns = clock.now_ns() + int(timeout_s * 1e9)
    while True:
        value = probe()
        if value is not None:
            return value
        if clock.now_ns() >= deadline_ns:
            raise failure()
        clock.sleep(interval_s)
