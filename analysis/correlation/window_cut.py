"""What a CUBIC flow keeps of its window when it loses packets, from TCP_INFO samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

OPEN, RECOVERY = 0, 3
"""Of `ca_state`: nothing is lost; a loss is being repaired (above it: after a timeout)."""


def window_cuts(
    t_ns: NDArray[np.int64], window: NDArray[Any], state: NDArray[Any]
) -> NDArray[np.float64]:
    """One flow's window after each of its recoveries by its window before (unit 1).

    Before is the last sample that was not in recovery, after the first one that is open again:
    in between the kernel shrinks the window step by step. A recovery shorter than the time
    between samples is not seen, and one that does not end gives none.

    Args:
        t_ns: Times of the flow's samples, in any order, shape (n,).
        window: Its congestion window, shape (n,).
        state: Its `ca_state`, shape (n,).

    Returns:
        A ratio for each recovery, in order of time.

    Source: RFC 9438, section 4.6: 0.7 of the window remains.
    """
    order = np.argsort(t_ns, kind="stable")
    window, state = window[order].astype(np.float64), state[order]
    repairing = state >= RECOVERY
    starts = np.flatnonzero(~repairing[:-1] & repairing[1:]) + 1
    ends = np.flatnonzero(state == OPEN)
    after = np.searchsorted(ends, starts)
    done = after < len(ends)
    ratios: NDArray[np.float64] = window[ends[after[done]]] / window[starts[done] - 1]
    return ratios
