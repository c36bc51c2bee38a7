"""Quantiles of Student's t without scipy, whose import is most of the time of planning a run."""

from __future__ import annotations

import math
from functools import lru_cache

HALVINGS = 60


@lru_cache(maxsize=4096)
def t_quantile(probability: float, freedom: int) -> float:
    """The value below which a t-distributed variable lies with a probability.

    Args:
        probability: One-sided, above 0.5 and below 1.
        freedom: Degrees of freedom, at least 1.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(HALVINGS):
        angle = (low + high) / 2
        below = (1 + _within(angle, freedom)) / 2 < probability
        low, high = (angle, high) if below else (low, angle)
    return math.sqrt(freedom) * math.tan(low)


def _within(angle: float, freedom: int) -> float:
    """P(|T| < sqrt(freedom) tan(angle)).

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    odd = freedom % 2
    if freedom == 1:
        return 2 * angle / math.pi
    squared = math.cos(angle) ** 2
    term = total = math.cos(angle) if odd else 1.0
    for k in range(2 + odd, freedom, 2):
        term *= squared * (k - 1) / k
        total += term
    series = math.sin(angle) * total
    return 2 / math.pi * (angle + series) if odd else series
