"""A straight line through points, by least squares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class StraightLine(NamedTuple):
    """A fitted line.

    Attributes:
        slope: Its slope.
        intercept: Its value at x = 0.
        r2: Squared correlation of the points; 0 where y does not vary.
    """

    slope: float
    intercept: float
    r2: float


def least_squares(x: NDArray[np.float64], y: NDArray[np.float64]) -> StraightLine:
    """Fit y = intercept + slope x.

    Args:
        x: Finite values that are not all the same, shape (n,).
        y: Finite values, shape (n,).
    """
    dx, dy = x - x.mean(), y - y.mean()
    across, up, both = float(dx @ dx), float(dy @ dy), float(dx @ dy)
    slope = both / across
    r2 = both**2 / (across * up) if up > 0 else 0.0
    return StraightLine(slope, float(y.mean() - slope * x.mean()), r2)
