"""A streaming histogram of durations: bounded memory, relative resolution 2^-10.

A duration is held as a 32-bit float and binned by the float's upper 19 bits: sign, exponent
and 10 bits of the mantissa. So every octave has 1024 bins, and the whole range of float32
fits into 2^18 of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 1 << 18
_SHIFT = np.uint32(13)


def count_durations(durations: NDArray[Any]) -> NDArray[np.int64]:
    """Count durations by bin.

    Args:
        durations: Non-negative durations, any unit, shape (n,).

    Returns:
        Counts, shape (2^18,).
    """
    bits = durations.astype(np.float32).view(np.uint32) >> _SHIFT
    return np.bincount(bits, minlength=BINS).astype(np.int64, copy=False)


def duration_percentile(counts: NDArray[np.int64], share: float) -> float:
    """The smallest duration that at least `share` of the counted ones do not exceed.

    Args:
        counts: From count_durations, shape (2^18,).
        share: In (0, 1].

    Returns:
        The middle of the bin it falls into (within 0.05 %), NaN without any count.
    """
    total = int(counts.sum())
    if total == 0:
        return float("nan")
    rank = max(1, int(np.ceil(share * total)))
    index = int(np.searchsorted(np.cumsum(counts), rank))
    edges = np.array([index, index + 1], dtype=np.uint32) << _SHIFT
    low, high = edges.view(np.float32).astype(float)
    return float(low if index == 0 else (low + high) / 2)
