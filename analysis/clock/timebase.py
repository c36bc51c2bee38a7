"""Times that know their clock: those of different clocks cannot be subtracted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from nashbed.controlplane.store.errors import RunError
from numpy.typing import NDArray

from ..captures import Times

LONGEST_S = 100 * 86400
"""Picoseconds of 106 days fill 64 bits."""


class ClockError(RunError):
    """Times cannot be compared, or a clock is not one."""


@dataclass(frozen=True)
class TimeBase:
    """A clock.

    Attributes:
        name: Whose clock, such as a capture's path; equal names are one clock.
    """

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Instants:
    """Times of n packets on one clock.

    Attributes:
        origin_s: The second that picoseconds are counted from.
        ps: Picoseconds since then, shape (n,).
    """

    base: TimeBase
    origin_s: int
    ps: NDArray[np.int64]

    @classmethod
    def of(cls, base: TimeBase, *chunks: Times) -> Instants:
        """Times of a capture, counted from the second of its first packet.

        Raises:
            ClockError: They are too far apart to be of one capture.
        """
        some = [times for times in chunks if len(times)]
        origin = int(some[0].seconds[0]) if some else 0
        for times in some:
            if int(np.abs(times.seconds - origin).max()) > LONGEST_S:
                raise ClockError(f"{base}: its times are more than 100 days apart")
        parts = [times.picoseconds(origin) for times in some]
        return cls(base, origin, np.concatenate(parts) if parts else np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.ps)

    def take(self, which: Any) -> Instants:
        """Some of them: an index, a mask or a slice of numpy."""
        return Instants(self.base, self.origin_s, self.ps[which])

    def __sub__(self, other: Instants) -> NDArray[np.int64]:
        """Differences in picoseconds, shape (n,).

        Raises:
            ClockError: They are of two clocks.
        """
        if self.base != other.base:
            raise ClockError(
                f"times of {self.base} and {other.base} cannot be subtracted: the two clocks "
                "were not aligned"
            )
        return self.ps - other.ps + (self.origin_s - other.origin_s) * 10**12

    def check_monotonic(self) -> None:
        """Make sure that the clock never ran backwards.

        Raises:
            ClockError: It did.
        """
        steps = np.diff(self.ps)
        back = np.flatnonzero(steps < 0)
        if len(back):
            n = int(back[0])
            raise ClockError(
                f"{self.base}: its clock ran backwards by {-int(steps[n])} ps before packet {n + 2}"
                f", and {len(back)} times in all; was it stepped during the capture?"
            )
