# SPDX-License-Identifier: Apache-2.0
"""The line below all one-way differences that lies nearest to them: offset and drift."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LARGEST_DRIFT = 1e-3
"""Worse than any oscillator."""
STEPS = 64
"""Halvings of twice the largest drift: to the last bit of a double."""


@dataclass(frozen=True)
class Envelope:
    """difference = at_zero + slope * x.

    Attributes:
        at_zero: At x = 0, in the unit of the differences.
        slope: Per unit of x.
    """

    at_zero: float
    slope: float


def lower_envelope(x: NDArray[np.float64], difference: NDArray[np.float64]) -> Envelope:
    """Fit the highest line that no difference lies below.

    A packet that met no queue takes the shortest way; everything else is above. Among the lines
    with all points on or above them, the one with the least sum of distances is wanted. For a
    slope the highest such line has at_zero = min(difference - slope x), so the sum is least
    where min(difference - slope x) + slope mean(x) is greatest: a concave function of the slope,
    whose rise is mean(x) less the x of the packet at the minimum. It is halved to its top.

    Args:
        x: Times on one clock, shape (n,).
        difference: Times on the other clock less those on the first, shape (n,), same unit.

    Source: Moon, Skelly and Towsley, "Estimation and removal of clock skew from network delay
    measurements", INFOCOM 1999 (the linear program there, solved by its dual).
    """
    middle = float(x.mean())
    low, high = -LARGEST_DRIFT, LARGEST_DRIFT
    for _ in range(STEPS):
        slope = (low + high) / 2
        if x[np.argmin(difference - slope * x)] < middle:
            low = slope
        else:
            high = slope
    slope = (low + high) / 2
    return Envelope(float((difference - slope * x).min()), slope)
