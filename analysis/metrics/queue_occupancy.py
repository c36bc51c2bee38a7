"""Bytes of each flow in the queue: exactly at any instant, and as means over time bins.

A packet is in the queue from its enqueue time (included) to its dequeue time (excluded); a
dropped packet never is. Both rebuilds take postcards in any order, chunk by chunk: each
packet is two steps (+size, -size) put into a difference array, and one running sum at the
end gives the occupancy. Memory is that of the result, whatever the number of postcards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from nashbed.controlplane.contract.records import KIND_DROPPED
from numpy.typing import NDArray

from ..align.data import TrialData
from .registry import Metric, register

Arrays = dict[str, NDArray[Any]]
COLUMNS = ("kind", "flow", "packet_bytes", "enqueue_ns", "dequeue_ns")


@dataclass(frozen=True)
class TimeBins:
    """Equal time bins.

    Attributes:
        start_ns: Start of the first bin.
        length_ns: Length of a bin.
        count: Number of bins B.
    """

    start_ns: int
    length_ns: int
    count: int

    @property
    def end_ns(self) -> int:
        """End of the last bin."""
        return self.start_ns + self.length_ns * self.count

    @property
    def middles_ns(self) -> NDArray[np.float64]:
        """Middle of each bin, shape (B,)."""
        middles: NDArray[np.float64] = np.arange(self.count, dtype=np.float64) + 0.5
        return self.start_ns + self.length_ns * middles

    @classmethod
    def cover(cls, start_ns: int, end_ns: int, length_ns: int) -> TimeBins:
        """The fewest bins of a length that cover [start, end)."""
        return cls(start_ns, length_ns, max(1, -(-(end_ns - start_ns) // length_ns)))


def occupancy_at(
    chunks: Iterable[Arrays], flows: int, instants_ns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Bytes of each flow in the queue at given instants, exactly.

    Args:
        chunks: Postcards in any order and chunking: the arrays of COLUMNS.
        flows: Number of flows F.
        instants_ns: The instants, increasing, shape (T,).

    Returns:
        Bytes, shape (F, T).
    """
    steps = np.zeros((flows, len(instants_ns) + 1), dtype=np.int64)
    for chunk in chunks:
        departed = _departed(chunk)
        size = departed["packet_bytes"].astype(np.int64)
        for column, sign in (("enqueue_ns", 1), ("dequeue_ns", -1)):
            # From the first instant at or after the step on, it has happened.
            index = np.searchsorted(instants_ns, departed[column], side="left")
            np.add.at(steps, (departed["flow"], index), sign * size)
    return np.cumsum(steps, axis=1)[:, :-1]


def occupancy_bins(chunks: Iterable[Arrays], flows: int, bins: TimeBins) -> NDArray[np.float64]:
    """Time-averaged bytes of each flow in the queue in each bin; the integral is exact.

    A step of `size` bytes at time t in bin i adds size x (end of bin i - t) to bin i and
    size x length to each later bin. The first goes into one array and the second, as a step,
    into another whose running sum is taken at the end. All sums are whole byte-nanoseconds.

    Args:
        chunks: Postcards in any order and chunking: the arrays of COLUMNS.
        flows: Number of flows F.
        bins: The time bins; parts of sojourn times outside them are left out.

    Returns:
        Mean bytes, shape (F, B): integral over the bin / bin length.
    """
    part = np.zeros((bins.count + 1, flows), dtype=np.int64)
    step = np.zeros((bins.count + 1, flows), dtype=np.int64)
    for chunk in chunks:
        departed = _departed(chunk)
        flow = departed["flow"].astype(np.int64)
        size = departed["packet_bytes"].astype(np.float64)
        _add_steps(part, step, bins, flow, departed["enqueue_ns"], size)
        _add_steps(part, step, bins, flow, departed["dequeue_ns"], -size)
    before = np.cumsum(step, axis=0)[:-1]
    before = np.vstack((np.zeros((1, flows), dtype=np.int64), before[:-1]))
    integral = before * bins.length_ns + part[:-1]
    return integral.T / bins.length_ns


def _add_steps(
    part: NDArray[np.int64],
    step: NDArray[np.int64],
    bins: TimeBins,
    flow: NDArray[np.int64],
    t_ns: NDArray[np.int64],
    size: NDArray[np.float64],
) -> None:
    """Add steps of `size` bytes at `t_ns` to the two difference arrays, both (B + 1, F).

    Postcards are written nearly in time order, so a chunk touches few bins: only their rows
    are counted and added.
    """
    if len(t_ns) == 0:
        return
    since = np.clip(t_ns, bins.start_ns, bins.end_ns) - bins.start_ns
    row = since // bins.length_ns
    first, last = int(row.min()), int(row.max())
    flows = part.shape[1]
    cell = (row - first) * flows + flow
    left = (row + 1) * bins.length_ns - since
    shape = (last + 1 - first, flows)
    # float64 sums of whole numbers: exact below 2^53 byte-ns, i.e. 9 PB-ns in one chunk and bin.
    counted = np.bincount(cell, weights=size * left, minlength=shape[0] * flows)
    part[first : last + 1] += counted.reshape(shape).astype(np.int64)
    counted = np.bincount(cell, weights=size, minlength=shape[0] * flows)
    step[first : last + 1] += counted.reshape(shape).astype(np.int64)


def _departed(chunk: Arrays) -> Arrays:
    """The postcards of packets that were in the queue."""
    stayed = chunk["kind"] != KIND_DROPPED
    if stayed.all():
        return chunk
    return {name: chunk[name][stayed] for name in COLUMNS}


def mean_occupancy(occupancy_byte_ns: NDArray[np.float64], length_ns: int) -> NDArray[np.float64]:
    """Mean bytes of each flow in the queue over a window.

    Args:
        occupancy_byte_ns: Integral of each flow's bytes over the window, shape (F,).
        length_ns: The window's length.

    Returns:
        Bytes, shape (F,).
    """
    return occupancy_byte_ns / length_ns


def _of_flows(trial: TrialData) -> NDArray[np.float64]:
    return mean_occupancy(trial.need_queue().occupancy_byte_ns, trial.length_ns)


METRIC = register(
    Metric(
        name="queue_occupancy",
        title="Mean queue occupancy per flow",
        unit="B",
        scope="flow",
        definition="The flow's bytes in the queue, averaged over the window's time.",
        source="b of Mishra, Tiu, Leong, IMC 2022",
        compute=_of_flows,
    )
)
