"""Queue disciplines side by side: who gets what, how long packets wait, what is lost and marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures
from ..metrics.statistics import Estimate
from ..results.sweep import cell_of
from ..state import State, strategy_totals
from ..text import shown, trials_text
from .axes import EXPLAINED, MARK, shared_legend
from .style import INK, MUTED, WIDE, colour_of, marker_of

ROW, MARGIN = 0.38, 1.35
"""Inches: of a discipline, and of the scales and the legend."""
APART = 0.16
"""How far marks of one discipline stand apart, in rows."""
LOST, MARKED = "#B2182B", "#4D9221"
BARS: dict[str, Any] = {
    "capsize": 2.0, "elinewidth": 1.0, "markersize": 5.0, "linestyle": "none", "zorder": 4,
}  # fmt: skip


@dataclass(frozen=True)
class _Marks:
    """One metric as it is drawn.

    Attributes:
        metric: Its name.
        factor: From its unit to that of the axis.
        colour: Of its marks.
        marker: Their shape.
        label: What the legend calls it.
        aside: How far they are from the middle of their row.
        strategy: Of the flows of this strategy alone (None: of all).
    """

    metric: str
    factor: float
    colour: str
    marker: str
    label: str
    aside: float = 0.0
    strategy: str | None = None


DELAYS = (
    _Marks("mean_queueing_delay", 1e3, INK, "o", "mean delay"),
    _Marks("p95_queueing_delay", 1e3, MUTED, "|", "95th percentile of the delay"),
)
LOSSES = (
    _Marks("loss_rate", 100, LOST, "x", "lost", -APART),
    _Marks("mark_rate", 100, MARKED, "P", "marked", APART),
)


def draw_by_discipline(
    measures: RunMeasures, settings: Sequence[Setting], state: State
) -> Figure | None:
    """Draw one mix under each discipline, a row for each.

    Args:
        measures: The run's measures.
        settings: Settings that differ in their queue's discipline alone.
        state: The mix.

    Returns:
        The figure; None unless two disciplines have a trial of the mix.
    """
    cells = [c for s in settings if (c := cell_of(measures, s, state)) is not None]
    if len(cells) < 2:
        return None
    figure = Figure(figsize=(WIDE, MARGIN + ROW * len(cells)), layout="constrained")
    rates, delays, losses = figure.subplots(1, 3, sharey=True)
    _draw_throughput(rates, measures, cells, state)
    for ax, marks in ((delays, DELAYS), (losses, LOSSES)):
        for each in marks:
            _draw(ax, cells, each)
    for ax, title in (
        (rates, "throughput per flow (Mbit/s)"),
        (delays, "queueing delay (ms)"),
        (losses, "packets (%)"),
    ):
        ax.set_xlabel(title)
        ax.set_xlim(0, 1.05 * ax.get_xlim()[1])
        ax.grid(visible=False, axis="y")
    rates.set_yticks(range(len(cells)), [_name(cell) for cell in cells])
    rates.set_ylim(len(cells) - 0.5, -0.5)
    if any(cell.unsettled for cell in cells):
        rates.plot([], [], linestyle="none", label=EXPLAINED)
    shared_legend(figure, (rates, delays, losses), columns=4)
    return figure


def _name(cell: Cell) -> str:
    return f"{cell.setting.queue.text} {MARK}" if cell.unsettled else cell.setting.queue.text


def _draw_throughput(ax: Axes, measures: RunMeasures, cells: Sequence[Cell], state: State) -> None:
    """Each strategy's per-flow throughput, and the fair share."""
    totals = dict(zip(measures.strategies, strategy_totals(state), strict=True))
    having = [s for s in measures.strategies if totals[s]]
    count = trials_text([len(cell.trials) for cell in cells])
    for index, strategy in enumerate(having):
        look = colour_of(strategy, measures.strategies), marker_of(strategy, measures.strategies)
        label = f"{totals[strategy]} {strategy} ({count})"
        aside = APART * (2 * index - len(having) + 1)
        factor = shown(1, "bit/s")
        _draw(ax, cells, _Marks("per_flow_throughput", factor, *look, label, aside, strategy))
    fair = shown(measures.fair_share(cells[0].setting), "bit/s")
    ax.axvline(fair, color=INK, linestyle=(0, (5, 3)), linewidth=1.0,
               label="fair share of the rate", zorder=2)  # fmt: skip


def _draw(ax: Axes, cells: Sequence[Cell], marks: _Marks) -> None:
    """Means of one metric with their intervals, a row for each discipline that has it."""
    known: list[tuple[float, Estimate]] = []
    for row, cell in enumerate(cells):
        found = cell.estimate(marks.metric, marks.strategy)
        if found is not None:
            known.append((row + marks.aside, found.scaled(marks.factor)))
    if not known:
        return
    bars = [estimate.half_width or 0.0 for _, estimate in known]
    ax.errorbar(
        [estimate.mean for _, estimate in known],
        [row for row, _ in known],
        xerr=bars if any(bars) else None,
        color=marks.colour,
        marker=marks.marker,
        label=marks.label,
        **BARS,
    )
    for place, estimate in known:
        ax.scatter(estimate.points, [place] * len(estimate.points), s=6, color=marks.colour,
                   alpha=0.6, linewidths=0, zorder=3)  # fmt: skip
