"""Equation (5): does the share of the queue explain the throughput?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..metrics.least_squares import least_squares


@dataclass(frozen=True)
class LineFit:
    """How measured values go with predicted ones.

    Attributes:
        slope: Of the least-squares line of measured on predicted; 1 if the law holds.
        intercept: Of that line, in the values' unit.
        r2: Squared correlation coefficient.
        explained: 1 - (sum of squared residuals) / (sum of squares about the mean): what the
            law explains without any fit; below 0 if the mean alone does better.
        rms_residual: Root mean square of measured - predicted, in the values' unit.
        n: Number of points.
    """

    slope: float
    intercept: float
    r2: float
    explained: float
    rms_residual: float
    n: int


def equation5(
    throughput: NDArray[np.float64],
    occupancy: NDArray[np.float64],
    base_rtt_s: NDArray[np.float64],
    delay_s: float,
) -> NDArray[np.float64]:
    """What equation (5) makes of each flow: (lambda R + b) / (R + Q).

    lambda R + b is what the flow has in flight (in the pipe and in the queue), R + Q the
    round trip that it meets. A flow for which lambda equals this has lambda Q = b: its share
    of the throughput is its share of the queue.

    Args:
        throughput: lambda, bytes/s, shape (F,).
        occupancy: b, mean bytes in the queue, shape (F,), counted as throughput is.
        base_rtt_s: R, seconds, shape (F,).
        delay_s: Q, the queue's mean delay in seconds.

    Returns:
        Predicted throughput in bytes/s, shape (F,).

    Source: Mishra, Tiu, Leong, IMC 2022, equation (5).
    """
    return (throughput * base_rtt_s + occupancy) / (base_rtt_s + delay_s)


def fit_line(predicted: NDArray[np.float64], measured: NDArray[np.float64]) -> LineFit | None:
    """Hold measured values to predicted ones.

    Args:
        predicted: Predictions, shape (n,).
        measured: Measurements in the same unit, shape (n,); pairs with NaN are left out.

    Returns:
        The fit; None with fewer than 3 pairs or when all predictions are the same.
    """
    known = np.isfinite(predicted) & np.isfinite(measured)
    x, y = predicted[known], measured[known]
    if len(x) < 3 or np.ptp(x) == 0:
        return None
    line = least_squares(x, y)
    squares, spread = float(((y - x) ** 2).sum()), float(((y - y.mean()) ** 2).sum())
    return LineFit(
        slope=line.slope,
        intercept=line.intercept,
        r2=line.r2,
        explained=1 - squares / spread if spread > 0 else float("nan"),
        rms_residual=(squares / len(x)) ** 0.5,
        n=len(x),
    )
