"""The clock that a trial goes by: this machine's, or that of a guest; and waiting by it."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar


class Clock(ABC):
    """CLOCK_MONOTONIC as the hosts of a session see it."""

    @abstractmethod
    def now_ns(self) -> int:
        """The time in nanoseconds."""

    @abstractmethod
    def sleep(self, seconds: float) -> None:
        """Let time pass."""


class SystemClock(Clock):
    """This machine's CLOCK_MONOTONIC."""

    def now_ns(self) -> int:
        """The time in nanoseconds."""
        return time.monotonic_ns()

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


SYSTEM_CLOCK = SystemClock()
"""For everything that concerns this machine itself."""


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
        failure: Makes the exception that is raised at the deadline.
    """
    deadline_ns = clock.now_ns() + int(timeout_s * 1e9)
    while True:
        value = probe()
        if value is not None:
            return value
        if clock.now_ns() >= deadline_ns:
            raise failure()
        clock.sleep(interval_s)


def utc_now() -> str:
    """Wall-clock time (ISO 8601, UTC), for records."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
