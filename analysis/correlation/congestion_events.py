"""Congestion events: drops that no sender could have reacted to yet belong together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class CongestionEvent:
    """One congestion event.

    Attributes:
        start_ns: The first drop.
        end_ns: The last drop.
        flows: Flows that lost at least one packet, sorted.
        drops: Packets dropped.
    """

    start_ns: int
    end_ns: int
    flows: tuple[int, ...]
    drops: int


def event_length_ns(base_rtt_ns: int, full_queue_ns: int) -> int:
    """How long after a first drop further drops belong to the same event.

    What follows the dropped packet waits for at most a full queue, its ACK needs a base RTT to
    come back around to the queue as less traffic, and a sender waits up to a quarter of its
    smallest RTT for reordering before it believes in a loss. Until then the queue cannot
    notice any reaction to the first drop.

    Args:
        base_rtt_ns: Largest base RTT of the flows looked at.
        full_queue_ns: Delay of a full queue.

    Source: RFC 8985 (RACK-TLP), section 6.2 step 4 for the quarter.
    """
    return base_rtt_ns + full_queue_ns + base_rtt_ns // 4


def congestion_events(
    t_ns: NDArray[np.int64], flow: NDArray[np.int64], length_ns: int
) -> list[CongestionEvent]:
    """Group drops into events: each lasts from its first drop for at most `length_ns`.

    The time is counted from the first drop, not from the one before: where drops trickle
    without a pause, as in a shallow buffer, events follow one another instead of becoming one.

    Args:
        t_ns: Times of the drops, in any order, shape (n,).
        flow: Their flows, shape (n,).
        length_ns: From event_length_ns.
    """
    order = np.argsort(t_ns, kind="stable")
    times, flows = t_ns[order], flow[order]
    starts = first_drops(times, length_ns)
    events = []
    for first, last in pairwise((*starts.tolist(), len(times))):
        losers = tuple(int(f) for f in np.unique(flows[first:last]))
        events.append(
            CongestionEvent(int(times[first]), int(times[last - 1]), losers, last - first)
        )
    return events


def first_drops(t_ns: NDArray[np.int64], length_ns: int) -> NDArray[np.int64]:
    """Which drops begin an event.

    Args:
        t_ns: Times of the drops, increasing, shape (n,).
        length_ns: From event_length_ns.

    Returns:
        Their indices, increasing, shape (events,).
    """
    following = np.searchsorted(t_ns, t_ns + length_ns, side="right").tolist()
    found, first = [], 0
    while first < len(following):
        found.append(first)
        first = following[first]
    return np.array(found, dtype=np.int64)
