"""What a trial's path does over time: its changes, and what the link can carry meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray


@dataclass(frozen=True)
class PathChange:
    """A change of the path.

    Attributes:
        at_ns: When, after t0.
        text: What changes, in words.
        rate_bps: Rate from here on; 0: the link is down.
        before_bps: Rate until here.
    """

    at_ns: int
    text: str
    rate_bps: int
    before_bps: int

    @property
    def raises_rate(self) -> bool:
        """Whether there is more capacity from here on."""
        return self.rate_bps > self.before_bps


@dataclass(frozen=True)
class PathCourse:
    """A path over the time of a trial.

    Attributes:
        rate_bps: Applied rate at t0.
        changes: Its changes, in the order of time.
        t_ns: Times at which `bits` is known, increasing, shape (n,).
        bits: What the link can have carried from the first of them on, shape (n,); in between it
            carries evenly.
    """

    rate_bps: int
    changes: tuple[PathChange, ...]
    t_ns: NDArray[np.int64]
    bits: NDArray[np.float64]

    def capacity_bits(self, edges_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """What the link can carry between each two neighbouring times, shape (n - 1,)."""
        carried: NDArray[np.float64] = np.diff(np.interp(edges_ns, self.t_ns, self.bits))
        return carried

    def segments(self, end_ns: int) -> list[tuple[PathChange, int]]:
        """Each change before an end, and when the next one comes or the end.

        Args:
            end_ns: The end, after t0.
        """
        known = [change for change in self.changes if change.at_ns < end_ns]
        ends = [change.at_ns for change in known[1:]] + [end_ns]
        return list(zip(known, ends, strict=True)) if known else []


def steps(rate_bps: int, changes: Sequence[PathChange], end_ns: int) -> PathCourse:
    """A path whose rate is constant between its changes.

    Args:
        rate_bps: Rate at t0.
        changes: The changes, in the order of time.
        end_ns: Until when it is known, at least.
    """
    times = np.array([0, *(c.at_ns for c in changes), max([end_ns, *(c.at_ns for c in changes)])])
    rates = np.array([rate_bps, *(c.rate_bps for c in changes)], dtype=np.float64)
    bits = np.concatenate(([0.0], np.cumsum(rates * np.diff(times) / NS_PER_S)))
    return PathCourse(rate_bps, tuple(changes), times.astype(np.int64), bits)
