"""Where each congestion control settles against the first one, by buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from ..measures import RunMeasures
from ..nash.of_run import SettingEquilibria
from ..nash.pairs import PairEquilibria
from ..results.sweep import SweepLine, place_of
from .against_setting import AXIS_TITLES, axis_of, set_scale
from .style import WIDE, colour_of, legend_below, marker_of, new_figure

ASIDE = 0.012
"""How far the controls stand apart on the axis, as a share of the place: they often coincide."""


@dataclass(frozen=True)
class _Point:
    """Flows of the first control at the equilibria at one place, and its 95 % interval."""

    x: float
    flows: list[float]
    span: tuple[float, ...] | None


def draw(
    measures: RunMeasures, line: SweepLine, equilibria: Mapping[str, SettingEquilibria]
) -> Figure | None:
    """Draw flows of the first control at each equilibrium, a line for each other control.

    Args:
        measures: The run's measures.
        line: Settings that differ in their buffer.
        equilibria: Label of a setting -> its equilibria.

    Returns:
        The figure; None unless at least two others were run against the first.
    """
    first, *others = measures.strategies
    points = {name: _points(measures, line, equilibria, name) for name in others}
    points = {name: found for name, found in points.items() if found}
    if line.axis != "buffer" or len(points) < 2:
        return None
    axis = axis_of(measures, line)
    figure, (ax,) = new_figure(WIDE, 4.4)
    for index, (name, found) in enumerate(points.items()):
        aside = 1 + ASIDE * (index - (len(points) - 1) / 2)
        colour, marker = colour_of(name, measures.strategies), marker_of(name, measures.strategies)
        ax.plot([aside * p.x for p in found], [sum(p.flows) / len(p.flows) for p in found],
                color=colour, linewidth=1.2, alpha=0.7)  # fmt: skip
        for i, point in enumerate(found):
            ax.plot([aside * point.x] * len(point.flows), point.flows, color=colour, marker=marker,
                    linestyle="none", label=name if i == 0 else None)  # fmt: skip
            if point.span is not None:
                ax.plot([aside * point.x] * 2, point.span, color=colour, linewidth=1.1, alpha=0.5)
    total = sum(measures.group_sizes)
    ax.set(
        xlabel=AXIS_TITLES[axis],
        ylabel=f"{first} flows at the equilibrium, of {total}",
        ylim=(-0.03 * total, 1.03 * total),
    )
    set_scale(ax, [place_of(s, axis) for s in line.settings])
    legend_below(figure, ax, columns=4)
    return figure


def _points(
    measures: RunMeasures,
    line: SweepLine,
    equilibria: Mapping[str, SettingEquilibria],
    other: str,
) -> list[_Point]:
    """Where the first control settles against another one, along the axis."""
    axis = axis_of(measures, line)
    found = []
    for setting in line.settings:
        pair = _pair(equilibria[setting.label].pairs, measures.strategies[0], other)
        if pair is not None and pair.shares_of_first:
            flows = sorted(share * pair.flows for share in pair.shares_of_first)
            low_high = pair.span_of_first
            span = None if low_high is None else tuple(share * pair.flows for share in low_high)
            found.append(_Point(place_of(setting, axis), flows, span))
    return found


def _pair(pairs: Sequence[PairEquilibria], first: str, second: str) -> PairEquilibria | None:
    return next((p for p in pairs if (p.first, p.second) == (first, second)), None)
