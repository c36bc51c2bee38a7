"""Lagged cross-correlation: how long after a flow fills the queue does its rate follow?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def lagged_correlation(
    x: NDArray[np.float64], y: NDArray[np.float64], lags: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Pearson's correlation of x(t) and y(t + lag), over the steps that both have.

    For occupancy and departure rate of one flow at a FIFO queue: what departs at t arrived at
    t - Q, and what is in the queue at t arrived from t - Q to t. So the correlation is
    expected to be largest near a lag of Q / 2, half the queueing delay.

    Args:
        x: First series, shape (T,).
        y: Second series, shape (T,).
        lags: Lags in steps; positive: y follows x. Shape (L,).

    Returns:
        Correlations, shape (L,); NaN where a part is constant or shorter than 3 steps.
    """
    return np.array([_correlation(*_overlap(x, y, int(lag))) for lag in lags])


def fast_part(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """What is left of a series without its moving average.

    Slow swings of who has how much correlate at every lag and hide which follows which.

    Args:
        values: The series, shape (T,).
        width: Steps of the centred moving average; near the ends it is over what there is.

    Returns:
        Series less average, shape (T,).
    """
    half = max(1, width // 2)
    sums = np.concatenate(([0.0], np.cumsum(values)))
    index = np.arange(len(values))
    low, high = np.maximum(index - half, 0), np.minimum(index + half + 1, len(values))
    left: NDArray[np.float64] = values - (sums[high] - sums[low]) / (high - low)
    return left


def peak(lags: NDArray[np.int64], correlation: NDArray[np.float64]) -> tuple[int, float] | None:
    """The lag of the largest correlation, and that correlation; None if there is none."""
    if not np.isfinite(correlation).any():
        return None
    index = int(np.nanargmax(correlation))
    return int(lags[index]), float(correlation[index])


def _overlap(
    x: NDArray[np.float64], y: NDArray[np.float64], lag: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    length = max(0, len(x) - abs(lag))
    return (x[:length], y[lag : lag + length]) if lag >= 0 else (x[-lag:][:length], y[:length])


def _correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    if len(x) < 3:
        return float("nan")
    x, y = x - x.mean(), y - y.mean()
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / spread if spread > 0 else float("nan")
