"""Throughput of each CCA against the buffer, or against random loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.controlplane.contract.scenario_keys import ReferenceSeries
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures
from ..metrics.statistics import Estimate, estimate
from ..models.measured import question_of_mix
from ..results.bounds import matches
from ..results.sweep import SweepLine, cell_of, place_of, pure_cell
from ..state import State, strategy_totals
from ..text import trials_text
from .axes import AXIS_TITLES, axis_of, draw_estimates, set_scale
from .model_lines import draw_curves, goodput_of_share, model_curves
from .style import INK, WIDE, colour_of, legend_below, marker_of, new_figure

Points = list[tuple[float, Estimate]]


def draw_mix_along(measures: RunMeasures, line: SweepLine, state: State) -> Figure | None:
    """Draw one mix along a line: aggregate throughput of each CCA, and models.

    Args:
        measures: The run's measures.
        line: The settings.
        state: The mix.

    Returns:
        The figure; None if fewer than two settings have the mix.
    """
    axis = axis_of(measures, line)
    totals = dict(zip(measures.strategies, strategy_totals(state), strict=True))
    points = {s: _of_mix(measures, line, state, s, axis) for s in totals if totals[s]}
    names = {s: f"{totals[s]} {s}" for s in points}
    return _draw(measures, line, points, names, axis, state)


def draw_alone_along(measures: RunMeasures, line: SweepLine) -> Figure | None:
    """Draw each CCA alone along a line: throughput of all flows.

    Args:
        measures: The run's measures.
        line: The settings.

    Returns:
        The figure; None if fewer than two settings have a mix of one CCA.
    """
    axis = axis_of(measures, line)
    points = {s: _alone(measures, line, s, axis) for s in measures.strategies}
    names = {s: f"{s} alone" for s in points}
    return _draw(measures, line, points, names, axis, None)


def _of_mix(
    measures: RunMeasures, line: SweepLine, state: State, strategy: str, axis: str
) -> Points:
    return _totals(line, lambda setting: cell_of(measures, setting, state), strategy, axis)


def _alone(measures: RunMeasures, line: SweepLine, strategy: str, axis: str) -> Points:
    return _totals(line, lambda setting: pure_cell(measures, setting, strategy), strategy, axis)


def _totals(
    line: SweepLine, cell_at: Callable[[Setting], Cell | None], strategy: str, axis: str
) -> Points:
    """A strategy's throughput along a line, in the cell that each of its settings has."""
    points = []
    for setting in line.settings:
        cell = cell_at(setting)
        if cell is not None:
            sums = [t.total_of("per_flow_throughput", strategy) for t in cell.trials]
            points.append((place_of(setting, axis), estimate(sums, possible=(0, math.inf))))
    return [(x, e) for x, e in points if e is not None]


def _draw(
    measures: RunMeasures,
    line: SweepLine,
    points: dict[str, Points],
    names: dict[str, str],
    axis: str,
    state: State | None,
) -> Figure | None:
    if max((len(p) for p in points.values()), default=0) < 2:
        return None
    figure, (ax,) = new_figure(WIDE, 4.2)
    for strategy, known in points.items():
        _draw_points(ax, known, strategy, names[strategy], measures.strategies)
    if state is not None:
        _draw_models(ax, measures, line, state, axis)
        flows = sum(strategy_totals(state))
        totals = dict(zip(measures.strategies, strategy_totals(state), strict=True))
        if len(set(totals.values())) == 1:
            fair = measures.applied_rate(line.settings[0]) / 1e6 * totals[measures.strategies[0]]
            ax.axhline(fair / flows, color=INK, linewidth=1.0, linestyle=(0, (5, 3)),
                       label="fair share of the rate")  # fmt: skip
    _draw_references(ax, measures, line, axis, state is not None)
    _finish(figure, ax, axis, [x for known in points.values() for x, _ in known])
    return figure


def _draw_points(
    ax: Axes, known: Points, strategy: str, name: str, strategies: Sequence[str]
) -> None:
    if not known:
        return
    draw_estimates(
        ax,
        [x for x, _ in known],
        [e.scaled(1e-6) for _, e in known],
        colour_of(strategy, strategies),
        marker=marker_of(strategy, strategies),
        capsize=2.5,
        label=f"{name} ({trials_text([e.n for _, e in known])} each)",
        zorder=4,
    )


def _draw_models(ax: Axes, measures: RunMeasures, line: SweepLine, state: State, axis: str) -> None:
    """BBR's aggregate by each model."""
    curves = model_curves(
        (place_of(setting, axis), question_of_mix(measures, setting, state))
        for setting in line.settings
    )
    rate = measures.applied_rate(line.settings[0])
    draw_curves(ax, curves, lambda _, share: share * goodput_of_share(1.0, rate) / 1e6)


def _draw_references(
    ax: Axes, measures: RunMeasures, line: SweepLine, axis: str, mixed: bool
) -> None:
    """Published series along this axis: aggregates as they are, shares of the payload rate."""
    for series in measures.run.scenario.reference:
        if series.axis != axis or not _about(series, line, mixed):
            continue
        rate = measures.applied_rate(line.settings[0])
        full = goodput_of_share(1.0, rate) / 1e6
        scale = full if series.quantity == "share" else 1.0
        ax.plot(
            series.x,
            [y * scale for y in series.y],
            color=colour_of(series.strategy, measures.strategies),
            linestyle=":",
            marker=marker_of(series.strategy, measures.strategies),
            markerfacecolor="white",
            linewidth=1.3,
            label=f"{series.label}, {series.strategy}",
            zorder=3,
        )


def _about(series: ReferenceSeries, line: SweepLine, mixed: bool) -> bool:
    quantities = ("aggregate", "share") if mixed else ("aggregate", "per_flow")
    return series.quantity in quantities and any(matches(series, s) for s in line.settings)


def _finish(figure: Figure, ax: Axes, axis: str, places: Sequence[float]) -> None:
    ax.set(xlabel=AXIS_TITLES[axis], ylabel="throughput (Mbit/s)")
    set_scale(ax, places)
    ax.set_ylim(bottom=0)
    legend_below(figure, ax, columns=2)
