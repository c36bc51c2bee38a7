"""Queueing delay of each packet by captures, against the switch's postcards."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ..clock.queueing import TapComparison
from .style import MUTED, WIDE, legend_below, new_figure

MAX_POINTS = 40_000
BLUE = "#2a6f97"


def draw(comparison: TapComparison) -> Figure | None:
    """Draw a trial: the delay over time by both, and their difference.

    Args:
        comparison: The comparison.

    Returns:
        The figure; None without a packet in it.
    """
    if len(comparison.sojourn_ns) == 0:
        return None
    some = np.arange(0, len(comparison.sojourn_ns), -(-len(comparison.sojourn_ns) // MAX_POINTS))
    figure, (above, below) = new_figure(WIDE, 5.0, rows=2, heights=(3, 2))
    t_s = comparison.time_ns[some] / 1e9
    above.plot(t_s, comparison.sojourn_ns[some] / 1e6, ".", color=MUTED, markersize=2.5, alpha=0.5,
               label="postcards", rasterized=True)  # fmt: skip
    above.plot(t_s, comparison.delay_ns[some] / 1e6, ".", color=BLUE, markersize=1, alpha=0.5,
               label="captures", rasterized=True)  # fmt: skip
    above.set(ylabel="queueing delay (ms)")
    above.set_ylim(bottom=0)
    difference_us = comparison.difference_ns / 1e3
    below.plot(t_s, difference_us[some], ".", color=BLUE, markersize=1, alpha=0.3, rasterized=True)
    below.axhline(comparison.bias_ns / 1e3, color=MUTED, linewidth=1.0, label="median difference")
    for edge in comparison.spread_ns:
        below.axhline(edge / 1e3, color=MUTED, linewidth=0.8, linestyle=":")
    low, high = np.percentile(difference_us, (1, 99))
    room = max(high - low, 1e-3)
    below.set(xlabel="time (s)", ylabel="captures less\npostcards (µs)")
    below.set_ylim(low - room, high + room)
    legend_below(figure, above, 3, below)
    return figure
