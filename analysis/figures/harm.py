"""Harm: what each strategy does to a victim, metric by metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from ..measures import RunMeasures
from ..metrics import metric_named
from ..results.harm import Harm
from .style import INK, NARROW, WIDE, colour_of, new_figure

WIDTH = 0.8
"""Of all bars of a metric together."""
LEAST = -1.0
"""Larger benefits are cut off at the foot of the figure, and written there."""


def draw_harm(measures: RunMeasures, found: Sequence[Harm]) -> Figure | None:
    """Draw the harm of one setting: a group of bars for each metric, a bar for each strategy.

    Args:
        measures: The run's measures.
        found: Its harm.

    Returns:
        The figure; None without any.
    """
    if not found:
        return None
    metrics = list(dict.fromkeys(each.metric for each in found))
    others = list(dict.fromkeys(each.by for each in found))
    own = found[0].victim
    figure, (ax,) = new_figure(WIDE if len(metrics) * len(others) > 9 else NARROW, 3.8)
    width = WIDTH / len(others)
    for index, by in enumerate(others):
        mine = [each for each in found if each.by == by]
        places = np.array([metrics.index(each.metric) for each in mine], dtype=np.float64)
        places += (index - (len(others) - 1) / 2) * width
        means = np.array([each.harm.mean for each in mine])
        shown = np.maximum(means, LEAST)
        bars = [each.harm.half_width or 0.0 for each in mine]
        kind = " (its own kind)" if by == own else ""
        ax.bar(places, shown, 0.92 * width, color=colour_of(by, measures.strategies),
               yerr=bars if any(bars) else None, error_kw={"elinewidth": 1.0, "capsize": 2.0},
               hatch="//" if by == own else None, edgecolor="white", linewidth=0.5,
               label=f"{by}{kind}", zorder=3)  # fmt: skip
        for x, mean in zip(places, means, strict=True):
            if mean < LEAST:
                ax.text(x, LEAST, f"{mean:.1f}", ha="center", va="bottom", fontsize=7, color=INK)
    ax.axhline(0.0, color=INK, linewidth=0.9, zorder=4)
    ends = [each.harm.mean - (each.harm.half_width or 0.0) for each in found]
    ax.set(ylabel=f"harm to {own}", ylim=(1.1 * max(LEAST, min(0.0, *ends)) - 0.02, 1.05))
    ax.set_xticks(range(len(metrics)), [_name(metric) for metric in metrics])
    ax.grid(visible=False, axis="x")
    figure.legend(loc="outside lower center", ncols=4)
    return figure


def _name(metric: str) -> str:
    """The metric on the axis, in two lines."""
    words = metric_named(metric).title.replace(" per flow", "").split()
    half = -(-len(words) // 2)
    return " ".join(words[:half]) + ("\n" + " ".join(words[half:]) if words[half:] else "")
