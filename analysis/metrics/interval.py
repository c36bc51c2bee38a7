"""A mean with its number of observations and its 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

Limits = tuple[float, float]
"""Smallest and largest possible value."""

FEW = 4
"""Observations below which an interval that leaves the possible range gives way to them."""


@dataclass(frozen=True)
class Estimate:
    """A mean over repetitions.

    Attributes:
        mean: The mean, in the metric's unit.
        n: Number of observations (trials).
        half_width: Half the width of the 95 % interval; None with one observation, and where
            `points` stand in its place.
        points: The observations in rising order, where they say more than an interval: two or
            three of which the interval would leave the possible range. Otherwise empty.
    """

    mean: float
    n: int
    half_width: float | None
    points: tuple[float, ...] = ()

    def scaled(self, factor: float) -> Estimate:
        """The same in another unit."""
        half = None if self.half_width is None else self.half_width * factor
        return Estimate(self.mean * factor, self.n, half, tuple(p * factor for p in self.points))


def estimate(
    observations: Sequence[float],
    confidence: float = 0.95,
    possible: Limits = (-math.inf, math.inf),
) -> Estimate | None:
    """Mean and Student t interval of independent observations.

    The interval is mean +- t(n - 1) s / sqrt(n), s with n - 1 in its denominator. One
    observation has no interval. Two have one of 12.7 standard errors, which may end where no
    value can be (a loss of 1.9 +- 14.9 %); then the observations are given instead.

    Args:
        observations: One value for each trial; NaN (not measured) is left out.
        confidence: Coverage of the interval.
        possible: Which values can be at all.

    Returns:
        The estimate; None without any observation.

    Source: Student, Biometrika 6 (1908).
    """
    values = np.array([x for x in observations if np.isfinite(x)])
    n = len(values)
    if n == 0:
        return None
    mean = float(values.mean())
    if n == 1:
        return Estimate(mean, 1, None)
    half = float(special.stdtrit(n - 1, (1 + confidence) / 2)) * float(values.std(ddof=1)) / n**0.5
    inside = possible[0] <= mean - half and mean + half <= possible[1]
    if half > 0 and n < FEW and not inside:
        return Estimate(mean, n, None, tuple(sorted(values.tolist())))
    return Estimate(mean, n, half)
