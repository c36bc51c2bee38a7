"""The queue over time: mean bytes in it in bins, from postcards or from the table of bins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from nashbed.controlplane.contract.records import KIND_DROPPED
from nashbed.controlplane.store.parquet import Arrays
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

BIN_NS = 1_000_000
"""Length of the bins that postcards are added up in."""


class QueueCourse(NamedTuple):
    """Mean bytes in the queue, of all flows.

    Attributes:
        begin_ns: Beginning of each bin after t0; shape (n,).
        mean_bytes: Shape (n,).
    """

    begin_ns: NDArray[np.int64]
    mean_bytes: NDArray[np.float64]


class QueueBins:
    """Adds postcards up, exactly: each packet counts from its arrival until its last bit left.

    Args:
        first_ns: No packet arrives before this time.
    """

    def __init__(self, first_ns: int) -> None:
        self._first = first_ns // BIN_NS
        self._bins = 0
        self._slope = np.zeros(0, np.int64)
        self._part = np.zeros(0, np.int64)

    def add(self, cards: Arrays) -> None:
        """Add the packets of a batch that left."""
        left = cards["kind"] != KIND_DROPPED
        size = cards["packet_bytes"][left].astype(np.int64)
        self._step(cards["enqueue_ns"][left], size)
        self._step(cards["dequeue_ns"][left], -size)

    def course(self) -> QueueCourse:
        """What has been added."""
        slope, part = self._slope[: self._bins], self._part[: self._bins]
        begin = (self._first + np.arange(self._bins, dtype=np.int64)) * BIN_NS
        return QueueCourse(begin, np.cumsum(slope) - slope + part / BIN_NS)

    def _step(self, t_ns: NDArray[np.int64], size: NDArray[np.int64]) -> None:
        """The queue changes by these sizes at these times, until the end of all bins."""
        if not len(t_ns):
            return
        number = t_ns // BIN_NS - self._first
        rest = (number + self._first + 1) * BIN_NS - t_ns
        self._bins = max(self._bins, int(number.max()) + 1)
        self._grow()
        np.add.at(self._slope, number, size)
        np.add.at(self._part, number, size * rest)

    def _grow(self) -> None:
        missing = self._bins - len(self._slope)
        if missing > 0:
            missing = max(missing, len(self._slope))
            self._slope = np.concatenate((self._slope, np.zeros(missing, np.int64)))
            self._part = np.concatenate((self._part, np.zeros(missing, np.int64)))


def course_of_bins(trial: SealedTrial) -> QueueCourse:
    """The queue of a trial that kept bins: the sum over its flows."""
    table = trial.arrays("bins", ["bin_start_ns", "occupancy_bytes_mean"])
    begin, at = np.unique(table["bin_start_ns"], return_inverse=True)
    mean = np.bincount(at, table["occupancy_bytes_mean"], len(begin))
    return QueueCourse(begin, mean.astype(np.float64))
