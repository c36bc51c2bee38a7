"""Each CCA against the buffer, or against random loss: throughput; alone also delay and loss."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from nashbed.controlplane.contract.scenario_keys import ReferenceSeries
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures
from ..metrics.statistics import Estimate, estimate
from ..models.measured import question_of_mix
from ..results.bounds import matches
from ..results.sweep import SweepSeries, cell_of, place_of, pure_cell
from ..state import State, strategy_totals
from .axes import FAIR_SHARE, axis_of, published, swept
from .model_lines import curve_items, goodput_of_share, model_curves
from .plot import Axis, Item, Panel, Plot, Rule, means
from .style import DASHED, INK, WIDE, colour_of, marker_of

Points = list[tuple[float, Estimate]]
BELOW = (
    ("mean_queueing_delay", 1e3, Axis("queueing\ndelay (ms)", low=0, room=1.1)),
    ("loss_rate", 100, Axis("lost (%)", low=0, room=1.1)),
)
"""What stands below the throughput of each CCA alone: metric, factor to the axis's unit, axis."""


def mix_along_plot(measures: RunMeasures, line: SweepSeries, state: State) -> Plot | None:
    """One mix along a line: aggregate throughput of each CCA, and models.

    None if fewer than two settings have the mix.
    """
    axis = axis_of(measures, line)
    totals = dict(zip(measures.strategies, strategy_totals(state), strict=True))
    points = {
        f"{count} {s}": (s, _totals(line, lambda x: cell_of(measures, x, state), s, axis))
        for s, count in totals.items()
        if count
    }
    return _plot(measures, line, points, axis, state)


def alone_along_plot(measures: RunMeasures, line: SweepSeries) -> Plot | None:
    """Each CCA alone: throughput of all flows, queueing delay and loss.

    None if fewer than two settings have such mixes.
    """
    axis = axis_of(measures, line)
    points = {
        f"{s} alone": (s, _totals(line, _pure(measures, s), s, axis)) for s in measures.strategies
    }
    plot = _plot(measures, line, points, axis, None)
    if plot is None:
        return None
    (top,) = plot.panels
    panels = [
        replace(top, x=replace(top.x, title=""), y=replace(top.y, room=1.1)),
        *(Panel(list(_alone(measures, line, axis, metric, factor)), replace(top.x, title=""), y)
          for metric, factor, y in BELOW),
    ]  # fmt: skip
    panels[-1] = replace(panels[-1], x=top.x)
    return replace(plot, panels=panels, size=(WIDE, 5.2))


def _alone(
    measures: RunMeasures, line: SweepSeries, axis: str, metric: str, factor: float
) -> Iterator[Item]:
    """A metric of each CCA alone along a line."""
    for strategy in measures.strategies:
        cell_at = _pure(measures, strategy)
        cells = ((place_of(s, axis), cell) for s in line.settings if (cell := cell_at(s)))
        found = [(x, cell.estimate(metric)) for x, cell in cells]
        yield means(found, factor=factor, **_look(strategy, measures))


def _pure(measures: RunMeasures, strategy: str) -> Callable[[Setting], Cell | None]:
    return lambda setting: pure_cell(measures, setting, strategy)


def _totals(
    line: SweepSeries, cell_at: Callable[[Setting], Cell | None], strategy: str, axis: str
) -> Points:
    """A strategy's throughput along a line, in the cell that each of its settings has."""
    points = []
    for setting in line.settings:
        cell = cell_at(setting)
        if cell is not None:
            sums = [t.total_of("per_flow_throughput", strategy) for t in cell.trials]
            points.append((place_of(setting, axis), estimate(sums, possible=(0, math.inf))))
    return [(x, e) for x, e in points if e is not None]


def _plot(
    measures: RunMeasures,
    line: SweepSeries,
    points: dict[str, tuple[str, Points]],
    axis: str,
    state: State | None,
) -> Plot | None:
    if max((len(known) for _, known in points.values()), default=0) < 2:
        return None
    items: list[Item] = [
        means(known, f"{name} ({{n}} each)", factor=1e-6, **_look(strategy, measures))
        for name, (strategy, known) in points.items()
    ]  # fmt: skip
    if state is not None:
        items += _models_and_fair_share(measures, line, state, axis)
    items += _references(measures, line, axis, state is not None)
    places = [x for _, known in points.values() for x, _ in known]
    panel = Panel(items, swept(axis, places), Axis("throughput (Mbit/s)", low=0))
    return Plot([panel])


def _look(strategy: str, measures: RunMeasures) -> dict[str, Any]:
    names = measures.strategies
    return {"color": colour_of(strategy, names), "marker": marker_of(strategy, names),
            "capsize": 2.5, "zorder": 4}  # fmt: skip


def _models_and_fair_share(
    measures: RunMeasures, line: SweepSeries, state: State, axis: str
) -> list[Item]:
    """BBR's aggregate by each model; the fair share where all strategies have as many flows."""
    asked = ((place_of(s, axis), question_of_mix(measures, s, state)) for s in line.settings)
    full = _full(measures, line)
    items = curve_items(model_curves(asked), lambda _, share: share * full)
    totals = set(strategy_totals(state))
    if len(totals) == 1:
        fair = full / len(measures.strategies)
        items.append(Rule(fair, FAIR_SHARE, color=INK, linewidth=1.0, linestyle=DASHED))
    return items


def _full(measures: RunMeasures, line: SweepSeries) -> float:
    """Goodput of the full link in Mbit/s."""
    return goodput_of_share(1.0, measures.applied_rate(line.settings[0])) / 1e6


def _references(measures: RunMeasures, line: SweepSeries, axis: str, mixed: bool) -> Iterator[Item]:
    """Published series along this axis: aggregates as they are, shares of the payload rate."""
    for series in measures.run.scenario.reference:
        if series.axis == axis and _about(series, line, mixed):
            is_share = series.quantity == "share"
            yield published(series, measures.strategies, _full(measures, line) if is_share else 1.0)


def _about(series: ReferenceSeries, line: SweepSeries, mixed: bool) -> bool:
    quantities = ("aggregate", "share") if mixed else ("aggregate", "per_flow")
    return series.quantity in quantities and any(matches(series, s) for s in line.settings)
