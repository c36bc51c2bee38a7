"""The equilibrium: by what was swept, with models beside it, and by the length of the trials."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from nashbed.controlplane.contract.course import StartSpec, start_label, starts_text
from nashbed.controlplane.contract.trial import Setting

from ..measures import RunMeasures
from ..models import MODELS
from ..models.band import equilibrium_band
from ..models.crossing import crossing_of
from ..models.measured import Questions, questions_of_setting
from ..nash.crossing_interval import CrossingInterval
from ..nash.of_run import SettingEquilibria
from ..results.bounds import matches
from ..results.by_length import EquilibriaByLength, equilibria_by_length, lengths_of
from ..results.sweep import LEAST_POINTS, SweepSeries, place_of
from ..state import strategy_totals
from ..text import buffer_text, trials_text
from .axes import axis_of, flows_axis, swept
from .model_lines import LOOKS
from .plot import Axis, Band, Item, Line, Means, Panel, Plot, Rule, Span, through, unsettled
from .style import DASHED, GOOD, INK, MUTED, colour_of, marker_of

STEP_POINTS = 5
"""Between the interval, the equilibria of the means and those of one repetition, to the right."""
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")
MARKERS = ("s", "o", "^", "D")
PUBLISHED_S = 120.0
"""Length of the published trials that the panels are compared with."""
LENGTHS = {seconds: str(seconds) for seconds in (60, 120, 240, 480, 900)}
Points = Sequence[tuple[float, SettingEquilibria]]
"""Equilibria and their places on the x axis."""


def equilibria_along_plot(
    measures: RunMeasures, line: SweepSeries, equilibria: Mapping[str, SettingEquilibria]
) -> Plot | None:
    """Intervals, equilibria, epsilon-equilibria and models along a line of settings.

    None if fewer than two have an equilibrium or an interval, or mixes have more than two
    strategies.
    """
    if len(measures.strategies) != 2:
        return None
    axis = axis_of(measures, line)
    points = [(place_of(s, axis), equilibria[s.label]) for s in line.settings]
    if sum(bool(e.equilibria or _intervals(e)) for _, e in points) < 2:
        return None
    first = measures.strategies[0]
    items = [
        *_equilibria(points, measures),
        ends_of_lead(points, "where the lead ends, 95 %", marker="_", capsize=3.5, elinewidth=1.3,
                     markersize=9, zorder=5, color=colour_of(first, measures.strategies)),
        *_of_each_trial(points, measures),
        *published_equilibria(measures, line, axis),
        *unsettled(x for x, each in points if each.not_settled),
        *_models(measures, line, axis),
        *_all_flows(points),
    ]  # fmt: skip
    x = swept(axis, [x for x, _ in points])
    return Plot([Panel(items, x, flows_axis(measures, line.settings, "flows at the equilibrium"))])


def _all_flows(points: Points) -> Iterator[Line]:
    """The number of flows, where it is not the same everywhere."""
    totals = [each.flows for _, each in points]
    if len(set(totals)) > 1:
        yield Line([x for x, _ in points], totals, "all flows", color=MUTED, linestyle=DASHED,
                   linewidth=0.9, zorder=2)  # fmt: skip


def _equilibria(points: Points, measures: RunMeasures) -> Iterator[Item]:
    first = measures.strategies[0]
    for i, (x, each) in enumerate(points):
        near = [strategy_totals(v.state)[0] for v in each.epsilon_equilibria]
        if near:
            label = f"gain below {each.epsilon:.0%} of the fair share" if i == 0 else None
            yield Line([x, x], [min(near), max(near)], label, color=GOOD, alpha=0.35, linewidth=5,
                       solid_capstyle="butt", zorder=2)  # fmt: skip
    exact = [(x, strategy_totals(v.state)[0]) for x, e in points for v in e.equilibria]
    if exact:
        cells = [c for _, e in points for c in measures.cells(e.setting) if c.trials]
        n = trials_text([len(c.trials) for c in cells])
        yield through(exact, f"equilibrium of the means ({n} per mix)",
                   right=STEP_POINTS, linestyle="none", zorder=4,
                   color=colour_of(first, measures.strategies),
                   marker=marker_of(first, measures.strategies))  # fmt: skip


def _intervals(equilibria: SettingEquilibria) -> list[CrossingInterval]:
    """Where the lead surely ends."""
    ends = equilibria.ends
    return [interval for interval in ends.intervals if interval.sure] if ends else []


def ends_of_lead(points: Points, label: str | None = None, **look: Any) -> Means:
    """Where the second strategy's lead ends, in flows of the first, with 95 % intervals."""
    found = [(x, each.flows, i) for x, each in points for i in _intervals(each)]
    middle = [n - i.place for _, n, i in found]
    below = [m - (n - i.high) for m, (_, n, i) in zip(middle, found, strict=True)]
    above = [(n - i.low) - m for m, (_, n, i) in zip(middle, found, strict=True)]
    half = np.maximum([below, above], 0)
    return Means([x for x, _, _ in found], middle, half, label, linestyle="none", **look)


def _of_each_trial(points: Points, measures: RunMeasures) -> Iterator[Item]:
    """The equilibria of each repetition alone, as in figure 9 of Mishra 2022."""
    found = [
        (x, strategy_totals(state)[0])
        for x, each in points
        for trial in each.by_trial
        for state in trial.states
    ]
    if found:
        yield through(found, "equilibrium of one repetition",
                   right=2 * STEP_POINTS, linestyle="none", marker="o", markersize=3.5,
                   markerfacecolor="none", markeredgewidth=0.7, alpha=0.7, zorder=3,
                   color=colour_of(measures.strategies[0], measures.strategies))  # fmt: skip


def _models(measures: RunMeasures, line: SweepSeries, axis: str) -> Iterator[Item]:
    """CUBIC flows where each model expects BBR's lead to end, and Mishra's band."""
    asked = [
        (place_of(setting, axis), measures.flows(setting), questions)
        for setting in line.settings
        if (questions := questions_of_setting(measures, setting)) is not None
    ]
    for name in (name for name in MODELS if name in LOOKS and not LOOKS[name].band):
        yield from _model(name, asked)
    curve = []
    for place, total, questions in asked:
        band = equilibrium_band(questions(1))
        bounds = band.synchronised_bbr, band.desynchronised_bbr
        if bounds[0] is not None and bounds[1] is not None:
            curve.append((place, total - bounds[0], total - bounds[1]))
    if curve:
        x, low, high = zip(*curve, strict=True)
        yield Band(x, low, high, "Mishra 2022, synchronised to de-synchronised",
                   color=MUTED, alpha=0.2, zorder=1)  # fmt: skip


def _model(name: str, asked: list[tuple[float, int, Questions]]) -> Iterator[Item]:
    look = LOOKS[name]
    found = [(x, n, crossing_of(MODELS[name], questions, n)) for x, n, questions in asked]
    known = [(x, n, at.first, at.low, at.high) for x, n, at in found if at.first is not None]
    if not known:
        return
    x, total, cubic, low, high = (np.array(values, float) for values in zip(*known, strict=True))
    if (low < high).any():
        yield Band(x, total - high, total - low, color=look.colour, alpha=0.15, zorder=1)
    yield Line(x, cubic, MODELS[name].title, color=look.colour, linestyle=look.style,
               linewidth=look.width, zorder=2)  # fmt: skip


def published_equilibria(measures: RunMeasures, line: SweepSeries, axis: str) -> Iterator[Item]:
    """The scenario's published equilibria of a line's settings, by places in a unit."""
    for series in measures.run.scenario.reference:
        about = any(matches(series, s) for s in line.settings)
        if series.axis == axis and series.quantity == "equilibrium" and about:
            yield Line(series.x, series.y, f"{series.label}, {series.strategy}", linestyle="none",
                       marker="x", color=MUTED, zorder=3)  # fmt: skip


def equilibrium_by_length_plot(measures: RunMeasures, sweep: Sequence[SweepSeries]) -> Plot | None:
    """What trials of each length would have found, for every start that was swept.

    None without at least two lengths at any buffer, with several groups or more than two
    strategies, or where throughput is over each strategy's own span.
    """
    if len(measures.strategies) != 2 or len(measures.group_names) > 1:
        return None
    if measures.run.scenario.window == "whole":
        return None
    settings = [each for line in sweep if line.axis == "buffer" for each in line.settings]
    longest_ns = max((each.duration_ns or 0 for each in settings), default=0)
    settings = [each for each in settings if (each.duration_ns or 0) == longest_ns]
    by_place: dict[tuple[str, int], list[Setting]] = {}
    for each in settings:
        by_place.setdefault((each.buffer_label, measures.flows(each)), []).append(each)
    if not any(len(lengths_of(measures, setting)) >= LEAST_POINTS for setting in settings):
        return None
    starts = list(dict.fromkeys(_label(setting.start) for setting in settings))
    x = Axis("length of the trials (s)", scale="log", ticks=LENGTHS)
    panels = []
    for alike in by_place.values():
        items: list[Item] = []
        for setting in alike:
            found = equilibria_by_length(measures, setting)
            items += _by_length(measures, setting, found, starts.index(_label(setting.start)))
        items += _published(measures, alike[0])
        y = flows_axis(measures, alike, "flows at the\nequilibrium")
        title = buffer_text(alike[0], measures.applied_buffer(alike[0]))
        panels.append(Panel(items, x, y, title))
    return Plot(panels, layout="grid", bars_first=True)


def _label(start: StartSpec | None) -> str:
    return "" if start is None else start_label(start)


def _by_length(
    measures: RunMeasures, setting: Setting, by_length: EquilibriaByLength, number: int
) -> Iterator[Item]:
    """Flows of the first strategy where the second one's lead ends, with its interval."""
    total = measures.flows(setting)
    start = starts_text(measures.scenario_at(setting).starts())
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    for seconds, point in by_length.points.items():
        for interval in point.ends.intervals:
            yield Line([seconds, seconds], [total - interval.high, total - interval.low],
                       color=colour, alpha=0.35, linewidth=4, solid_capstyle="butt",
                       zorder=2)  # fmt: skip
    end = by_length.at_the_end
    for interval in end.ends.intervals:
        yield Span(total - interval.high, total - interval.low, upright=False, color=colour,
                   alpha=0.15, zorder=1)  # fmt: skip
    if end.at is not None:
        yield Rule(total - end.at, f"{start}: second half alone", color=colour,
                   linestyle=(number * 4.0, (4, 4)), linewidth=1.2, zorder=2)  # fmt: skip
    known = [(s, total - p.at) for s, p in by_length.points.items() if p.at is not None]
    yield through(known, start, color=colour,
               marker=marker, markersize=3.5, linewidth=1.1, zorder=3)  # fmt: skip


def _published(measures: RunMeasures, setting: Setting) -> Iterator[Item]:
    for series in measures.run.scenario.reference:
        if series.quantity != "equilibrium" or series.strategy != measures.strategies[0]:
            continue
        for x, flows in zip(series.x, series.y, strict=True):
            here = abs(x - place_of(setting, series.axis)) <= 1e-3 * max(x, 1.0)
            if here and matches(series, setting):
                yield Line([PUBLISHED_S], [flows], series.label, marker="x", linestyle="none",
                           color=INK, zorder=4)  # fmt: skip
