"""Finite transfers and paced media: slowdown by size, and how long datagrams are on the way."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Cell, RunMeasures
from ..metrics.completion import CLASS_NAMES
from ..metrics.media import one_way_delays
from ..results.transfers import ClassOfTransfers
from ..state import State, state_text, strategy_totals
from .plot import Axis, Item, Line, Means, Note, Panel, Plot, Rule, in_legend, means
from .style import DASHED, INK, MARKERS, MUTED, NARROW, colour_of, share_colours

BESIDE = 0.07
"""How far the marks of neighbouring mixes stand apart, in size classes."""
POINTS = 2000
"""Of a distribution: a line through more of them looks the same."""


def colour_of_mix(measures: RunMeasures, state: State) -> Any:
    """The colour of a mix: that of its only strategy, or between those of two."""
    totals = dict(zip(measures.strategies, strategy_totals(state), strict=True))
    present = [name for name, count in totals.items() if count]
    if not present:
        return INK
    if len(present) == 1:
        return colour_of(present[0], measures.strategies)
    if len(present) == 2:
        share = totals[present[1]] / sum(totals.values())
        return share_colours(*present)(share)
    return MUTED


def name_of_mix(measures: RunMeasures, state: State) -> str:
    """A mix in words; one without flows is the victim alone."""
    if not sum(strategy_totals(state)):
        return "alone"
    return state_text(state, measures.strategies, measures.group_names)


def by_size_plot(measures: RunMeasures, rows: Sequence[ClassOfTransfers]) -> Plot | None:
    """Median and 99th percentile of slowdowns (or of completion times) by size class.

    Rows are of one setting, group and strategy: every mix that is to be drawn.
    """
    slow = any(row.readings["median_slowdown"] for row in rows)
    states = list(dict.fromkeys(row.state for row in rows))
    items: list[Item] = []
    for index, state in enumerate(states):
        mine = [row for row in rows if row.state == state and row.sizes in CLASS_NAMES]
        aside = BESIDE * (index - (len(states) - 1) / 2)
        look = {"color": colour_of_mix(measures, state), "marker": MARKERS[index % len(MARKERS)]}
        name = name_of_mix(measures, state)
        items += _quantiles(mine, "slowdown" if slow else "s", name, aside, look)
    if not items:
        return None
    if slow:
        items.append(Rule(1.0, color=INK, linewidth=1.0, linestyle=DASHED, zorder=2))
    items += [in_legend("median", color=MUTED, linestyle="-"),
              in_legend("99th percentile", color=MUTED, linestyle=":")]  # fmt: skip
    x = Axis("size of the transfer", -0.4, len(CLASS_NAMES) - 0.6,
             ticks=dict(enumerate(CLASS_NAMES)))  # fmt: skip
    y = Axis("slowdown (times the ideal)" if slow else "completion time (s)", scale="log",
             form="{:g}".format)  # fmt: skip
    return Plot([Panel(items, x, y)], (NARROW, 3.8), columns=3)


def _quantiles(
    rows: Sequence[ClassOfTransfers], what: str, name: str, aside: float, look: dict[str, Any]
) -> Iterator[Means]:
    """Median and 99th percentile, where they are known."""
    p99: dict[str, Any] = {"markerfacecolor": "white"}
    for which, line, more in (("median", "-", {}), ("p99", ":", p99)):
        found = means(
            ((CLASS_NAMES.index(row.sizes) + aside, row.readings[f"{which}_{what}"])
             for row in rows),
            name if which == "median" else None, linestyle=line, linewidth=1.1, capsize=2.0,
            elinewidth=1.0, **look, **more,
        )  # fmt: skip
        if found.x:
            yield found


def media_delay_plot(measures: RunMeasures, cells: Sequence[Cell]) -> Plot | None:
    """The share of datagrams that were on the way for longer than a time, for each mix.

    The datagrams of all repetitions count. None without one that arrived.

    Raises:
        RunError: A table is damaged.
    """
    items: list[Item] = []
    for index, cell in enumerate(cells):
        delays_ms = 1e3 * _delays(cell)
        if not len(delays_ms):
            continue
        places = np.unique(np.linspace(0, len(delays_ms) - 1, POINTS).astype(np.int64))
        longer = 1 - (places + 1) / len(delays_ms)
        items.append(
            Line(delays_ms[places], np.maximum(longer, 0.5 / len(delays_ms)),
                 name_of_mix(measures, cell.state), color=colour_of_mix(measures, cell.state),
                 linestyle=("-", "--", ":", "-.")[index % 4])
        )  # fmt: skip
    if not items:
        return None
    for share, text in ((0.05, "95 %"), (0.01, "99 %")):
        items += [
            Rule(share, color=MUTED, linewidth=0.9, linestyle=DASHED, zorder=1),
            Note(text, 0.3, share, ("axes fraction", "data"), ha="center", va="bottom",
                 fontsize=8.5, color=MUTED),
        ]  # fmt: skip
    y = Axis("datagrams that took longer", high=1, scale="log",
             form=lambda value: f"{100 * value:g} %")  # fmt: skip
    return Plot([Panel(items, Axis("one-way delay (ms)"), y)], (NARROW, 3.8), columns=3)


def _delays(cell: Cell) -> NDArray[np.float64]:
    """One-way delays of the datagrams that were sent in the measured windows, in rising order."""
    found = [np.empty(0)]
    for trial in cell.trials:
        if not trial.trial.has("datagrams"):
            continue
        table = trial.trial.arrays("datagrams", ("sent_ns", "arrived_ns"))
        low, high = trial.trial.record.window_ns
        inside = (table["sent_ns"] >= low) & (table["sent_ns"] < high)
        delays = one_way_delays(table["sent_ns"], table["arrived_ns"].astype(np.float64))
        found.append(delays[inside & np.isfinite(delays)])
    return np.sort(np.concatenate(found))
