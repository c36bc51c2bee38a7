"""A trial on common axes: what every metric is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from nashbed.controlplane.contract.shared import CONSTANTS
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..errors import NotMeasuredError
from .course import PathCourse

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Goodput:
    """What the sinks read, on the common grid of intervals.

    Attributes:
        t_ns: Ends of the intervals, increasing, shape (K,).
        bytes: Payload bytes read in each interval, shape (F, K).
        interval_ns: Length of the first interval.
    """

    t_ns: IntArray
    bytes: FloatArray
    interval_ns: int


@dataclass(frozen=True)
class QueueTotals:
    """Sums over the measured window, from postcards (or from bins).

    Departures count when they leave in the window, arrivals and drops when they arrive in
    it, occupancy and backlog for the part of the sojourn time that lies in it.

    Attributes:
        arrived_packets: Packets that arrived, dropped ones included, shape (F,).
        arrived_bytes: Their bytes, shape (F,).
        dropped_packets: Packets dropped by the queue, shape (F,).
        dropped_bytes: Their bytes, shape (F,).
        departed_packets: Packets that left, shape (F,).
        departed_bytes: Their bytes, shape (F,).
        occupancy_byte_ns: Integral of the bytes in the queue, shape (F,).
        delay_sum_ns: Sum of the sojourn times of the packets that left, shape (F,).
        backlog_byte_ns: Integral of the bytes in the queue, overhead counted.
        busy_ns: Time in which the link was serialising.
        delay_counts: Histogram of the sojourn times (metrics.queueing_delay), None from bins.
        marked_packets: Packets that left with CE set by the queue, shape (F,); None where nothing
            can be marked.
        dropped_by_reason: The dropped packets by number of DROP_REASONS, shape (R, F); None where
            postcards do not say why.
        own_share_bytes: Bytes of the refused packets x the share of their own queue in what each
            found, shape (F,); None without several queues.
        met_bytes: Bytes of the refused packets that found any, shape (F,); None likewise.
        departed_bits: What left in each 10 ms from t0 on, on the wire, shape (K,); None where the
            path does not change.
    """

    arrived_packets: FloatArray
    arrived_bytes: FloatArray
    dropped_packets: FloatArray
    dropped_bytes: FloatArray
    departed_packets: FloatArray
    departed_bytes: FloatArray
    occupancy_byte_ns: FloatArray
    delay_sum_ns: FloatArray
    backlog_byte_ns: float
    busy_ns: float
    delay_counts: IntArray | None
    marked_packets: FloatArray | None
    dropped_by_reason: FloatArray | None = None
    own_share_bytes: FloatArray | None = None
    met_bytes: FloatArray | None = None
    departed_bits: FloatArray | None = None


@dataclass(frozen=True)
class FlowSamples:
    """TCP_INFO samples of all flows, sorted by flow and then time.

    Attributes:
        first: First row of each flow and, at the end, the number of rows, shape (F + 1,).
        columns: Column -> values, shape (rows,), by the names of contract.tables.
    """

    first: IntArray
    columns: dict[str, NDArray[Any]]

    def of_flow(self, flow: int, column: str) -> NDArray[Any]:
        """The values of one column of one flow, in time order."""
        return self.columns[column][self.first[flow] : self.first[flow + 1]]


@dataclass(frozen=True)
class Bursts:
    """The bursts that began in the measured window. n bursts.

    Attributes:
        start_ns: When the first packet arrived, shape (n,).
        queue: At which queue, shape (n,).
        bytes: Of all packets, dropped ones included, shape (n,).
        lost_bytes: Of those that the memory had no room for, shape (n,): a drop that the discipline
            decides is none.
        others_bytes: What all other queues held when the burst began, shape (n,).
        queue_of_flow: The queue of most packets of each flow, shape (F,); -1 without any.
    """

    start_ns: IntArray
    queue: IntArray
    bytes: IntArray
    lost_bytes: IntArray
    others_bytes: IntArray
    queue_of_flow: IntArray

    def of_queue(self, queue: int) -> Bursts:
        """Those of one queue."""
        mine = self.queue == queue
        columns = {n: v if n == "queue_of_flow" else v[mine] for n, v in vars(self).items()}
        return Bursts(**columns)


@dataclass(frozen=True)
class Transfers:
    """Finite transfers, in the order of their numbers. n transfers.

    Attributes:
        flow: Flow of each: its connection, shape (n,).
        arrival_ns: When each was to begin, shape (n,).
        start_ns: When it began, shape (n,); NaN: it did not.
        size_bytes: Its payload, shape (n,).
        completed_ns: When its last byte was at the sink, shape (n,); NaN: it was not completed.
    """

    flow: IntArray
    arrival_ns: IntArray
    start_ns: FloatArray
    size_bytes: IntArray
    completed_ns: FloatArray


@dataclass(frozen=True)
class Datagrams:
    """Paced media. n datagrams.

    Attributes:
        flow: Flow of each, shape (n,).
        sent_ns: When it was sent, shape (n,).
        arrived_ns: When it arrived, shape (n,); NaN: it was lost.
    """

    flow: IntArray
    sent_ns: IntArray
    arrived_ns: FloatArray


@dataclass(frozen=True)
class Segments:
    """What video players asked for, by flow and in the order of the segments. n segments.

    Attributes:
        flow: Flow of each, shape (n,).
        bitrate_bps: Its bitrate, shape (n,).
        requested_ns: When it was asked for, shape (n,).
        completed_ns: When it was there, shape (n,); NaN: it never was.
        buffer_ns: Video in the player's buffer then, shape (n,); NaN likewise.
    """

    flow: IntArray
    bitrate_bps: FloatArray
    requested_ns: IntArray
    completed_ns: FloatArray
    buffer_ns: FloatArray

    def take(self, which: NDArray[np.bool_]) -> Segments:
        """Some of them, shape (n,)."""
        return Segments(**{name: values[which] for name, values in vars(self).items()})

    def of_flow(self, flow: int) -> Segments:
        """Those of one flow."""
        return self.take(self.flow == flow)


@dataclass(frozen=True)
class TrialData:
    """One trial on common axes. F is its number of flows; times are ns after t0.

    Attributes:
        window_ns: The measured window (from, to).
        spans_ns: Where throughput is that of each strategy's own span, the length of the span of
            each flow's strategy and group, shape (F,); NaN where nothing arrived. Else None.
        rate_bps: Applied rate of the bottleneck.
        buffer_bytes: Applied limit of the queue.
        overhead_bytes: Bytes counted for each packet besides the frame.
        strategy: Applied CCA of each flow, length F.
        group: Flow group of each flow, shape (F,).
        base_rtt_ns: Base RTT of each flow, shape (F,).
        goodput: What the sinks read (None: not recorded).
        queue: Sums over the window (None: no telemetry was recorded).
        samples: TCP_INFO samples (None: not recorded).
        bursts: Bursts that came to one of several queues (None: there is one queue, or not every
            packet is known).
        mixed_groups: How many flow groups are part of the mix; they are the first ones.
        transfers: Finite transfers (None: there are none).
        datagrams: Paced media (None: there is none).
        segments: What video players asked for (None: there is no video).
        course: What its path does over time (None: nothing).
        always_sends: Which flows always have data to send to the queue, shape (F,) (None: all).
        reverse: Which flows' data takes the way of the others' acknowledgements, shape (F,) (None:
            no flow's).
    """

    window_ns: tuple[int, int]
    spans_ns: FloatArray | None
    rate_bps: int
    buffer_bytes: int
    overhead_bytes: int
    strategy: tuple[str, ...]
    group: IntArray
    base_rtt_ns: IntArray
    goodput: Goodput | None
    queue: QueueTotals | None
    samples: FlowSamples | None
    bursts: Bursts | None = None
    mixed_groups: int = CONSTANTS.groups_per_lane
    transfers: Transfers | None = None
    datagrams: Datagrams | None = None
    segments: Segments | None = None
    course: PathCourse | None = None
    always_sends: NDArray[np.bool_] | None = None
    reverse: NDArray[np.bool_] | None = None

    @property
    def flows(self) -> int:
        """Number of flows F."""
        return len(self.strategy)

    @property
    def mixed(self) -> NDArray[np.bool_]:
        """Which flows are part of the mix and not background, shape (F,)."""
        return self.group < self.mixed_groups

    @property
    def length_ns(self) -> int:
        """Length of the measured window."""
        return self.window_ns[1] - self.window_ns[0]

    def need_goodput(self) -> Goodput:
        """The sinks' bytes, or a NotMeasuredError that says what is missing."""
        if self.goodput is None:
            raise NotMeasuredError("the trial has no goodput table")
        return self.goodput

    def need_queue(self) -> QueueTotals:
        """The window's sums, or a NotMeasuredError that says what is missing."""
        if self.queue is None:
            raise NotMeasuredError("the trial has neither postcards nor bins")
        return self.queue

    def need_bursts(self) -> Bursts:
        """The bursts, or a NotMeasuredError that says what is missing."""
        if self.bursts is None:
            raise NotMeasuredError("bursts need several queues, and the postcards of all packets")
        return self.bursts

    @property
    def bulk(self) -> NDArray[np.bool_]:
        """Which flows always have data to send, shape (F,)."""
        return np.ones(self.flows, bool) if self.always_sends is None else self.always_sends

    def bulk_kinds(self) -> dict[tuple[int, str], NDArray[np.bool_]]:
        """Group and strategy -> which flows of these always have data to send, shape (F,)."""
        strategy, bulk = np.array(self.strategy), self.bulk
        kinds = dict.fromkeys(zip(self.group[bulk].tolist(), strategy[bulk].tolist(), strict=True))
        return {(g, s): bulk & (self.group == g) & (strategy == s) for g, s in kinds}

    def capacity_bits(self, edges_ns: IntArray) -> FloatArray:
        """What the link can carry between each two neighbouring times, shape (n - 1,)."""
        if self.course is not None:
            return self.course.capacity_bits(edges_ns)
        carried: FloatArray = np.diff(edges_ns) * (self.rate_bps / NS_PER_S)
        return carried

    @property
    def path_changes(self) -> bool:
        """Whether its path is not the same all the time: it changes, or follows a trace."""
        return self.course is not None

    def need_course(self) -> PathCourse:
        """What the path does over time, or a NotMeasuredError that says that it does nothing."""
        if self.course is None or not self.course.changes:
            raise NotMeasuredError("the path does not change in mid-trial")
        return self.course

    def need_transfers(self) -> Transfers:
        """The finite transfers, or a NotMeasuredError that says that there are none."""
        if self.transfers is None:
            raise NotMeasuredError("the trial has no finite transfers")
        return self.transfers

    def need_datagrams(self) -> Datagrams:
        """The datagrams, or a NotMeasuredError that says that there are none."""
        if self.datagrams is None:
            raise NotMeasuredError("the trial has no paced media")
        return self.datagrams

    def need_segments(self) -> Segments:
        """The segments of video, or a NotMeasuredError that says that there are none."""
        if self.segments is None:
            raise NotMeasuredError("the trial has no video")
        return self.segments

    def need_samples(self) -> FlowSamples:
        """The TCP_INFO samples, or a NotMeasuredError that says what is missing."""
        if self.samples is None:
            raise NotMeasuredError("the trial has no flow_samples table")
        return self.samples
