"""The mark of means of trials that had not settled."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes

from .style import MUTED

MARK = "~"
EXPLAINED = f"{MARK}  trials that had not settled"


def mark_unsettled(ax: Axes, places: Iterable[float]) -> None:
    """Write the mark along the foot of the axes, and what it means into the legend.

    Args:
        ax: The axes.
        places: Where the means of such trials are, on the x axis.
    """
    marked = sorted(set(places))
    for x in marked:
        ax.text(x, 0.0, MARK, transform=ax.get_xaxis_transform(), ha="center", va="bottom",
                color=MUTED, fontsize=8, clip_on=False)  # fmt: skip
    if marked:
        ax.plot([], [], linestyle="none", label=EXPLAINED)
