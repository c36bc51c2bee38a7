"""Bursts that come to an empty queue beside others, streamed from postcards.

A burst is a train of packets (Jain and Routhier, IEEE JSAC 1986): it begins with a packet that
finds its own queue empty, and has all that arrive at this queue within one base RTT. For so long
no sender can have learnt of the burst's first loss, so that what is lost is for want of memory and
not of patience.
"""

from collections.abc import Iterable

import numpy as np
from nashbed.controlplane.contract.records import KIND_DROPPED, MARK_REASON
from nashbed.controlplane.contract.shared import DROP_REASONS
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray

from .arrived import LAST, Outlook, chosen, joined, queue_of
from .data import Bursts, IntArray

COLUMNS = (
    "kind", "flow", "packet_bytes", "queue_bytes", "enqueue_ns", "marks", "seq", "queue",
    "own_queue_bytes",
)  # fmt: skip
"""What is read of each postcard."""
EARLY = DROP_REASONS.index("early")


class BurstFinder:
    """Finds them among postcards that come nearly in the order of departures.

    Args:
        base_rtt_ns: Base RTT of each flow, shape (F,); a queue's is that of its nearest flow,
            of those that have most of their packets there.
        window_ns: Bursts that begin in [from, to) count.
    """

    def __init__(self, outlook: Outlook, base_rtt_ns: IntArray, window_ns: tuple[int, int]) -> None:
        self._window_ns = window_ns
        self._length_ns = [
            _nearest_ns(outlook, base_rtt_ns, queue) for queue in range(outlook.queues)
        ]
        self._held: list[Arrays | None] = [None] * outlook.queues
        self._free_ns = [0] * outlook.queues
        self._queue_of_flow = outlook.queue_of_flow
        self._found: list[NDArray[np.int64]] = []

    def add(self, chunk: Arrays, arrival_ns: int) -> None:
        """Add postcards.

        Args:
            chunk: The arrays of COLUMNS.
            arrival_ns: The earliest arrival in all later chunks.
        """
        size = chunk["packet_bytes"].astype(np.int64)
        reason = np.nan_to_num(chunk["marks"]).astype(np.int64) & MARK_REASON
        lost = (chunk["kind"] == KIND_DROPPED) & (reason != EARLY)
        own = chunk["own_queue_bytes"].astype(np.int64)
        cards = {
            "t_ns": chunk["enqueue_ns"],
            "size": size,
            "lost": np.where(lost, size, 0),
            "own": own,
            "others": chunk["queue_bytes"].astype(np.int64) - own,
            "seq": chunk["seq"].astype(np.int64),
        }
        queue = queue_of(chunk)
        for each, length_ns in enumerate(self._length_ns):
            mine = joined(self._held[each], chosen(cards, queue == each))
            # A burst is looked at when nothing can come to it any more.
            self._held[each] = self._take(each, mine, arrival_ns - length_ns)

    def bursts(self) -> Bursts:
        """What was found."""
        none: Iterable[NDArray[np.int64]] = self._found or [np.empty((0, 5), np.int64)]
        start_ns, queue, size, lost, others = np.concatenate(list(none)).T
        return Bursts(start_ns, queue, size, lost, others, self._queue_of_flow)

    def _take(self, queue: int, cards: Arrays, until_ns: int) -> Arrays:
        """Note the bursts that began before a time; returns the packets that are still needed."""
        cards = _in_order(cards)
        t_ns, length_ns = cards["t_ns"], self._length_ns[queue]
        empty = t_ns[cards["own"] == 0]
        starts = []
        while True:
            at = int(np.searchsorted(empty, self._free_ns[queue]))
            if at == len(empty) or empty[at] >= until_ns:
                break
            starts.append(int(empty[at]))
            self._free_ns[queue] = starts[-1] + length_ns
        self._note(queue, cards, np.array(starts, np.int64))
        needed = t_ns >= max(until_ns, self._free_ns[queue])
        return chosen(cards, needed)

    def _note(self, queue: int, cards: Arrays, starts: NDArray[np.int64]) -> None:
        low, high = self._window_ns
        starts = starts[(starts >= low) & (starts < high)]
        if not len(starts):
            return
        t_ns = cards["t_ns"]
        first = np.searchsorted(t_ns, starts)
        end = np.searchsorted(t_ns, starts + self._length_ns[queue])
        sums = {n: np.concatenate(([0], np.cumsum(cards[n]))) for n in ("size", "lost")}
        self._found.append(
            np.column_stack(
                (
                    starts,
                    np.full(len(starts), queue),
                    sums["size"][end] - sums["size"][first],
                    sums["lost"][end] - sums["lost"][first],
                    cards["others"][first],
                )
            )
        )


def _nearest_ns(outlook: Outlook, base_rtt_ns: IntArray, queue: int) -> int:
    """The least base RTT of the flows that have most of their packets in a queue, or any."""
    here = outlook.flow[outlook.queue == queue]
    mainly = here[outlook.queue_of_flow[here] == queue]
    return int(base_rtt_ns[mainly if len(mainly) else here].min(initial=LAST))


def _in_order(cards: Arrays) -> Arrays:
    """Packets in the order of arrival; of one nanosecond, of the bytes that they found."""
    order = np.lexsort((cards["seq"], cards["own"], cards["t_ns"]))
    return {name: column[order] for name, column in cards.items()}
