"""Delay against goodput: an ellipse for each strategy, mix by mix."""

from collections.abc import Iterator, Sequence

import numpy as np
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import counted
from numpy.typing import NDArray

from ..measures import Cell, RunMeasures
from ..metrics.tradeoff import gaussian_ellipse
from ..state import state_text, strategy_totals
from ..text import shown
from .axes import a_few
from .plot import Axis, Item, Line, Panel, Plot
from .style import NARROW, colour_of, marker_of

DELAY, GOODPUT = "per_flow_queueing_delay", "per_flow_throughput"
MOST_PANELS = 8
ROOM, LEAST_SPAN = 0.1, 0.1
"""Room beside what is drawn by its span; least span by the largest value."""


def delay_and_goodput_plot(measures: RunMeasures, setting: Setting) -> Plot | None:
    """A panel for each mix, and one of all that run alone; a point is one trial.

    None unless two strategies have trials with both, the delay and the goodput.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in measures.cells(setting):
        groups.setdefault(_title(measures, cell), []).append(cell)
    drawn = {title: _of_cells(measures, cells) for title, cells in groups.items()}
    drawn = {title: drawn[title] for title in a_few([t for t in drawn if drawn[t]], MOST_PANELS)}
    if len({strategy for found in drawn.values() for strategy in found}) < 2:
        return None
    items = {title: list(_items(measures, found)) for title, found in drawn.items()}
    x, y = _axes([item for found in items.values() for item in found])
    panels = [Panel(found, x, y, title) for title, found in items.items()]
    return Plot(panels, (NARROW, 3.8), columns=len(measures.strategies),
                layout="rows" if len(panels) == 1 else "grid")  # fmt: skip


def _title(measures: RunMeasures, cell: Cell) -> str:
    """What the panel of a mix is called; all in which one strategy is alone have the same."""
    totals = strategy_totals(cell.state)
    if max(totals) == sum(totals):
        return f"each alone, {counted(sum(totals), 'flow')}"
    return state_text(cell.state, measures.strategies, measures.group_names)


def _of_cells(measures: RunMeasures, cells: Sequence[Cell]) -> dict[str, NDArray[np.float64]]:
    """Strategy -> delay (ms) and goodput (Mbit/s) of one of its flows in each trial, shape (2, n).

    Strategies without any are left out.
    """
    found = {}
    for strategy in measures.strategies:
        trials = (trial for cell in cells for trial in cell.trials)
        values = [[shown(t.value(DELAY, strategy), "s"), shown(t.value(GOODPUT, strategy), "bit/s")]
                  for t in trials]  # fmt: skip
        known = [each for each in values if np.isfinite(each).all()]
        if known:
            found[strategy] = np.array(known).T
    return found


def _items(measures: RunMeasures, found: dict[str, NDArray[np.float64]]) -> Iterator[Item]:
    for strategy, points in found.items():
        colour = colour_of(strategy, measures.strategies)
        marker = marker_of(strategy, measures.strategies)
        x, y = points
        yield Line(x, y, f"{strategy}, each trial", color=colour, marker=marker, markersize=3.5,
                   linestyle="none", alpha=0.6, markeredgewidth=0)  # fmt: skip
        if (ellipse := gaussian_ellipse(x, y)) is not None:
            yield Line(*ellipse.outline(), label=f"{strategy}, one sigma", color=colour,
                       linewidth=1.2)  # fmt: skip
            yield Line([np.median(x)], [np.median(y)], f"{strategy}, median", color=colour,
                       marker=marker, markersize=5.5, linestyle="none", mfc="none")  # fmt: skip


def _axes(items: Sequence[Item]) -> tuple[Axis, Axis]:
    """The delay falls to the right: what is better is above and to the right."""
    least, most = _ends(np.concatenate([item.x for item in items]))
    low, high = _ends(np.concatenate([item.y for item in items]))
    return Axis("queueing delay (ms)", most, least), Axis("Mbit/s per flow", low, high)


def _ends(values: NDArray[np.float64]) -> tuple[float, float]:
    """Where an axis begins and ends, which shows how values vary; none is negative."""
    room = ROOM * max(float(np.ptp(values)), LEAST_SPAN * float(values.max()))
    return max(0.0, float(values.min()) - room), float(values.max()) + room
