"""How many of the CUBIC flows lose together, and how many would by chance.

models.mishra2022.k_of_synchrony makes k of it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .congestion_events import CongestionEvent, first_drops

SHIFTS, SEED = 100, 1


def losing_shares(events: Sequence[CongestionEvent], flows: Collection[int]) -> NDArray[np.float64]:
    """Of the given flows, the share that loses in each event in which at least one of them does.

    1 / N in every event: fully de-synchronised; 1: fully synchronised.

    Args:
        events: Congestion events.
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
    shifts: int = SHIFTS,
) -> ShiftedNull | None:
    """How many flows would lose together if their losses had nothing to do with each other.

    Each flow's drops are moved in time as a whole, around the measured window, by an amount of
    its own: how often and in what bursts each flow loses stays as it was.

    Args:
        t_ns: Times of the drops of the flows looked at, shape (n,).
        flow: Their flows, shape (n,).
        flows: The flows looked at, with those that never lose.
        length_ns: Longest event, from event_length_ns.
        window_ns: The measured window.
        shifts: How often everything is moved anew, from a fixed seed.

    Returns:
        The distribution of the mean of losing_shares; None with fewer than two flows that lose.
    """
    losers, index = np.unique(flow, return_inverse=True)
    if len(losers) < 2:
        return None
    low, span = window_ns[0], window_ns[1] - window_ns[0]
    random = np.random.default_rng(SEED)
    means = []
    for _ in range(shifts):
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
