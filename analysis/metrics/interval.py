"""A mean with its number of observations and its 95 % interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special


@dataclass(frozen=True)
class Estimate:
    """A mean over repetitions.

    Attributes:
        mean: The mean, in the metric's unit.
        n: Number of observations (trials).
        half_width: Half the width of the 95 % interval; None with one observation.
    """

    mean: float
    n: int
    half_width: float | None

    def scaled(self, factor: float) -> Estimate:
        """The same in another unit."""
        half = None if self.half_width is None else self.half_width * factor
        return Estimate(self.mean * factor, self.n, half)


def estimate(observations: Sequence[float], confidence: float = 0.95) -> Estimate | None:
    """Mean and Student t interval of independent observations.

    The interval is mean +- t(n - 1) s / sqrt(n), s with n - 1 in its denominator. One
    observation has no interval.

    Args:
        observations: One value for each trial; NaN (not measured) is left out.
        confidence: Coverage of the interval.

    Returns:
        The estimate; None without any observation.

    Source: Student, Biometrika 6 (1908).
    """
    values = np.array([x for x in observations if np.isfinite(x)])
    n = len(values)
    if n == 0:
        return None
    if n == 1:
        return Estimate(float(values[0]), 1, None)
    quantile = float(special.stdtrit(n - 1, (1 + confidence) / 2))
    return Estimate(float(values.mean()), n, quantile * float(values.std(ddof=1)) / n**0.5)
