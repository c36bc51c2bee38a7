"""How many of the CUBIC flows lose together; models.mishra2022.k_of_synchrony makes k of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from .congestion_events import CongestionEvent


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
