"""What a stream of postcards can be relied on for: which packets may still come, and whose.

Postcards are written nearly by the time at which packets left. A first pass finds, for each chunk,
the earliest arrival and the earliest departure of all chunks behind it: so a second pass knows what
is final, whatever the order, and holds back no more than it must.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from nashbed.controlplane.store.parquet import Arrays
from nashbed.controlplane.store.postcards import POSTCARDS
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

from .data import IntArray

QUEUE_COLUMNS = POSTCARDS.queues
"""Columns that only postcards of a bottleneck with several queues have."""
FIRST_COLUMNS = ("flow", "enqueue_ns", "dequeue_ns", "queue")
"""What a first pass reads."""
LAST = np.iinfo(np.int64).max


def several_queues(trial: SealedTrial) -> bool:
    """Whether the postcards of a trial say which queue their packets were in."""
    return trial.has("postcards") and "queue" in trial.lazy("postcards").collect_schema().names()


def has_queues(chunk: Arrays) -> bool:
    """Whether these postcards say which queue their packets were in."""
    return "queue" in chunk and bool(np.issubdtype(chunk["queue"].dtype, np.integer))


def queue_of(chunk: Arrays) -> NDArray[np.int64]:
    """The queue of each packet; 0 where there is only one."""
    if has_queues(chunk):
        return chunk["queue"].astype(np.int64)
    return np.zeros(len(chunk["flow"]), np.int64)


@dataclass(frozen=True)
class Outlook:
    """What is known of a trial's postcards before their second pass. C chunks, P parties.

    Attributes:
        arrival_ns: The earliest arrival in all chunks behind each, shape (C,).
        departure_ns: Likewise the earliest departure or drop, shape (C,).
        queue: Queue of each party, shape (P,): a party is a flow in a queue.
        flow: Flow of each party, shape (P,).
        packets: Packets of each party, shape (P,).
    """

    arrival_ns: IntArray
    departure_ns: IntArray
    queue: IntArray
    flow: IntArray
    packets: IntArray
    flows: int

    @property
    def queue_of_flow(self) -> IntArray:
        """The queue of most packets of each flow, shape (F,); -1 of one without any.

        Flows that are sorted by their DSCP may end elsewhere: a RST of no socket is sent without.
        """
        found = np.full(self.flows, -1)
        order = np.argsort(self.packets, kind="stable")
        found[self.flow[order]] = self.queue[order]
        return found

    @property
    def queues(self) -> int:
        """Number of queues up to the last one that had a packet; at least 1."""
        return int(self.queue.max(initial=0)) + 1

    def party_of(self, chunk: Arrays) -> IntArray:
        """The party of each packet of a chunk."""
        keys = self.queue * self.flows + self.flow
        found: IntArray = np.searchsorted(keys, queue_of(chunk) * self.flows + chunk["flow"])
        return found


def look_ahead(chunks: Iterable[Arrays], flows: int) -> Outlook:
    """Pass over postcards for the first time.

    Args:
        chunks: The arrays of FIRST_COLUMNS; the second pass must have the same chunks.
    """
    arrivals, departures = [], []
    packets = np.zeros(0, np.int64)
    for chunk in chunks:
        arrivals.append(chunk["enqueue_ns"].min(initial=LAST))
        departures.append(chunk["dequeue_ns"].min(initial=LAST))
        more = np.bincount(queue_of(chunk) * flows + chunk["flow"], minlength=len(packets))
        more[: len(packets)] += packets
        packets = more
    keys = np.flatnonzero(packets)
    return Outlook(
        arrival_ns=_behind(arrivals),
        departure_ns=_behind(departures),
        queue=keys // flows,
        flow=keys % flows,
        packets=packets[keys],
        flows=flows,
    )


def _behind(values: Sequence[int]) -> IntArray:
    """The least of all values behind each."""
    behind = np.append(np.array(values, np.int64)[1:], LAST)
    return np.minimum.accumulate(behind[::-1])[::-1]


def with_outlook(chunks: Iterable[Arrays], outlook: Outlook) -> Iterator[tuple[Arrays, int, int]]:
    """Each chunk with the earliest arrival and the earliest departure that are still to come."""
    ahead = zip(outlook.arrival_ns.tolist(), outlook.departure_ns.tolist(), strict=True)
    for chunk, (arrival_ns, departure_ns) in zip(chunks, ahead, strict=True):
        yield chunk, arrival_ns, departure_ns


def joined(first: Arrays | None, second: Arrays) -> Arrays:
    """Two chunks as one."""
    if first is None:
        return second
    return {name: np.concatenate((first[name], second[name])) for name in second}


def chosen(chunk: Arrays, which: NDArray[np.bool_]) -> Arrays:
    """Rows of a chunk."""
    return {name: column[which] for name, column in chunk.items()}


def are_all(trial: SealedTrial) -> bool:
    """Whether every packet of a trial has a postcard in its tables."""
    return trial.has("postcards") and trial.record.postcards == "all"
