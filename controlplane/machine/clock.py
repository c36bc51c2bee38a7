"""The clock that a trial goes by: this machine's, or that of a virtual machine."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod


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
