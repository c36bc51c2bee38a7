"""Per-flow throughput against the number of flows of the second strategy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from nashbed.controlplane.contract.scenario import ReferenceSeries
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures
from ..models.measured import questions_of_mixes
from ..nash.of_run import SettingEquilibria
from ..state import strategy_totals
from ..text import shown, trials_text
from .estimates import draw_estimates
from .model_lines import draw_curves, goodput_of_share, legend_entries, model_curves
from .style import GOOD, INK, WIDE, colour_of, legend_below, marker_of, new_figure
from .unsettled import mark_unsettled

METRIC = "per_flow_throughput"


def draw(
    measures: RunMeasures,
    setting: Setting,
    equilibria: SettingEquilibria,
    reference: Sequence[ReferenceSeries] = (),
) -> Figure:
    """Draw one setting: a line for each strategy, the fair share, the equilibria marked.

    Args:
        measures: The run's measures.
        setting: The setting.
        equilibria: Its equilibria.
        reference: Published series that belong to this setting.
    """
    groups = measures.group_names
    one_group = len(groups) == 1
    figure, axes = new_figure(WIDE, 4.2 if one_group else 2.6 * len(groups), len(groups))
    simple = one_group and len(measures.strategies) == 2
    for group, ax in enumerate(axes):
        unsettled = [cell for cell in measures.cells(setting) if cell.unsettled]
        mark_unsettled(ax, [_position(cell) for cell in unsettled])
        for strategy in measures.strategies:
            _draw_strategy(ax, measures, setting, strategy, group, line=simple)
        _draw_fair_share(ax, measures.fair_share(setting))
        if len(groups) > 1:
            ax.set_title(f"group {groups[group]}")
        ax.set_ylabel("Mbit/s per flow")
        ax.set_ylim(bottom=0)
    for series in reference:
        _draw_reference(axes[0], series, measures.strategies)
    if simple:
        _draw_models(axes[0], measures, setting)
        _mark_equilibria(axes[0], equilibria)
    _finish(figure, axes, measures)
    return figure


def _draw_strategy(
    ax: Axes, measures: RunMeasures, setting: Setting, strategy: str, group: int, line: bool
) -> None:
    index = measures.strategies.index(strategy)
    cells = [c for c in measures.cells(setting) if c.state[group][index] and c.trials]
    points = [(c, c.estimate(METRIC, strategy, group)) for c in cells]
    known = [(c, e) for c, e in points if e is not None]
    if not known:
        return
    colour = colour_of(strategy, measures.strategies)
    style = "-" if line else "none"
    marker = marker_of(strategy, measures.strategies)
    draw_estimates(
        ax,
        [_position(c) for c, _ in known],
        [e.scaled(shown(1, "bit/s")) for _, e in known],
        colour,
        marker=marker,
        linestyle=style,
        capsize=2.5,
        elinewidth=1.1,
        label=_label(strategy, [e.n for _, e in known]),
        zorder=4,
    )
    if line and max(e.n for _, e in known) == 1:
        _draw_flow_range(ax, cells, strategy, colour)


def _position(cell: Cell) -> int:
    """The x of a mix: flows of all strategies but the first."""
    return sum(strategy_totals(cell.state)[1:])


def _label(strategy: str, counts: list[int]) -> str:
    return f"{strategy} ({trials_text(counts)} per mix)"


def _draw_flow_range(ax: Axes, cells: list[Cell], strategy: str, colour: str) -> None:
    """With one trial there is no interval: a band from the lowest to the highest flow."""
    ranges = [(_position(c), c.flow_range(METRIC, strategy)) for c in cells]
    known = [(x, *r) for x, r in ranges if r is not None]
    x, low, high = (np.array(values, dtype=float) for values in zip(*known, strict=True))
    ax.fill_between(
        x,
        shown(1, "bit/s") * low,
        shown(1, "bit/s") * high,
        color=colour,
        alpha=0.14,
        linewidth=0,
        zorder=1,
    )


def _draw_fair_share(ax: Axes, fair_bps: float) -> None:
    ax.axhline(
        shown(fair_bps, "bit/s"),
        color=INK,
        linestyle=(0, (5, 3)),
        linewidth=1.0,
        label="fair share of the rate",
        zorder=2,
    )


def _draw_reference(ax: Axes, series: ReferenceSeries, strategies: Sequence[str]) -> None:
    ax.plot(
        series.x,
        series.y,
        color=colour_of(series.strategy, strategies),
        linestyle=":",
        marker=marker_of(series.strategy, strategies),
        markerfacecolor="white",
        linewidth=1.3,
        label=f"{series.label}, {series.strategy}",
        zorder=3,
    )


def _draw_models(ax: Axes, measures: RunMeasures, setting: Setting) -> None:
    """What models say of each congestion control's flows, in its colour."""
    total = sum(measures.group_sizes)
    curves = model_curves(questions_of_mixes(measures, setting))
    if not curves:
        return
    whole = shown(goodput_of_share(1.0, measures.applied_rate(setting)), "bit/s")
    of = {"cubic": lambda k, s: (1 - s) * whole / (total - k), "bbr": lambda k, s: s * whole / k}
    top = ax.get_ylim()[1]
    for strategy, each in of.items():
        draw_curves(ax, curves, each, colour_of(strategy, measures.strategies))
    legend_entries(ax, curves)
    ax.set_ylim(0, top)  # measurements fill the frame; a model may leave it


def _mark_equilibria(ax: Axes, equilibria: SettingEquilibria) -> None:
    exact = {strategy_totals(v.state)[1] for v in equilibria.equilibria}
    near = {strategy_totals(v.state)[1] for v in equilibria.epsilon_equilibria} - exact
    for i, k in enumerate(sorted(near)):
        label = f"gain below {equilibria.epsilon:.0%} of the fair share" if i == 0 else None
        ax.axvspan(k - 0.4, k + 0.4, color=GOOD, alpha=0.10, linewidth=0, label=label, zorder=0)
    for i, k in enumerate(sorted(exact)):
        label = "equilibrium" if i == 0 else None
        ax.axvspan(k - 0.4, k + 0.4, color=GOOD, alpha=0.32, linewidth=0, label=label, zorder=0)
        place = ax.get_xaxis_transform()
        ax.annotate(
            str(k),
            (k, 0.985),
            xycoords=place,
            ha="center",
            va="top",
            fontweight="bold",
            color="#00664b",
            zorder=5,
        )


def _finish(figure: Figure, axes: list[Axes], measures: RunMeasures) -> None:
    total = sum(measures.group_sizes)
    others = measures.strategies[1] if len(measures.strategies) == 2 else "other"
    axes[-1].set_xlabel(f"flows running {others}, of {total}")
    axes[-1].set_xlim(-0.5, total + 0.5)
    axes[-1].xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12, min_n_ticks=1))
    legend_below(figure, axes[0], columns=3)
