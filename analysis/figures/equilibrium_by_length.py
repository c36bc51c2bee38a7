"""The equilibrium against the length of the trials, a small axes for each buffer."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.controlplane.contract.course import StartSpec, start_label, start_text
from nashbed.controlplane.contract.trial import Setting

from ..measures import RunMeasures
from ..results.bounds import matches
from ..results.by_length import EquilibriaByLength, equilibria_by_length, lengths_of
from ..results.sweep import LEAST_POINTS, SweepLine, place_of
from ..text import buffer_text
from .small_multiples import name_scales, shared_legend, small_multiples
from .style import INK

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")
MARKERS = ("s", "o", "^", "D")
PUBLISHED_S = 120.0
"""Length of the published trials that the panels are compared with."""


def draw(measures: RunMeasures, sweep: Sequence[SweepLine]) -> Figure | None:
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
    start = setting.start if setting.start is not None else measures.run.scenario.start
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    for point in by_length.points:
        for interval in point.ends.intervals:
            ax.plot([point.seconds, point.seconds], [total - interval.high, total - interval.low],
                    color=colour, alpha=0.35, linewidth=4, solid_capstyle="butt",
                    zorder=2)  # fmt: skip
    if by_length.at_the_end is not None:
        ax.axhline(total - by_length.at_the_end, color=colour, linestyle=(number * 4.0, (4, 4)),
                   linewidth=1.2, label=f"{start_text(start)}: second half alone",
                   zorder=2)  # fmt: skip
    known = [(p.seconds, total - p.at) for p in by_length.points if p.at is not None]
    ax.plot([s for s, _ in known], [flows for _, flows in known], color=colour, marker=marker,
            markersize=3.5, linewidth=1.1, label=start_text(start), zorder=3)  # fmt: skip


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
