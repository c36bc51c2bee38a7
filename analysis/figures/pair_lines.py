"""Every congestion control against the first one: per-flow throughput by mix, all in one figure."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures
from ..text import shown, trials_text
from .estimates import draw_estimates
from .style import INK, WIDE, colour_of, legend_below, marker_of, new_figure

METRIC = "per_flow_throughput"


def draw(measures: RunMeasures, setting: Setting) -> Figure | None:
    """Draw one setting: above the other control of each mix, below the first one beside it.

    Args:
        measures: The run's measures.
        setting: The setting.

    Returns:
        The figure; None unless at least two others were run against the first.
    """
    first, *others = measures.strategies
    lines = {name: _cells_of_pair(measures, setting, name) for name in others}
    lines = {name: cells for name, cells in lines.items() if len(cells) > 1}
    if len(lines) < 2 or len(measures.group_names) > 1:
        return None
    figure, (above, below) = new_figure(WIDE, 6.4, 2)
    for name, cells in lines.items():
        _draw_line(above, measures, cells, name, of=name)
        _draw_line(below, measures, cells, name, of=first)
    for ax, title in ((above, "the other control"), (below, f"{first}, beside it")):
        fair = shown(measures.fair_share(setting), "bit/s")
        ax.axhline(fair, color=INK, linestyle=(0, (5, 3)), linewidth=1, zorder=2)
        ax.set_title(title)
        ax.set_ylabel("Mbit/s per flow")
        ax.set_ylim(bottom=0)
    below.set_xlabel(f"flows of the other control, of {measures.group_sizes[0]}")
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_below(figure, above, columns=3)
    return figure


def _cells_of_pair(measures: RunMeasures, setting: Setting, other: str) -> list[Cell]:
    """The mixes of the first control and one other, by the flows of the other."""
    second = measures.strategies.index(other)
    total = sum(measures.group_sizes)
    cells = [c for c in measures.cells(setting) if c.trials]
    of_pair = [c for c in cells if c.state[0][0] + c.state[0][second] == total]
    return sorted(of_pair, key=lambda c: c.state[0][second])


def _draw_line(ax: Axes, measures: RunMeasures, cells: list[Cell], other: str, of: str) -> None:
    second = measures.strategies.index(other)
    points = [(c.state[0][second], c.estimate(METRIC, of, 0)) for c in cells]
    known = [(x, e) for x, e in points if e is not None]
    if not known:
        return
    draw_estimates(
        ax,
        [x for x, _ in known],
        [e.scaled(shown(1, "bit/s")) for _, e in known],
        colour_of(other, measures.strategies),
        marker=marker_of(other, measures.strategies),
        linestyle="-",
        capsize=2.5,
        elinewidth=1.1,
        label=f"{other} ({trials_text([e.n for _, e in known])} per mix)",
        zorder=4,
    )
