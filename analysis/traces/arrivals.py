"""Postcards in the order of their arrivals, and which of them bring payload again."""

from collections.abc import Collection, Iterator

import numpy as np
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray

from .selection import Selection

QUARTER, HALF, WRAP = 1 << 30, 1 << 31, 1 << 32
_NEEDED = ("enqueue_ns", "tcp_seq", "payload_bytes")


def by_arrival(chosen: Selection, what: str) -> Iterator[Arrays]:
    """Stream all postcards of a trial in the order in which their packets arrived.

    The table has them as they left; no packet waits longer than the longest wait, so only as much
    is held back.

    Args:
        what: What they are read for, as the progress says it.
    """
    longest = _longest_wait_ns(chosen)
    held: Arrays | None = None
    for batch in chosen.postcards(what):
        joined = batch if held is None else _joined(held, batch)
        order = np.lexsort((joined["seq"], joined["enqueue_ns"]))
        joined = {name: column[order] for name, column in joined.items()}
        safe = int(batch["dequeue_ns"].max()) - longest
        count = int(np.searchsorted(joined["enqueue_ns"], safe))
        yield {name: column[:count] for name, column in joined.items()}
        held = {name: column[count:] for name, column in joined.items()}
    if held is not None:
        yield held


def _joined(first: Arrays, second: Arrays) -> Arrays:
    return {name: np.concatenate((first[name], second[name])) for name in first}


def _longest_wait_ns(chosen: Selection) -> int:
    columns = ("enqueue_ns", "dequeue_ns")
    waits = (
        int((batch["dequeue_ns"] - batch["enqueue_ns"]).max())
        for batch in chosen.postcards("longest wait", columns)
    )
    return max(waits, default=0)


class Retransmissions:
    """Tells which packets bring payload that their flow has brought before, dropped or not.

    Args:
        datagrams: Flows whose packets have no sequence numbers, and are sent once.
    """

    def __init__(self, datagrams: Collection[int] = ()) -> None:
        self._datagrams = datagrams
        self._reached: dict[int, int] = {}

    def among(self, cards: Arrays) -> NDArray[np.bool_]:
        """Say which are retransmissions.

        Args:
            cards: The next postcards in the order of arrival.
        """
        found = np.zeros(len(cards["flow"]), bool)
        for flow in set(np.unique(cards["flow"]).tolist()).difference(self._datagrams):
            rows = np.flatnonzero((cards["flow"] == flow) & (cards["payload_bytes"] > 0))
            if len(rows):
                found[rows] = self._of(flow, {name: cards[name][rows] for name in _NEEDED})
        return found

    def _of(self, flow: int, cards: Arrays) -> NDArray[np.bool_]:
        """Say it of one flow; sequence numbers are unwrapped from each to the next.

        Packets of one moment, a train, were sent in the order of their bytes; postcards cannot
        tell, for that of a dropped packet is written before those of the ones that wait.
        """
        numbers = cards["tcp_seq"].astype(np.int64)
        reached = self._reached.get(flow, int(numbers[0]) - QUARTER)
        steps = np.diff(numbers, prepend=reached % WRAP)
        begin = reached + np.cumsum((steps + HALF) % WRAP - HALF)
        order = np.lexsort((begin, cards["enqueue_ns"]))
        ends = (begin + cards["payload_bytes"])[order]
        before = np.maximum.accumulate(np.concatenate(([reached], ends)))
        self._reached[flow] = int(before[-1])
        again = np.zeros(len(begin), bool)
        again[order] = begin[order] < before[:-1]
        return again
