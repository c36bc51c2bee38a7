"""Examiners of telemetry: what a trial's postcards prove, in bounded memory.

Each takes in one batch after the other in `examine`, and keeps what a gate judges.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..contract.link import Departures, ShapedDepartures
from ..store.postcards import PostcardBatch
from ..store.raw_files import Ints
from .streams import FlowStreams

Batch = TypeVar("Batch", contravariant=True)  # noqa: PLC0105 - as it is called
NS = 10**9
EXACT_NS = 1
"""The nanosecond that a carried remainder may add to a scheduled departure."""


class Examiner(Protocol[Batch]):
    """Gathers what records prove on their way to a trial's table."""

    def examine(self, batch: Batch) -> None:
        """Take in the next batch, and leave it as it is."""


class Sightings(Protocol):
    """What postcards and bins have in common: columns of the same length."""

    @property
    def flow(self) -> Ints:
        """The lane's own flow number, from 0."""

    @property
    def seen_ns(self) -> Ints:
        """When it was seen at the bottleneck, after t0."""

    @property
    def delay_ns(self) -> NDArray[np.float64]:
        """Mean queueing delay of the packets that left; undefined without any."""

    @property
    def departures(self) -> NDArray[Any]:
        """How many packets left."""


class FlowTotals:
    """Packets and bytes of each flow, departed and dropped, and marked of those that departed."""

    def __init__(self, flows: int) -> None:
        self.departed_packets = np.zeros(flows, np.int64)
        self.departed_bytes = np.zeros(flows, np.int64)
        self.dropped_packets = np.zeros(flows, np.int64)
        self.dropped_bytes = np.zeros(flows, np.int64)
        self.marked_packets = np.zeros(flows, np.int64)
        self.marked_bytes = np.zeros(flows, np.int64)

    def examine(self, batch: PostcardBatch) -> None:
        """Take a batch in."""
        for mask, packets, size in (
            (~batch.dropped, self.departed_packets, self.departed_bytes),
            (batch.dropped, self.dropped_packets, self.dropped_bytes),
            (batch.marked, self.marked_packets, self.marked_bytes),
        ):
            np.add.at(packets, batch.flow[mask], 1)
            np.add.at(size, batch.flow[mask], batch.packet_bytes[mask])


class SequenceGaps:
    """Missing numbers in the sequence of postcards (32 bits, wrapping)."""

    def __init__(self) -> None:
        self.missing = 0
        self._last: int | None = None

    def examine(self, batch: PostcardBatch) -> None:
        """Take a batch in."""
        if len(batch.seq) == 0:
            return
        first = batch.seq[0] - 1 if self._last is None else self._last
        steps = np.diff(batch.seq, prepend=first) & 0xFFFFFFFF
        self.missing += int(np.sum(steps - 1))
        self._last = int(batch.seq[-1])


class QueueDepth:
    """Whether the queue that each packet met which entered it is what postcards say was in it.

    First in, first out: a packet meets those that came before it and have not yet left, or been
    dropped after all.

    Args:
        tolerance_bytes: How far the two may be apart; None: that is not judged.
    """

    def __init__(self, tolerance_bytes: int | None = 0) -> None:
        self._tolerance = np.inf if tolerance_bytes is None else tolerance_bytes
        self.checked = 0
        self.wrong = 0
        self._before_bytes = 0
        self._forgotten_bytes = 0
        self._times: Ints = np.empty(0, np.int64)
        self._through: Ints = np.empty(0, np.int64)

    def examine(self, batch: PostcardBatch) -> None:
        """Take a batch in."""
        entered = _entered(batch)
        self.see(
            batch.enqueue_ns[entered],
            batch.dequeue_ns[entered],
            batch.packet_bytes[entered],
            batch.queue_bytes[entered],
        )

    def see(self, enqueue: Ints, gone: Ints, size: Ints, told: Ints) -> None:
        """Take packets in that entered the queue, in their order.

        Args:
            enqueue: When each of them came.
            gone: From when on it counts no more.
            told: What its postcard says was in the queue.
        """
        if len(enqueue) == 0:
            return
        through = self._before_bytes + np.cumsum(size)
        times = np.concatenate((self._times, gone))
        sums = np.concatenate((self._through, through))
        before = np.searchsorted(times, enqueue, side="right")
        left = np.where(before > 0, sums[before - 1], self._forgotten_bytes)
        # What begins to be sent as it comes has not left before itself.
        left = np.where(gone > enqueue, left, np.minimum(left, through - size))
        depth = (through - size) - left
        self.checked += len(enqueue)
        off = np.abs(depth - told)
        self.wrong += int(np.count_nonzero(off > self._tolerance))
        self._keep(times, sums, int(enqueue[-1]))
        self._before_bytes = int(through[-1])

    def _keep(self, times: Ints, sums: Ints, now_ns: int) -> None:
        """Remember only departures that a later arrival may still have to wait for."""
        first = int(np.searchsorted(times, now_ns, side="right"))
        if first > 0:
            self._forgotten_bytes = int(sums[first - 1])
        self._times, self._through = times[first:], sums[first:]


def _entered(batch: PostcardBatch) -> NDArray[np.bool_]:
    """Which packets were in the queue: they left, or were dropped after all."""
    entered: NDArray[np.bool_] = ~batch.dropped | (batch.dequeue_ns > batch.enqueue_ns)
    return entered


class MemoryDepth:
    """Whether the memory that each packet met is what postcards say was in all queues.

    A packet of one queue leaves long after one of another queue that came later, so that what was
    in the memory at a time is known when all that came before has left. Until then postcards are
    kept, of which there may be so many; a queue that is starved for longer makes the verdict void.
    Packets that came in the same nanosecond came in the order of what they met.

    Args:
        tolerance_bytes: How far the two may be apart.
        rows: Postcards that are kept.
    """

    def __init__(self, tolerance_bytes: int, rows: int = 1 << 20) -> None:
        self._tolerance = tolerance_bytes
        self._most = rows
        self._checked = 0
        self._wrong = 0
        self._is_void = False
        self._judged_ns = int(np.iinfo(np.int64).min)
        self._kept: list[NDArray[np.int64]] = []

    @property
    def checked(self) -> int:
        """Packets that were judged."""
        self._judge(None)
        return 0 if self._is_void else self._checked

    @property
    def wrong(self) -> int:
        """Those that met another memory than postcards add up to."""
        self._judge(None)
        return 0 if self._is_void else self._wrong

    def examine(self, batch: PostcardBatch) -> None:
        """Take a batch in."""
        if self._is_void or batch.queue is None or len(batch.seq) == 0:
            return
        entered = _entered(batch)
        if np.any(entered & (batch.enqueue_ns <= self._judged_ns)):
            self._is_void = True
            self._kept = []
            return
        size = np.where(entered, batch.packet_bytes, 0)
        rows = (batch.enqueue_ns, batch.dequeue_ns, size, batch.queue_bytes)
        self._kept.append(np.stack(rows))
        if sum(part.shape[1] for part in self._kept) > self._most:
            # Of what is still in a queue nothing is known: half of the time is left to it.
            self._judge(int(np.median(batch.enqueue_ns)))

    def _judge(self, until_ns: int | None) -> None:
        """Judge what came until a time, and keep what came later or was still there then."""
        if not self._kept:
            return
        kept = np.concatenate(self._kept, axis=1)
        enqueue, dequeue, size, told = kept
        until = int(enqueue.max()) if until_ns is None else until_ns
        order = np.lexsort((size > 0, told, enqueue))
        came = np.cumsum(size[order]) - size[order]
        leaving = np.argsort(dequeue, kind="stable")
        gone = np.concatenate(([0], np.cumsum(size[leaving])))
        left = gone[np.searchsorted(dequeue[leaving], enqueue[order], side="right")]
        # What leaves a shaper as it comes has not left before itself.
        at_once = (size > 0) & (dequeue == enqueue)
        left = np.where(at_once[order], np.minimum(left, came), left)
        judged = (enqueue[order] > self._judged_ns) & (enqueue[order] <= until)
        off = np.abs(came - left - told[order]) > self._tolerance
        self._checked += int(np.count_nonzero(judged))
        self._wrong += int(np.count_nonzero(off & judged))
        self._judged_ns = max(self._judged_ns, until)
        self._kept = [kept[:, (enqueue > until) | ((size > 0) & (dequeue > until))]]


class SeveralDepths:
    """What each packet met in its own of several queues, and in all of them together.

    Within a queue packets are served first in, first out, unless its discipline lets them overtake
    each other; then neither that queue nor all together can be judged.

    Args:
        tolerance_bytes: As for QueueDepth.
        in_order: Of each queue, whether no packet overtakes another there.
        counts_sent: Whether what is being sent counts in its own queue.
    """

    def __init__(
        self, tolerance_bytes: int | None, in_order: Sequence[bool], *, counts_sent: bool
    ) -> None:
        self._own = [QueueDepth(tolerance_bytes if each else None) for each in in_order]
        judged = tolerance_bytes is not None and all(in_order)
        self._together = MemoryDepth(tolerance_bytes or 0) if judged else None
        self._counts_sent = counts_sent
        self._free_ns = int(np.iinfo(np.int64).min)

    @property
    def checked(self) -> int:
        """Packets whose own queue was looked at."""
        return sum(own.checked for own in self._own)

    @property
    def wrong(self) -> int:
        """How often a packet met another queue, or other queues, than postcards add up to."""
        together = 0 if self._together is None else self._together.wrong
        return sum(own.wrong for own in self._own) + together

    def examine(self, batch: PostcardBatch) -> None:
        """Take a batch in."""
        if batch.queue is None or batch.own_queue_bytes is None or len(batch.seq) == 0:
            return
        gone = batch.dequeue_ns if self._counts_sent else self._begun(batch)
        entered = _entered(batch)
        for index, own in enumerate(self._own):
            its = entered & (batch.queue == index)
            own.see(
                batch.enqueue_ns[its],
                gone[its],
                batch.packet_bytes[its],
                batch.own_queue_bytes[its],
            )
        if self._together is not None:
            self._together.examine(batch)

    def _begun(self, batch: PostcardBatch) -> Ints:
        """When each packet's first bit left: at its arrival, or when the link became free."""
        out = np.flatnonzero(~batch.dropped)
        gone = batch.dequeue_ns.copy()
        if len(out):
            free = np.concatenate(([self._free_ns], batch.dequeue_ns[out[:-1]]))
            gone[out] = np.maximum(batch.enqueue_ns[out], free)
            self._free_ns = int(batch.dequeue_ns[out[-1]])
        return gone


class Edges:
    """Which flows competed in the first and in the last part of the window.

    A flow competes when a packet of it reaches the bottleneck, and while it has data to send.
    """

    def __init__(self, flows: int, window_ns: tuple[int, int], share: float) -> None:
        begin, end = window_ns
        part = int((end - begin) * share)
        self.parts = ((begin, begin + part), (end - part, end))
        self.first: NDArray[np.bool_] = np.zeros(flows, np.bool_)
        self.last: NDArray[np.bool_] = np.zeros(flows, np.bool_)

    def examine(self, batch: Sightings) -> None:
        """Take a batch in."""
        self.see(batch.flow, batch.seen_ns)

    def see(self, flow: Ints, times_ns: Ints) -> None:
        """Take sightings of flows in: numbers and times relative to t0, of equal length."""
        for (begin, end), seen in zip(self.parts, (self.first, self.last), strict=True):
            seen[flow[(times_ns >= begin) & (times_ns <= end)]] = True


class SinkSightings:
    """An examiner of goodput: its flows were seen in every interval in which their sink read."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges

    def examine(self, batch: NDArray[Any]) -> None:
        """Take records of GOODPUT in."""
        read = batch[batch["bytes"] > 0]
        self._edges.see(read["flow"].astype(np.int64), read["t_ns"])


class SinkTotals:
    """An examiner of goodput: what the sink of each flow read in the window, in bytes.

    Args:
        window_ns: The window (from, to), after t0; an interval counts where it ends.
    """

    def __init__(self, flows: int, window_ns: tuple[int, int]) -> None:
        self._begin_ns, self._end_ns = window_ns
        self.bytes = np.zeros(flows, np.int64)

    def examine(self, batch: NDArray[Any]) -> None:
        """Take records of GOODPUT in."""
        inside = batch[(batch["t_ns"] > self._begin_ns) & (batch["t_ns"] <= self._end_ns)]
        np.add.at(self.bytes, inside["flow"], inside["bytes"].astype(np.int64))


class SocketSightings:
    """An examiner of TCP_INFO: a flow competes while its socket has data to send, though silent."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges

    def examine(self, batch: NDArray[Any]) -> None:
        """Take records of FLOW_SAMPLE in, with times after t0."""
        waiting = batch[(batch["unacked"] > 0) | (batch["notsent_bytes"] > 0)]
        self._edges.see(waiting["flow"].astype(np.int64), waiting["t_ns"])


class LinkBusy:
    """Whether every departure is when the link, never idle with a queue, is done with it.

    departure = max(arrival, previous departure) + bits / rate, unless the link changes or is a
    token-bucket shaper. Where departures are scheduled that holds from each one to the next. Where
    they are seen, one that is late says nothing about those behind it: all are compared with the
    schedule that the arrivals make.

    Args:
        slot_bytes: Length that every packet counts with; 0: its own.
        tolerance_ns: How far a departure may be off; EXACT_NS where it is scheduled.
        departures: What reckons departures one after the other, of which none may be off at all;
            None: the link has the applied rate all the time.
    """

    def __init__(
        self,
        rate_bps: int,
        overhead_bytes: int,
        slot_bytes: int = 0,
        tolerance_ns: int = EXACT_NS,
        departures: Departures | ShapedDepartures | None = None,
    ) -> None:
        self._rate = rate_bps
        self._overhead = overhead_bytes
        self._slot = slot_bytes
        self._tolerance_ns = tolerance_ns
        self._due = self._after_previous if self.is_exact else self._by_schedule
        self._last: int | None = None
        self._departures = departures
        self.checked = 0
        self.wrong = 0
        self.worst_ns = 0

    @property
    def is_exact(self) -> bool:
        """Whether departures are scheduled times."""
        return self._tolerance_ns <= EXACT_NS

    def examine(self, batch: PostcardBatch) -> None:
        """Take a batch in."""
        out = ~batch.dropped
        enqueue, dequeue = batch.enqueue_ns[out], batch.dequeue_ns[out]
        if len(dequeue) == 0:
            return
        length = np.full(len(dequeue), self._slot) if self._slot else batch.packet_bytes[out]
        if self._departures is not None:
            bits = (length + self._overhead) * 8
            deviation = dequeue - self._one_by_one(self._departures, enqueue, bits)
            wrong = deviation != 0
        else:
            takes = (length + self._overhead) * 8 * NS // self._rate
            deviation = dequeue - self._due(enqueue, dequeue, takes)
            wrong = (deviation < EXACT_NS - self._tolerance_ns) | (deviation > self._tolerance_ns)
        self.checked += len(dequeue)
        self.wrong += int(np.count_nonzero(wrong))
        self.worst_ns = max(self.worst_ns, int(np.max(np.abs(deviation))))

    @staticmethod
    def _one_by_one(departures: Departures | ShapedDepartures, enqueue: Ints, bits: Ints) -> Ints:
        pairs = zip(enqueue.tolist(), bits.tolist(), strict=True)
        return np.fromiter((departures.leave(*each) for each in pairs), np.int64, len(bits))

    def _after_previous(self, enqueue: Ints, dequeue: Ints, takes: Ints) -> Ints:
        first = int(enqueue[0]) if self._last is None else self._last
        previous = np.concatenate(([first], dequeue[:-1]))
        self._last = int(dequeue[-1])
        due: Ints = np.maximum(enqueue, previous) + takes
        return due

    def _by_schedule(self, enqueue: Ints, dequeue: Ints, takes: Ints) -> Ints:
        """due[i] = max(enqueue[i], due[i-1]) + takes[i], written without a loop."""
        through = np.cumsum(takes)
        begun = enqueue - (through - takes)
        if self._last is not None:
            begun[0] = max(int(begun[0]), self._last)
        due: Ints = np.maximum.accumulate(begun) + through
        self._last = int(due[-1])
        return due


@dataclass(frozen=True)
class PostcardEvidence:
    """Everything that all postcards of a trial prove: one examiner each.

    Attributes:
        link: Whether the link worked whenever it had something to send.
        depth: Whether the queue was what the postcards add up to.
    """

    totals: FlowTotals
    gaps: SequenceGaps
    link: LinkBusy
    depth: QueueDepth | SeveralDepths
    streams: FlowStreams

    @classmethod
    def empty(
        cls,
        round_trips_ns: Sequence[int],
        window_ns: tuple[int, int],
        link: LinkBusy,
        depth: QueueDepth | SeveralDepths,
    ) -> Self:
        """The evidence before any postcard was read.

        Args:
            round_trips_ns: Base RTT of each flow, and what its hosts may take by the scenario.
            window_ns: The measured window (from, to), after t0.
            link: The link at the applied rate, with the target's tolerance.
        """
        totals, streams = FlowTotals(len(round_trips_ns)), FlowStreams(round_trips_ns, window_ns)
        return cls(totals, SequenceGaps(), link, depth, streams)

    def __iter__(self) -> Iterator[Examiner[PostcardBatch]]:
        """Every examiner."""
        return iter(vars(self).values())
