"""Each CCA alone, over rate and base RTT: heat maps, and a decision tree."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from nashbed.controlplane.contract.trial import Setting
from numpy.typing import NDArray

from ..measures import RunMeasures
from ..metrics.mixes import goodput_gain
from ..results.decision_tree import FEATURES, Decision, decide
from ..results.sweep import pure_cell
from ..text import NONE, conditions_text, duration_text, rate_text
from .plot import Axis, Cells, Panel, Plot
from .style import WIDE, colour_of

Value = Callable[[RunMeasures, Setting], float | None]


def gain_of_setting(measures: RunMeasures, setting: Setting) -> float | None:
    """Goodput gain of the second CCA alone over the first alone, per cent."""
    means = []
    for strategy in measures.strategies[:2]:
        cell = pure_cell(measures, setting, strategy)
        estimate = None if cell is None else cell.estimate("per_flow_throughput", strategy)
        means.append(float("nan") if estimate is None else estimate.mean)
    gain = goodput_gain(means[0], means[1]) * 100
    return gain if np.isfinite(gain) else None


def retransmits_of(strategy: str) -> Value:
    """Retransmitted share of a CCA alone, per cent."""

    def value(measures: RunMeasures, setting: Setting) -> float | None:
        cell = pure_cell(measures, setting, strategy)
        estimate = None if cell is None else cell.estimate("retransmit_share")
        return None if estimate is None else estimate.mean * 100

    return value


def heat_map_plot(measures: RunMeasures, value: Value, label: str, signed: bool) -> Plot | None:
    """A value over the run's rates (columns) and base RTTs (rows), by buffer and kernel.

    None unless at least two rates and two base RTTs have a value. `signed`: 0 is the middle of the
    colours.
    """
    settings = [s for s in measures.run.settings if value(measures, s) is not None]
    rates = sorted({s.rate_bps for s in settings})
    rtts = sorted({s.base_rtt_ns[0] for s in settings})
    panels = list(dict.fromkeys(_panel(s) for s in measures.run.settings))
    if min(len(rates), len(rtts)) < 2:
        return None
    grids = [_grid(measures, settings, p, (rates, rtts), value) for p in panels]
    names = [duration_text(r) for r in rtts], [rate_text(r).split()[0] + _unit(r) for r in rates]
    look = _look(np.concatenate(grids), signed) | {"bar": f"{label}, n ≥ {_trials(measures)}"}
    x = Axis("rate (bit/s)", ticks=dict(enumerate(names[1])), turned=60)
    found: list[Panel] = []
    for grid, panel in zip(grids, panels, strict=True):
        texts = [[(_number(value), "") for value in row] for row in grid]
        y = Axis("" if found else "base RTT", ticks=dict(enumerate(names[0])))
        found.append(Panel([Cells(*names, grid, texts, size=7, **look)], x, y, panel))
    size = 1.4 + len(grids) * (0.8 + 0.52 * len(rates)), 1.5 + 0.42 * len(rtts)
    return Plot(found, size, columns=0, layout="columns", same_y=True)


def _look(values: NDArray[np.float64], signed: bool) -> dict[str, Any]:
    limit = float(np.nanmax(np.abs(values))) or 1.0
    ends = {"vmin": -limit if signed else 0.0, "vmax": limit}
    return {"cmap": "RdBu_r" if signed else "YlOrRd", "origin": "lower", **ends}


def _panel(setting: Setting) -> str:
    return f"buffer {setting.buffer_label}{conditions_text(setting)}"


def _trials(measures: RunMeasures) -> int:
    return min((len(c.trials) for s in measures.run.settings for c in measures.cells(s)
                if c.trials), default=0)  # fmt: skip


def _grid(
    measures: RunMeasures,
    settings: Sequence[Setting],
    panel: str,
    axes: tuple[list[int], list[int]],
    value: Value,
) -> NDArray[np.float64]:
    """Values of one panel, shape (base RTTs, rates); NaN where there is none."""
    rates, rtts = axes
    grid = np.full((len(rtts), len(rates)), np.nan)
    for setting in settings:
        if _panel(setting) == panel:
            number = value(measures, setting)
            if number is not None:
                grid[rtts.index(setting.base_rtt_ns[0]), rates.index(setting.rate_bps)] = number
    return grid


def _unit(rate_bps: int) -> str:
    return "G" if rate_bps >= 10**9 else "M" if rate_bps >= 10**6 else "k"


def _number(value: float) -> str:
    if not np.isfinite(value):
        return NONE
    return f"{value:.0f}" if abs(value) >= 10 else f"{value:.1f}"


def draw_decision_tree(measures: RunMeasures) -> Figure | None:
    """Draw the tree of a run; None if no tree can be fitted."""
    decision = decide(measures)
    if decision is None:
        return None
    from sklearn.tree import plot_tree  # noqa: PLC0415 - slow to import

    figure = Figure(figsize=(1.5 * WIDE, 4.6), layout="constrained")
    FigureCanvasAgg(figure)  # plot_tree asks the canvas for its renderer
    ax = figure.subplots()
    nodes = plot_tree(
        decision.tree,
        feature_names=list(FEATURES),
        class_names=list(decision.classes),
        impurity=False,
        rounded=True,
        precision=2,
        fontsize=8,
        ax=ax,
    )
    _colour(nodes, decision, measures)
    ax.set_title(
        f"{decision.settings} settings, {decision.accuracy:.0%} of them classified correctly",
        fontsize=9.5,
    )
    return figure


def _colour(nodes: list[object], decision: Decision, measures: RunMeasures) -> None:
    """Frame each node in the colour of its CCA."""
    for node in nodes:
        box = getattr(node, "get_bbox_patch", lambda: None)()
        text = getattr(node, "get_text", lambda: "")()
        winner = next((c for c in decision.classes if f"class = {c}" in text), None)
        if box is not None and winner is not None:
            box.set_edgecolor(colour_of(winner, measures.strategies))
            box.set_facecolor("white")
            box.set_linewidth(1.4)
