"""Harm: what each strategy does to a victim, metric by metric."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..measures import RunMeasures
from ..metrics import metric_named
from ..results.harm import Harm
from .plot import Axis, Bars, Item, Note, Panel, Plot, Rule
from .style import INK, NARROW, WIDE, bar_of

WIDTH = 0.8
"""Of all bars of a metric together."""
LEAST = -1.0
"""Larger benefits are cut off at the foot of the figure, and written there."""


def harm_plot(measures: RunMeasures, found: Sequence[Harm]) -> Plot | None:
    """Harm of one setting: a group of bars for each metric, a bar for each strategy."""
    if not found:
        return None
    metrics = list(dict.fromkeys(each.metric for each in found))
    others = list(dict.fromkeys(each.by for each in found))
    items: list[Item] = []
    for index, by in enumerate(others):
        aside = (index - (len(others) - 1) / 2) * WIDTH / len(others)
        mine = [each for each in found if each.by == by]
        places = [metrics.index(each.metric) + aside for each in mine]
        items += _bars(mine, places, WIDTH / len(others), bar_of(by, measures.strategies))
    items.append(Rule(0.0, color=INK, linewidth=0.9, zorder=4))
    ends = [each.harm.mean - (each.harm.ci95 or 0.0) for each in found]
    x = Axis(ticks={place: _name(metric) for place, metric in enumerate(metrics)}, grid=False)
    y = Axis(f"harm to {found[0].victim}", 1.1 * max(LEAST, min(0.0, *ends)) - 0.02, 1.05)
    width = WIDE if len(metrics) * len(others) > 9 else NARROW
    return Plot([Panel(items, x, y)], (width, 3.8), columns=4)


def _bars(
    mine: Sequence[Harm], places: list[float], width: float, look: dict[str, Any]
) -> Iterator[Item]:
    """A bar for each metric, of the harm by one strategy."""
    by, own = mine[0].by, mine[0].by == mine[0].victim
    heights = [each.harm.mean for each in mine]
    half = [each.harm.ci95 or 0.0 for each in mine]
    yield Bars(places, np.maximum(heights, LEAST), half if any(half) else None,
               f"{by} (its own kind)" if own else by, width=0.92 * width, **look,
               error_kw={"elinewidth": 1.0, "capsize": 2.0},
               edgecolor="white", linewidth=0.5, zorder=3)  # fmt: skip
    for x, height in zip(places, heights, strict=True):
        if height < LEAST:
            yield Note(f"{height:.1f}", x, LEAST, ha="center", va="bottom", fontsize=7, color=INK)


def _name(metric: str) -> str:
    """The metric on the axis, in two lines."""
    words = metric_named(metric).title.replace(" per flow", "").split()
    half = -(-len(words) // 2)
    return " ".join(words[:half]) + ("\n" + " ".join(words[half:]) if words[half:] else "")
