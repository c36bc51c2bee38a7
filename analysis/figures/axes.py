"""What figures share: the axes of mixes and of what was swept, small multiples, means and marks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from nashbed.controlplane.contract.trial import Setting

from ..measures import RunMeasures
from ..metrics.statistics import Estimate
from ..results.sweep import SweepLine
from ..state import State, strategy_totals
from .style import MUTED, WIDE

LOG_FROM = 20
"""Largest by smallest place from which on the axis is logarithmic."""
MOST_TICKS = 8
"""Measured places that a logarithmic axis names one by one."""
AXIS_TITLES = {
    "buffer_bdp": "buffer (BDP)", "buffer_mb": "buffer (MB)", "random_loss": "random loss (%)",
}  # fmt: skip
MARK = "~"
EXPLAINED = f"{MARK}  trials that had not settled"
COLUMNS = 4
ROW_HEIGHT, MARGIN = 1.8, 0.8
"""Inches: of a row of axes, and of the scale and the legend below the last."""


def place_of_mix(state: State) -> int:
    """The place of a mix on the axis of mixes: flows of all strategies but the first."""
    return sum(strategy_totals(state)[1:])


@dataclass(frozen=True)
class MixAxis:
    """The axis of a setting's mixes.

    Where three strategies or more run and each only alone, a place for each of them; otherwise
    the number of flows of all but the first.

    Attributes:
        alone: The strategies, where each runs only alone; empty: mixes are by their numbers.
        flows: Flows of a mix.
        others: What the flows of the axis run.
    """

    alone: tuple[str, ...]
    flows: int
    others: str

    def place(self, state: State) -> int:
        """The place of a mix."""
        return strategy_totals(state).index(self.flows) if self.alone else place_of_mix(state)

    def set(self, ax: Axes) -> None:
        """Give an axis its scale and its title."""
        if self.alone:
            ax.set_xlabel(f"what all {self.flows} flows run" if self.flows > 1 else "the flow runs")
            ax.set_xlim(-0.5, len(self.alone) - 0.5)
            ax.set_xticks(range(len(self.alone)), self.alone)
            return
        ax.set_xlabel(f"flows running {self.others}, of {self.flows}")
        ax.set_xlim(-0.5, self.flows + 0.5)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12, min_n_ticks=1))


def mix_axis(measures: RunMeasures, setting: Setting) -> MixAxis:
    """The axis of a setting's mixes.

    Args:
        measures: The run's measures.
        setting: The setting.
    """
    strategies = measures.strategies
    return MixAxis(
        alone=strategies if measures.each_runs_alone(setting) else (),
        flows=sum(measures.group_sizes),
        others=strategies[1] if len(strategies) == 2 else "other",
    )


def axis_of(measures: RunMeasures, line: SweepLine) -> str:
    """Unit of the places on the line: the one in which the scenario writes its buffers."""
    if line.axis == "random_loss":
        return "random_loss"
    written = {s.buffer_label.lstrip("0123456789.") for s in line.settings}
    return "buffer_bdp" if written == {"bdp"} else "buffer_mb"


def set_scale(ax: Axes, places: Sequence[float]) -> None:
    """A logarithmic axis where places span more than a factor of 20; 0 remains on it."""
    above = sorted({x for x in places if x > 0})
    if not above or max(above) < LOG_FROM * min(above):
        return
    if min(places) > 0:
        ax.set_xscale("log")
    else:
        ax.set_xscale("symlog", linthresh=min(above))
    if len(above) <= MOST_TICKS and all(b >= 1.3 * a for a, b in pairwise(above)):
        ax.set_xticks(sorted(set(places)))
        ax.minorticks_off()
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def draw_estimates(
    ax: Axes, x: Sequence[float], estimates: Sequence[Estimate], colour: str, **look: Any
) -> None:
    """Draw means with error bars; small dots where observations stand in an interval's place.

    Args:
        ax: Where.
        x: Place of each mean.
        estimates: The means, in the unit of the axis.
        colour: Of all of it.
        look: Further arguments of matplotlib's `errorbar`.
    """
    half = [e.half_width or 0.0 for e in estimates]
    ax.errorbar(
        list(x),
        [e.mean for e in estimates],
        yerr=half if any(half) else None,
        color=colour,
        **look,
    )
    dots = [(place, p) for place, e in zip(x, estimates, strict=True) for p in e.points]
    if dots:
        places, points = zip(*dots, strict=True)
        ax.scatter(places, points, s=6, color=colour, alpha=0.6, linewidths=0, zorder=3)


def mark_unsettled(ax: Axes, places: Iterable[float]) -> None:
    """Write the mark along the foot of the axes, and what it means into the legend.

    Args:
        ax: The axes.
        places: Where the means of such trials are, on the x axis.
    """
    marked = sorted(set(places))
    for x in marked:
        ax.text(x, 0.0, MARK, transform=ax.get_xaxis_transform(), ha="center", va="bottom",
                color=MUTED, fontsize=8, clip_on=False)  # fmt: skip
    if marked:
        ax.plot([], [], linestyle="none", label=EXPLAINED)


def small_multiples(count: int) -> tuple[Figure, list[Axes]]:
    """As many axes of one size, with shared scales, row by row.

    Args:
        count: How many.
    """
    columns = min(count, COLUMNS)
    rows = -(-count // columns)
    figure = Figure(figsize=(WIDE, MARGIN + rows * ROW_HEIGHT), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat)
    for spare in axes[count:]:
        spare.remove()
    return figure, axes[:count]


def name_scales(axes: Sequence[Axes], below: str, beside: str) -> None:
    """Numbers below the lowest axes of each column, and titles at the edges.

    Args:
        axes: The axes, row by row.
        below: Title of the x axis.
        beside: Title of the y axis.
    """
    last_row = (len(axes) - 1) // COLUMNS * COLUMNS
    for ax in axes:
        ax.tick_params(labelsize=8)
    for ax in axes[-COLUMNS:]:
        ax.tick_params(labelbottom=True)
    for ax in axes[last_row:]:
        ax.set_xlabel(below, fontsize=8)
    for ax in axes[::COLUMNS]:
        ax.set_ylabel(beside, fontsize=8)


def shared_legend(figure: Figure, axes: Sequence[Axes], columns: int) -> None:
    """One legend of all axes, points with bars first."""
    entries: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    labels = sorted(entries, key=lambda label: not isinstance(entries[label], ErrorbarContainer))
    figure.legend(
        [entries[label] for label in labels], labels, loc="outside lower center", ncols=columns
    )
