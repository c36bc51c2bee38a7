"""Who held the queue when a packet was dropped: exact, streamed, of every drop.

ConQuest (Chen et al., CoNEXT 2019) asks a switch which flows hold its queue when a packet meets a
long one, and answers from sketches. Every packet's postcard answers it exactly: a packet is in the
queue from its arrival (included) to its departure or drop (excluded), so a drop at time t met those
that arrived up to t and left after t.

Packets of one nanosecond are told apart by the bytes that they found: one that was refused met
those of its own nanosecond that had found fewer. A packet that is dropped out of the queue met all
that arrived up to that nanosecond, and is not its own holder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from nashbed.controlplane.contract.records import KIND_DROPPED, MARK_REASON
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray

from ..align.arrived import LAST, Outlook, chosen, joined, with_outlook
from ..align.data import IntArray
from ..metrics.queue import was_queued

COLUMNS = (
    "kind", "flow", "packet_bytes", "queue_bytes", "enqueue_ns", "dequeue_ns", "marks",
)  # fmt: skip
"""What is read of each postcard, and the queue's columns where there are several queues."""
ANY_BYTES = 1 << 32
"""More than any queue holds: the place of a late drop among those of its nanosecond."""
MOST_CELLS = 1 << 22
"""Drops x parties that are worked on at a time: 32 MB."""


@dataclass(frozen=True)
class Drops:
    """Drops, in the order of their times, and who held the queue at each. n drops, P parties.

    Attributes:
        t_ns: When the packet was dropped, shape (n,).
        arrived_ns: When it had arrived, shape (n,).
        party: Whose it was, shape (n,).
        packet_bytes: Its size, shape (n,).
        reason: Why, by number of DROP_REASONS, shape (n,).
        queue_bytes: The bytes that it found at its arrival, shape (n,).
        held: Bytes that each party held at that moment, without this packet, shape (P, n).
    """

    t_ns: IntArray
    arrived_ns: IntArray
    party: IntArray
    packet_bytes: IntArray
    reason: IntArray
    queue_bytes: IntArray
    held: IntArray

    def __len__(self) -> int:
        """How many they are."""
        return len(self.t_ns)

    @property
    def refused(self) -> NDArray[np.bool_]:
        """Which were dropped at their arrival, shape (n,)."""
        refused: NDArray[np.bool_] = self.t_ns == self.arrived_ns
        return refused

    @property
    def unexplained(self) -> int:
        """Refused packets that found other bytes than all parties held: none, if all is exact."""
        return int(((self.held.sum(axis=0) != self.queue_bytes) & self.refused).sum())

    def part(self, which: NDArray[np.bool_] | IntArray) -> Drops:
        """Some of them, or all in another order."""
        columns = {name: values[..., which] for name, values in vars(self).items()}
        return Drops(**columns)


class HolderSearch:
    """Finds who held the queue at each drop, chunk by chunk.

    Memory is that of a chunk, and of what waits: of drops that packets yet to come may have met.

    Args:
        outlook: What a first pass over the same chunks found.
    """

    def __init__(self, outlook: Outlook) -> None:
        self._outlook = outlook
        self._waiting = _none(len(outlook.flow))
        self._late: Arrays | None = None

    def add(self, chunk: Arrays, arrival_ns: int, departure_ns: int) -> Drops:
        """Add postcards, which may be in any order: the more in that of departures, the less waits.

        Args:
            chunk: The arrays of COLUMNS.
            arrival_ns: The earliest arrival in all later chunks.
            departure_ns: The earliest departure or drop in all later chunks.

        Returns:
            The drops that are final with it, in the order of their times, behind all earlier ones.
        """
        self._waiting = _both(self._waiting, _drops_of(chunk, self._outlook))
        held_back = joined(self._late, chosen(chunk, was_queued(chunk)))
        # What left after a drop that is yet to come is counted with that.
        ready = held_back["dequeue_ns"] <= departure_ns
        _add_stays(self._waiting, chosen(held_back, ready), self._outlook)
        self._late = chosen(held_back, ~ready)
        coming_ns = min(arrival_ns, departure_ns, int(self._late["enqueue_ns"].min(initial=LAST)))
        final = self._waiting.t_ns < coming_ns
        found = self._waiting.part(final)
        self._waiting = self._waiting.part(~final)
        return found


def drops_with_holders(chunks: Iterable[Arrays], outlook: Outlook) -> Iterator[Drops]:
    """Find who held the queue at each drop.

    Args:
        chunks: Postcards: the arrays of COLUMNS.

    Yields:
        Drops, in the order of their times.
    """
    search = HolderSearch(outlook)
    for chunk, arrival_ns, departure_ns in with_outlook(chunks, outlook):
        yield search.add(chunk, arrival_ns, departure_ns)


def _none(parties: int) -> Drops:
    empty = np.empty(0, np.int64)
    return Drops(empty, empty, empty, empty, empty, empty, np.empty((parties, 0), np.int64))


def _drops_of(chunk: Arrays, outlook: Outlook) -> Drops:
    lost = chosen(chunk, chunk["kind"] == KIND_DROPPED)
    reason = np.nan_to_num(lost["marks"]).astype(np.int64) & MARK_REASON
    return Drops(
        t_ns=lost["dequeue_ns"],
        arrived_ns=lost["enqueue_ns"],
        party=outlook.party_of(lost),
        packet_bytes=lost["packet_bytes"].astype(np.int64),
        reason=reason,
        queue_bytes=lost["queue_bytes"].astype(np.int64),
        held=np.zeros((len(outlook.flow), len(reason)), np.int64),
    )


def _both(waiting: Drops, more: Drops) -> Drops:
    """Both, in the order of time; of one nanosecond, of the bytes that they found."""
    pairs = zip(vars(waiting).values(), vars(more).values(), strict=True)
    both = Drops(*(np.concatenate(pair, axis=-1) for pair in pairs))
    return both.part(np.lexsort((_found_bytes(both), both.t_ns)))


def _found_bytes(drops: Drops) -> IntArray:
    return np.where(drops.refused, drops.queue_bytes, ANY_BYTES)


def _add_stays(drops: Drops, stays: Arrays, outlook: Outlook) -> None:
    """Add what packets held at the drops that fell into their stay."""
    if not len(drops) or not len(stays["flow"]):
        return
    moments, moment = np.unique(drops.t_ns, return_inverse=True)
    places = moment * (2 * ANY_BYTES) + _found_bytes(drops)
    at = np.searchsorted(moments, stays["enqueue_ns"])
    same = moments[np.minimum(at, len(moments) - 1)] == stays["enqueue_ns"]
    found = np.where(same, stays["queue_bytes"].astype(np.int64), -1)
    first = np.searchsorted(places, at * (2 * ANY_BYTES) + found, side="right")
    end = np.searchsorted(drops.t_ns, stays["dequeue_ns"], side="left")
    met = first < end
    party, size = outlook.party_of(stays)[met], stays["packet_bytes"][met].astype(np.int64)
    _add_ranges(drops.held, party, size, first[met], end[met])


def _add_ranges(
    held: IntArray, party: IntArray, size: IntArray, first: IntArray, end: IntArray
) -> None:
    """Add sizes to ranges of columns, some rows at a time: each is a step up and a step down."""
    parties, count = held.shape
    rows = max(1, MOST_CELLS // (count + 1))
    for low in range(0, parties, rows):
        high = min(low + rows, parties)
        mine = (party >= low) & (party < high)
        cell = (party[mine] - low) * (count + 1)
        width = (high - low) * (count + 1)
        # Sums of whole numbers below 2^53, so exact.
        up = np.bincount(cell + first[mine], weights=size[mine], minlength=width)
        down = np.bincount(cell + end[mine], weights=size[mine], minlength=width)
        steps = (up - down).reshape(high - low, count + 1)
        held[low:high] += np.cumsum(steps, axis=1)[:, :-1].astype(np.int64)
