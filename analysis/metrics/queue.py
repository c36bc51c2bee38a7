"""The queue: who holds how many bytes of it, and how long packets stay.

A packet is in the queue from its enqueue time (included) to its dequeue time (excluded). One that
is dropped at its arrival never is; one that a discipline drops later is until then. Both rebuilds
of the occupancy take postcards in any order, chunk by chunk: each packet is two steps (+size,
-size) put into a difference array, and one running sum at the end gives the occupancy. Memory is
that of the result, whatever the number of postcards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from nashbed.controlplane.contract.records import KIND_DROPPED
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..align.data import QueueTotals, TrialData
from ..align.totals import duration_percentile
from ..errors import NotMeasuredError
from .metric import Metric
from .statistics import least_squares
from .throughput import shares

Arrays = dict[str, NDArray[Any]]
COLUMNS = ("kind", "flow", "packet_bytes", "enqueue_ns", "dequeue_ns")


@dataclass(frozen=True)
class TimeBins:
    """Equal time bins."""

    start_ns: int
    length_ns: int
    count: int

    @property
    def end_ns(self) -> int:
        """End of the last bin."""
        return self.start_ns + self.length_ns * self.count

    @property
    def starts_ns(self) -> NDArray[np.int64]:
        """Beginning of each bin, shape (B,)."""
        return self.start_ns + self.length_ns * np.arange(self.count, dtype=np.int64)

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
        stayed = _stayed(chunk)
        size = stayed["packet_bytes"].astype(np.int64)
        for column, sign in (("enqueue_ns", 1), ("dequeue_ns", -1)):
            # From the first instant at or after the step on, it has happened.
            index = np.searchsorted(instants_ns, stayed[column], side="left")
            np.add.at(steps, (stayed["flow"], index), sign * size)
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
        stayed = _stayed(chunk)
        flow = stayed["flow"].astype(np.int64)
        size = stayed["packet_bytes"].astype(np.float64)
        add_steps(part, step, bins, flow, stayed["enqueue_ns"], size)
        add_steps(part, step, bins, flow, stayed["dequeue_ns"], -size)
    before = np.cumsum(step, axis=0)[:-1]
    before = np.vstack((np.zeros((1, flows), dtype=np.int64), before[:-1]))
    integral = before * bins.length_ns + part[:-1]
    return integral.T / bins.length_ns


def add_steps(
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

    Args:
        part: What each step adds to its own bin, in byte-nanoseconds.
        step: The bytes of the steps in each bin, which later bins have throughout.
        size: Bytes by which the queue grows.
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


def was_queued(chunk: Arrays) -> NDArray[np.bool_]:
    """Which packets were in the queue; one may be dropped out of it."""
    queued: NDArray[np.bool_] = chunk["kind"] != KIND_DROPPED
    return queued | (chunk["dequeue_ns"] > chunk["enqueue_ns"])


def _stayed(chunk: Arrays) -> Arrays:
    """The postcards of packets that were in the queue."""
    stayed = was_queued(chunk)
    if stayed.all():
        return chunk
    return {name: chunk[name][stayed] for name in COLUMNS}


def mean_occupancy(occupancy_byte_ns: NDArray[np.float64], length_ns: int) -> NDArray[np.float64]:
    """Mean bytes of each flow in the queue over a window.

    Args:
        occupancy_byte_ns: Integral of each flow's bytes over the window, shape (F,).

    Returns:
        Bytes, shape (F,).
    """
    return occupancy_byte_ns / length_ns


def _occupancy_of_flows(trial: TrialData) -> NDArray[np.float64]:
    return mean_occupancy(trial.need_queue().occupancy_byte_ns, trial.length_ns)


OCCUPANCY = Metric(
    name="queue_occupancy",
    title="Mean queue occupancy per flow",
    unit="B",
    scope="flow",
    definition="The flow's bytes in the queue, averaged over the window's time.",
    source="b of Mishra, Tiu, Leong, IMC 2022",
    compute=_occupancy_of_flows,
)


@dataclass(frozen=True)
class ShareLine:
    """A straight line through (occupancy share, throughput share) points.

    Attributes:
        slope: Throughput share gained for each unit of occupancy share.
        intercept: Throughput share at no occupancy.
        r2: Squared correlation coefficient.
        n: Number of points.
    """

    slope: float
    intercept: float
    r2: float
    n: int


def share_line(
    occupancy_share: NDArray[np.float64], throughput_share: NDArray[np.float64]
) -> ShareLine | None:
    """Least-squares line of throughput share on occupancy share (unit 1 each).

    Equation (5) of Mishra, Tiu, Leong (IMC 2022) says lambda = (lambda R + b) / (R + Q), so
    lambda Q = b: the shares are equal, whatever the flows' base RTTs are. That is Little's
    law with one waiting time for all; a flow whose packets meet a longer queue than average
    lies to the right of the identity line.

    Args:
        occupancy_share: Shares of the mean queue, shape (n,).
        throughput_share: Shares of the throughput of the same flows, shape (n,).

    Returns:
        The line; None with fewer than 3 points or all at one occupancy.
    """
    known = np.isfinite(occupancy_share) & np.isfinite(throughput_share)
    x, y = occupancy_share[known], throughput_share[known]
    if len(x) < 3 or np.ptp(x) == 0:
        return None
    return ShareLine(*least_squares(x, y), n=len(x))


def _share_of_trial(trial: TrialData) -> NDArray[np.float64]:
    return shares(trial.need_queue().occupancy_byte_ns)


OCCUPANCY_SHARE = Metric(
    name="occupancy_share",
    title="Share of the queue",
    unit="1",
    scope="flow",
    definition="The flow's mean bytes in the queue divided by those of all flows.",
    source="Mishra, Tiu, Leong, IMC 2022, equation (5)",
    compute=_share_of_trial,
)


def packet_mean_delay(delay_sum_ns: float, packets: float) -> float:
    """Packet-weighted mean sojourn time in seconds: the mean over the packets that left.

    A packet's sojourn time ends with its last bit's departure, so its own serialisation is in
    it (0.12 ms for 1514 B at 100 Mbit/s). Dropped packets have none.

    Args:
        delay_sum_ns: Sum of the sojourn times of the packets that left in the window.

    Returns:
        The mean in seconds, NaN without packets.
    """
    return delay_sum_ns / packets / NS_PER_S if packets > 0 else float("nan")


def time_mean_delay(backlog_byte_ns: float, length_ns: int, rate_bps: int) -> float:
    """Time-weighted mean delay in seconds: the mean backlog by the rate.

    It is what a packet arriving at a random instant would wait for (the packet in service is
    counted whole). Bursty arrivals make the packet-weighted mean larger than this one.

    Args:
        backlog_byte_ns: Integral of the queue's bytes, overhead counted, over the window.
    """
    return backlog_byte_ns / length_ns * 8 / rate_bps


def _packets(queue: QueueTotals) -> float:
    return float(queue.departed_packets.sum())


def _mean(trial: TrialData) -> float:
    queue = trial.need_queue()
    return packet_mean_delay(float(queue.delay_sum_ns.sum()), _packets(queue))


def _flow_mean(trial: TrialData) -> NDArray[np.float64]:
    queue = trial.need_queue()
    pairs = zip(queue.delay_sum_ns, queue.departed_packets, strict=True)
    return np.array([packet_mean_delay(float(total), float(n)) for total, n in pairs])


def _time_mean(trial: TrialData) -> float:
    queue = trial.need_queue()
    if trial.course is not None and trial.course.rate_varies:
        raise NotMeasuredError("the rate changes in mid-trial, and a backlog has no one delay")
    return time_mean_delay(queue.backlog_byte_ns, trial.length_ns, trial.rate_bps)


def _percentile(trial: TrialData, share: float) -> float:
    counts = trial.need_queue().delay_counts
    if counts is None:
        raise NotMeasuredError("percentiles need postcards; this trial has bins")
    return duration_percentile(counts, share) / NS_PER_S


MEAN_DELAY = Metric(
    name="mean_queueing_delay",
    title="Mean queueing delay",
    unit="s",
    scope="trial",
    definition="Mean sojourn time of the packets that left in the window "
    "(packet-weighted, own serialisation included).",
    source="Mishra, Tiu, Leong, IMC 2022, fig. 8",
    compute=_mean,
)
MEAN_DELAY_PER_FLOW = Metric(
    name="per_flow_queueing_delay",
    title="Mean queueing delay per flow",
    unit="s",
    scope="flow",
    definition="Mean sojourn time of the flow's packets that left in the window.",
    source="nashbed",
    compute=_flow_mean,
)
TIME_MEAN_DELAY = Metric(
    name="time_mean_queueing_delay",
    title="Mean queueing delay over time",
    unit="s",
    scope="trial",
    definition="Time-weighted mean bytes in the queue, with overhead, divided by the rate.",
    source="nashbed",
    compute=_time_mean,
)
DELAY_PERCENTILES = tuple(
    Metric(
        name=f"{name}_queueing_delay",
        title=f"{title} queueing delay",
        unit="s",
        scope="trial",
        definition=f"Sojourn time that {packets} of the packets do not exceed (within 0.05 %).",
        source="nashbed",
        compute=partial(_percentile, share=share),
    )
    for name, title, packets, share in (
        ("median", "Median", "half", 0.5),
        ("p95", "95th percentile of the", "95 %", 0.95),
        ("p99", "99th percentile of the", "99 %", 0.99),
    )
)
