"""Congestion events, and how many of the CUBIC flows lose together in them.

Drops that no sender could have reacted to yet belong to one event. The mean share of the flows that
lose in an event stands beside what chance gives; models.mishra2022.k_of_synchrony makes k of it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

SHIFTS, SEED = 100, 1


@dataclass(frozen=True)
class CongestionEvent:
    """One congestion event.

    Attributes:
        start_ns: The first drop.
        end_ns: The last drop.
        flows: Flows that lost at least one packet, sorted.
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


def losing_shares(events: Sequence[CongestionEvent], flows: Collection[int]) -> NDArray[np.float64]:
    """Share of the given flows that lose in each event in which at least one of them does.

    1 / N in every event: fully de-synchronised; 1: fully synchronised.

    Args:
        flows: The flows looked at, e.g. all CUBIC flows of a trial.

    Returns:
        Shares in order of time, shape (events that touch the flows,).
    """
    chosen = frozenset(flows)
    losers = [len(chosen.intersection(event.flows)) for event in events]
    return np.array([count / len(chosen) for count in losers if count], dtype=np.float64)


@dataclass(frozen=True)
class ShiftedNull:
    """The share of flows that lose together by chance.

    Attributes:
        mean: Mean over the shifts.
        low: 2.5th percentile.
        high: 97.5th percentile.
    """

    mean: float
    low: float
    high: float


def shifted_null(
    t_ns: NDArray[np.int64],
    flow: NDArray[np.int64],
    flows: Collection[int],
    length_ns: int,
    window_ns: tuple[int, int],
) -> ShiftedNull | None:
    """How many flows would lose together if their losses had nothing to do with each other.

    Each flow's drops are moved in time as a whole, around the measured window, by an amount of
    its own: how often and in what bursts each flow loses stays as it was.

    Args:
        t_ns: Times of the drops of the flows looked at, shape (n,).
        flow: Their flows, shape (n,).
        flows: The flows looked at, with those that never lose.
        length_ns: Longest event, from event_length_ns.

    Returns:
        The distribution of the mean of losing_shares; None with fewer than two flows that lose.
    """
    losers, index = np.unique(flow, return_inverse=True)
    if len(losers) < 2:
        return None
    low, span = window_ns[0], window_ns[1] - window_ns[0]
    random = np.random.default_rng(SEED)
    means = []
    for _ in range(SHIFTS):
        offsets = random.integers(0, span, len(losers))
        moved = low + (t_ns - low + offsets[index]) % span
        means.append(_mean_losers(moved, index, length_ns) / len(flows))
    bounds = np.percentile(means, (2.5, 97.5))
    return ShiftedNull(float(np.mean(means)), float(bounds[0]), float(bounds[1]))


def _mean_losers(t_ns: NDArray[np.int64], index: NDArray[np.int64], length_ns: int) -> float:
    """How many flows lose in an event, as a mean over the events of these drops."""
    order = np.argsort(t_ns, kind="stable")
    starts = first_drops(t_ns[order], length_ns)
    event = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(order))))
    lost = np.zeros((len(starts), int(index.max()) + 1), dtype=bool)
    lost[event, index[order]] = True
    return float(lost.sum()) / len(starts)
