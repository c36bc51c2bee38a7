"""Means with their intervals, or with their observations where these say more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from ..metrics.interval import Estimate


def draw_estimates(
    ax: Axes, x: Sequence[float], estimates: Sequence[Estimate], colour: str, **look: Any
) -> None:
    """Draw means with error bars; small dots where observations stand in an interval's place.

    Args:
        ax: Where.
        x: Place of each mean.
        estimates: The means, in the unit of the axis.
        colour: Of all of it.
        look: Further arguments of matplotlib's `errorbar`.
    """
    half = [e.half_width or 0.0 for e in estimates]
    ax.errorbar(
        list(x),
        [e.mean for e in estimates],
        yerr=half if any(half) else None,
        color=colour,
        **look,
    )
    dots = [(place, p) for place, e in zip(x, estimates, strict=True) for p in e.points]
    if dots:
        places, points = zip(*dots, strict=True)
        ax.scatter(places, points, s=6, color=colour, alpha=0.6, linewidths=0, zorder=3)
