"""CUBIC's sawtooth in the queue: bytes at each loss event, and the least between two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from nashbed.controlplane.contract.records import KIND_DROPPED
from numpy.typing import NDArray

from ..metrics.queue import COLUMNS, TimeBins, occupancy_at

Arrays = dict[str, NDArray[Any]]


def least_bins(
    occupancy: NDArray[np.float64], bins: TimeBins, events_ns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The bin of the smallest occupancy from each event to the next.

    The last event has no end and gives none; a cycle shorter than a bin takes the bin it
    lies in.

    Args:
        occupancy: Mean bytes in each bin, shape (B,).
        bins: The bins.
        events_ns: Starts of the events, increasing, inside the bins, shape (n,).

    Returns:
        Indices of bins, shape (max(n - 1, 0),).
    """
    index = np.clip((events_ns - bins.start_ns) // bins.length_ns, 0, bins.count - 1)
    pairs = zip(index[:-1].tolist(), index[1:].tolist(), strict=True)
    least = [low + int(np.argmin(occupancy[low : max(high, low + 1)])) for low, high in pairs]
    return np.array(least, dtype=np.int64)


def share_around(
    mine: NDArray[np.float64], everything: NDArray[np.float64], at: NDArray[np.int64], width: int
) -> NDArray[np.float64]:
    """Some flows' share of what left around given bins (unit 1).

    Args:
        mine: Bytes of those flows that left in each bin, shape (B,).
        everything: Bytes of all flows, shape (B,).
        at: The bins, shape (n,).
        width: Over how many bins, about, with each in the middle.

    Returns:
        Shares, shape (n,); NaN where nothing left.
    """
    sums = np.concatenate(([[0.0], [0.0]], np.cumsum((mine, everything), axis=1)), axis=1).T
    low = np.maximum(at - width // 2, 0)
    high = np.minimum(at + width // 2 + 1, len(mine))
    part, whole = (sums[high] - sums[low]).T
    shares = np.full(len(at), np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


def queue_and_flight_at(
    chunks: Iterable[Arrays],
    base_rtt_ns: NDArray[np.int64],
    instants_ns: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bytes of each flow in the queue and in flight at given instants, in one pass.

    A packet is in flight from half a base RTT before it reaches the queue (the delay line is
    split evenly) until its ACK is back, half a base RTT after it left. Dropped packets are
    not counted.

    Args:
        chunks: Postcards in any order and chunking: the arrays of COLUMNS.
        base_rtt_ns: Base RTT of each flow, shape (F,).
        instants_ns: The instants, increasing, shape (T,).

    Returns:
        Frame bytes in the queue, and in flight (queue included); shape (F, T) each.
    """
    flows = len(base_rtt_ns)
    both = occupancy_at(_doubled(chunks, base_rtt_ns), 2 * flows, instants_ns)
    return both[:flows], both[flows:]


def _doubled(chunks: Iterable[Arrays], base_rtt_ns: NDArray[np.int64]) -> Iterator[Arrays]:
    """Each packet twice: as in the queue, and as flow + F for its whole time in flight."""
    half = base_rtt_ns // 2
    for chunk in chunks:
        stayed = chunk["kind"] != KIND_DROPPED
        columns = {name: chunk[name][stayed] for name in COLUMNS}
        flow = columns["flow"].astype(np.int64)
        out = {
            "flow": flow + len(base_rtt_ns),
            "enqueue_ns": columns["enqueue_ns"] - half[flow],
            "dequeue_ns": columns["dequeue_ns"] + (base_rtt_ns - half)[flow],
        }
        yield {
            name: np.concatenate((columns[name], out.get(name, columns[name]))) for name in COLUMNS
        }
