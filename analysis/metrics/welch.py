"""Welch's test: is the difference of two means more than chance?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special


@dataclass(frozen=True)
class MeanDifference:
    """Second mean less first mean, of independent observations.

    Attributes:
        difference: The difference, in the metric's unit.
        half_width: Half the width of its interval; None if it cannot be told.
        p: Probability of a difference at least as large if there were none; None likewise.
    """

    difference: float
    half_width: float | None
    p: float | None


def welch(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95
) -> MeanDifference | None:
    """Compare two means without assuming equal variances.

    The interval is d +- t(v) s with s^2 = s1^2/n1 + s2^2/n2 and
    v = s^4 / ((s1^2/n1)^2/(n1 - 1) + (s2^2/n2)^2/(n2 - 1)). Where neither side varies (a
    repeatable target with one seed, a value cut off at its limit), nothing says what chance does:
    there is a difference, but no interval and no p.

    Args:
        first: Observations; NaN (not measured) is left out.
        second: The same of the other.
        confidence: Coverage of the interval.

    Returns:
        The difference; None if one of them has fewer than two observations.

    Source: Welch, Biometrika 34 (1947).
    """
    a, b = (np.array([x for x in values if np.isfinite(x)]) for values in (first, second))
    if min(len(a), len(b)) < 2:
        return None
    difference = float(b.mean() - a.mean())
    parts = np.array([a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)])
    error = float(np.sqrt(parts.sum()))
    if error == 0:
        return MeanDifference(difference, None, None)
    freedom = error**4 / float((parts**2 / (np.array([len(a), len(b)]) - 1)).sum())
    quantile = float(special.stdtrit(freedom, (1 + confidence) / 2))
    p = 2 * float(special.stdtr(freedom, -abs(difference) / error))
    return MeanDifference(difference, quantile * error, p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values for how many there are, so that a false alarm is no more likely.

    Args:
        p_values: One for each comparison.

    Returns:
        Adjusted values in the same order.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979).
    """
    order = np.argsort(p_values, kind="stable")
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order.tolist()):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - rank)))
        adjusted[index] = largest
    return adjusted
