"""The equilibrium: by buffer, with models beside it, and by the length of the trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation, Transform
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
from ..results.sweep import LEAST_POINTS, SweepLine, place_of
from ..state import strategy_totals
from ..text import buffer_text, trials_text
from .axes import (
    AXIS_TITLES,
    axis_of,
    mark_unsettled,
    name_scales,
    set_scale,
    shared_legend,
    small_multiples,
)
from .model_lines import LOOKS
from .style import GOOD, INK, MUTED, WIDE, colour_of, legend_below, marker_of, new_figure

STEP_POINTS = 5
"""Between the interval, the equilibria of the means and those of one repetition, to the right."""
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")
MARKERS = ("s", "o", "^", "D")
PUBLISHED_S = 120.0
"""Length of the published trials that the panels are compared with."""


def draw_equilibria_by_buffer(
    measures: RunMeasures, line: SweepLine, equilibria: Mapping[str, SettingEquilibria]
) -> Figure | None:
    """Draw one line of settings: intervals, equilibria, epsilon-equilibria, models.

    Args:
        measures: The run's measures.
        line: Settings that differ in their buffer.
        equilibria: Label of a setting -> its equilibria.

    Returns:
        The figure; None if fewer than two settings have an equilibrium or an interval, or
        mixes have more than two strategies.
    """
    if len(measures.strategies) != 2 or line.axis != "buffer":
        return None
    axis = axis_of(measures, line)
    points = [(place_of(s, axis), equilibria[s.label]) for s in line.settings]
    if sum(bool(e.equilibria or _intervals(e)) for _, e in points) < 2:
        return None
    figure, (ax,) = new_figure(WIDE, 4.2)
    _draw_equilibria(ax, points, measures)
    _draw_intervals(ax, points, measures)
    _draw_each_trial(ax, points, measures)
    draw_published_equilibria(ax, measures, line, axis)
    mark_unsettled(ax, [x for x, each in points if each.not_settled])
    _draw_models(ax, measures, line, axis)
    total = sum(measures.group_sizes)
    first = measures.strategies[0]
    ax.set(
        xlabel=AXIS_TITLES[axis],
        ylabel=f"{first} flows at the equilibrium, of {total}",
        ylim=(-0.03 * total, 1.03 * total),
    )
    set_scale(ax, [x for x, _ in points])
    legend_below(figure, ax, columns=2)
    return figure


def _draw_equilibria(
    ax: Axes, points: list[tuple[float, SettingEquilibria]], measures: RunMeasures
) -> None:
    first = measures.strategies[0]
    exact = [(x, strategy_totals(v.state)[0]) for x, e in points for v in e.equilibria]
    for i, (x, each) in enumerate(points):
        near = [strategy_totals(v.state)[0] for v in each.epsilon_equilibria]
        if near:
            label = f"gain below {each.epsilon:.0%} of the fair share" if i == 0 else None
            ax.plot([x, x], [min(near), max(near)], color=GOOD, alpha=0.35, linewidth=5,
                    solid_capstyle="butt", label=label, zorder=2)  # fmt: skip
    cells = [c for _, e in points for c in measures.cells(e.setting) if c.trials]
    n = trials_text([len(c.trials) for c in cells])
    if not exact:
        return
    ax.plot(*zip(*exact, strict=True), linestyle="none", zorder=4,
            transform=beside(ax, STEP_POINTS),
            color=colour_of(first, measures.strategies),
            marker=marker_of(first, measures.strategies),
            label=f"equilibrium of the means ({n} per mix)")  # fmt: skip


def _intervals(equilibria: SettingEquilibria) -> list[CrossingInterval]:
    """Where the lead surely ends."""
    ends = equilibria.ends
    return [interval for interval in ends.intervals if interval.sure] if ends else []


def _draw_intervals(
    ax: Axes, points: list[tuple[float, SettingEquilibria]], measures: RunMeasures
) -> None:
    first = measures.strategies[0]
    draw_ends_of_lead(ax, points, colour=colour_of(first, measures.strategies), marker="_",
                      capsize=3.5, elinewidth=1.3, markersize=9, zorder=5,
                      label="where the lead ends, 95 %")  # fmt: skip


def draw_ends_of_lead(
    ax: Axes, points: Sequence[tuple[float, SettingEquilibria]], colour: str, **look: Any
) -> None:
    """Draw where the second strategy's lead ends, in flows of the first, with 95 % intervals.

    Args:
        ax: Where.
        points: Equilibria and their places on the x axis; those without an interval are left out.
        colour: The colour of the marks and the intervals.
        look: Further arguments of matplotlib's `errorbar`.
    """
    found = [(x, each.flows, i) for x, each in points for i in _intervals(each)]
    if not found:
        return
    middle = [n - i.place for _, n, i in found]
    below = [m - (n - i.high) for m, (_, n, i) in zip(middle, found, strict=True)]
    above = [(n - i.low) - m for m, (_, n, i) in zip(middle, found, strict=True)]
    ax.errorbar([x for x, _, _ in found], middle, yerr=np.maximum([below, above], 0),
                color=colour, linestyle="none", **look)  # fmt: skip


def _draw_each_trial(
    ax: Axes, points: list[tuple[float, SettingEquilibria]], measures: RunMeasures
) -> None:
    """The equilibria of each repetition alone, as in figure 9 of Mishra 2022."""
    found = [
        (x, strategy_totals(state)[0])
        for x, each in points
        for trial in each.by_trial
        for state in trial.states
    ]
    if found:
        ax.plot(*zip(*found, strict=True), linestyle="none", marker="o", markersize=3.5,
                transform=beside(ax, 2 * STEP_POINTS),
                markerfacecolor="none", markeredgewidth=0.7, alpha=0.7, zorder=3,
                color=colour_of(measures.strategies[0], measures.strategies),
                label="equilibrium of one repetition")  # fmt: skip


def beside(ax: Axes, points: float) -> Transform:
    """Some points to the right of where the data are, so that marks do not hide each other."""
    return ax.transData + ScaledTranslation(points / 72, 0, ax.figure.dpi_scale_trans)


def _draw_models(ax: Axes, measures: RunMeasures, line: SweepLine, axis: str) -> None:
    """CUBIC flows where each model expects BBR's lead to end, and Mishra's band."""
    asked = [
        (place_of(setting, axis), questions)
        for setting in line.settings
        if (questions := questions_of_setting(measures, setting)) is not None
    ]
    total = sum(measures.group_sizes)
    for name in (name for name in MODELS if name in LOOKS and not LOOKS[name].band):
        _draw_model(ax, name, asked, total)
    _draw_band(ax, asked, total)


def _draw_model(ax: Axes, name: str, asked: list[tuple[float, Questions]], total: int) -> None:
    look = LOOKS[name]
    found = [(x, crossing_of(MODELS[name], questions, total)) for x, questions in asked]
    known = [(x, each.first, each.low, each.high) for x, each in found if each.first is not None]
    if not known:
        return
    x, cubic, low, high = (np.array(values, float) for values in zip(*known, strict=True))
    if (low < high).any():
        ax.fill_between(x, total - high, total - low, color=look.colour, alpha=0.15, linewidth=0,
                        zorder=1)  # fmt: skip
    ax.plot(x, cubic, color=look.colour, linestyle=look.style, linewidth=look.width, zorder=2,
            label=MODELS[name].title)  # fmt: skip


def _draw_band(ax: Axes, asked: list[tuple[float, Questions]], total: int) -> None:
    """Between the model's synchronised and its other bound."""
    curve = []
    for place, questions in asked:
        band = equilibrium_band(questions(1))
        bounds = band.synchronised_bbr, band.desynchronised_bbr
        if bounds[0] is not None and bounds[1] is not None:
            curve.append((place, total - bounds[0], total - bounds[1]))
    if curve:
        x, low, high = zip(*curve, strict=True)
        ax.fill_between(x, low, high, color=MUTED, alpha=0.2, linewidth=0, zorder=1,
                        label="Mishra 2022, synchronised to de-synchronised")  # fmt: skip


def draw_published_equilibria(ax: Axes, measures: RunMeasures, line: SweepLine, axis: str) -> None:
    """Draw the scenario's published equilibria of a line's settings.

    Args:
        ax: Where.
        measures: The run's measures.
        line: Settings that differ in their buffer.
        axis: Unit of the places on the line.
    """
    for series in measures.run.scenario.reference:
        about = any(matches(series, s) for s in line.settings)
        if series.axis == axis and series.quantity == "equilibrium" and about:
            ax.plot(series.x, series.y, linestyle="none", marker="x", color=MUTED, zorder=3,
                    label=f"{series.label}, {series.strategy}")  # fmt: skip


def draw_equilibrium_by_length(measures: RunMeasures, sweep: Sequence[SweepLine]) -> Figure | None:
    """Draw what trials of each length would have found, for every start that was swept.

    Args:
        measures: The run's measures.
        sweep: The run's lines against the buffer, which may differ in their start.

    Returns:
        The figure; None without at least two lengths at any buffer, with several groups or more
        than two strategies, or where throughput is over each strategy's own span.
    """
    if len(measures.strategies) != 2 or len(measures.group_names) > 1:
        return None
    if measures.run.scenario.window == "whole":
        return None
    by_buffer: dict[str, list[Setting]] = {}
    for line in sweep:
        for setting in line.settings if line.axis == "buffer" else ():
            by_buffer.setdefault(setting.buffer_label, []).append(setting)
    settings = [setting for each in by_buffer.values() for setting in each]
    if not any(len(lengths_of(measures, setting)) >= LEAST_POINTS for setting in settings):
        return None
    found = {
        label: [(setting, equilibria_by_length(measures, setting)) for setting in each]
        for label, each in by_buffer.items()
    }
    return _draw_panels(measures, found)


def _draw_panels(
    measures: RunMeasures,
    found: dict[str, list[tuple[Setting, EquilibriaByLength]]],
) -> Figure:
    figure, axes = small_multiples(len(found))
    starts = _starts(found)
    for ax, settings in zip(axes, found.values(), strict=True):
        first = settings[0][0]
        for setting, by_length in settings:
            _draw_line(ax, measures, setting, by_length, starts.index(_label(setting.start)))
        _draw_published(ax, measures, first)
        ax.set_title(buffer_text(first, measures.applied_buffer(first)), fontsize="medium", pad=3)
    _name_axes(axes, measures)
    shared_legend(figure, axes, columns=2)
    return figure


def _starts(found: dict[str, list[tuple[Setting, EquilibriaByLength]]]) -> list[str]:
    labels = [_label(setting.start) for each in found.values() for setting, _ in each]
    return list(dict.fromkeys(labels))


def _label(start: StartSpec | None) -> str:
    return "" if start is None else start_label(start)


def _draw_line(
    ax: Axes,
    measures: RunMeasures,
    setting: Setting,
    by_length: EquilibriaByLength,
    number: int,
) -> None:
    """Flows of the first strategy where the second one's lead ends, with its interval."""
    total = sum(measures.group_sizes)
    start = starts_text(measures.run.scenario.starts(setting.start))
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    for seconds, point in by_length.points.items():
        for interval in point.ends.intervals:
            ax.plot([seconds, seconds], [total - interval.high, total - interval.low],
                    color=colour, alpha=0.35, linewidth=4, solid_capstyle="butt",
                    zorder=2)  # fmt: skip
    end = by_length.at_the_end
    for interval in end.ends.intervals:
        ax.axhspan(total - interval.high, total - interval.low, color=colour, alpha=0.15,
                   linewidth=0, zorder=1)  # fmt: skip
    if end.at is not None:
        ax.axhline(total - end.at, color=colour, linestyle=(number * 4.0, (4, 4)), linewidth=1.2,
                   label=f"{start}: second half alone", zorder=2)  # fmt: skip
    known = [(s, total - p.at) for s, p in by_length.points.items() if p.at is not None]
    ax.plot([s for s, _ in known], [flows for _, flows in known], color=colour, marker=marker,
            markersize=3.5, linewidth=1.1, label=start, zorder=3)  # fmt: skip


def _draw_published(ax: Axes, measures: RunMeasures, setting: Setting) -> None:
    for series in measures.run.scenario.reference:
        if series.quantity != "equilibrium" or series.strategy != measures.strategies[0]:
            continue
        for x, flows in zip(series.x, series.y, strict=True):
            here = abs(x - place_of(setting, series.axis)) <= 1e-3 * max(x, 1.0)
            if here and matches(series, setting):
                ax.plot([PUBLISHED_S], [flows], marker="x", linestyle="none", color=INK,
                        label=series.label, zorder=4)  # fmt: skip


def _name_axes(axes: Sequence[Axes], measures: RunMeasures) -> None:
    first, total = measures.strategies[0], sum(measures.group_sizes)
    ticks = (60, 120, 240, 480, 900)
    axes[0].set(xscale="log", ylim=(-0.03 * total, 1.03 * total))
    axes[0].set_xticks(ticks, [str(t) for t in ticks])
    axes[0].minorticks_off()
    name_scales(axes, "length of the trials (s)", f"{first} flows at the\nequilibrium, of {total}")
