"""Queue disciplines side by side: who gets what, how long packets wait, what is lost and marked."""

from collections.abc import Iterator, Sequence
from typing import Any

from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures
from ..results.sweep import cell_of
from ..state import State, strategy_totals
from ..text import shown, trials_text
from .axes import fair_share
from .plot import EXPLAINED, UNSETTLED, Axis, Item, Means, Panel, Plot, in_legend, means
from .style import INK, MUTED, WIDE, colour_of, marker_of

ROW, MARGIN = 0.38, 1.35
"""Inches: of a discipline, and of the scales and the legend."""
APART = 0.16
"""How far marks of one discipline stand apart, in rows."""
LOST, MARKED = "#B2182B", "#4D9221"
BARS: dict[str, Any] = {
    "capsize": 2.0, "elinewidth": 1.0, "markersize": 5.0, "linestyle": "none", "zorder": 4,
}  # fmt: skip
DELAYS = (
    ("mean_queueing_delay", 1e3, 0.0, {"color": INK, "marker": "o", "label": "mean delay"}),
    ("p95_queueing_delay", 1e3, 0.0,
     {"color": MUTED, "marker": "|", "label": "95th percentile of the delay"}),
)  # fmt: skip
LOSSES = (
    ("loss_rate", 100, -APART, {"color": LOST, "marker": "x", "label": "lost"}),
    ("mark_rate", 100, APART, {"color": MARKED, "marker": "P", "label": "marked"}),
)
"""Metric, factor to the axis's unit, distance from the middle of the row, look."""


def by_discipline_plot(
    measures: RunMeasures, settings: Sequence[Setting], state: State
) -> Plot | None:
    """One mix under each discipline, a row for each; None unless two disciplines have a trial."""
    cells = [c for s in settings if (c := cell_of(measures, s, state)) is not None]
    if len(cells) < 2:
        return None
    rates = [*_throughput(measures, cells, state), fair_share(measures, cells[0].setting, True)]
    if any(cell.unsettled for cell in cells):
        rates.append(in_legend(EXPLAINED, linestyle="none"))
    delays, losses = (
        [_marks(cells, metric, factor, aside, **look) for metric, factor, aside, look in each]
        for each in (DELAYS, LOSSES)
    )
    names = {row: _name(cell) for row, cell in enumerate(cells)}
    y = Axis(low=len(cells) - 0.5, high=-0.5, ticks=names, grid=False)
    panels = [
        Panel(items, Axis(title, low=0, room=1.05), y)
        for items, title in (
            (rates, "throughput per flow (Mbit/s)"),
            (delays, "queueing delay (ms)"),
            (losses, "packets (%)"),
        )
    ]
    return Plot(panels, (WIDE, MARGIN + ROW * len(cells)), columns=4, layout="columns",
                same_y=True, bars_first=True)  # fmt: skip


def _name(cell: Cell) -> str:
    text = cell.setting.queue.text
    return f"{text} {UNSETTLED}" if cell.unsettled else text


def _throughput(measures: RunMeasures, cells: Sequence[Cell], state: State) -> Iterator[Item]:
    """Each strategy's per-flow throughput."""
    totals = dict(zip(measures.strategies, strategy_totals(state), strict=True))
    having = [s for s in measures.strategies if totals[s]]
    count = trials_text([len(cell.trials) for cell in cells])
    for index, strategy in enumerate(having):
        aside = APART * (2 * index - len(having) + 1)
        yield _marks(cells, "per_flow_throughput", shown(1, "bit/s"), aside, strategy,
                     color=colour_of(strategy, measures.strategies),
                     marker=marker_of(strategy, measures.strategies),
                     label=f"{totals[strategy]} {strategy} ({count})")  # fmt: skip


def _marks(
    cells: Sequence[Cell],
    metric: str,
    factor: float,
    aside: float,
    strategy: str | None = None,
    **look: Any,
) -> Means:
    """Means of one metric with their intervals, a row for each discipline that has it."""
    found = ((row + aside, cell.estimate(metric, strategy)) for row, cell in enumerate(cells))
    return means(found, factor=factor, across=True, **look, **BARS)
