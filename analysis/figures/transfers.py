"""Finite transfers and paced media: slowdown by size, and how long datagrams are on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..measures import Cell, RunMeasures
from ..metrics.completion import CLASS_NAMES
from ..metrics.media import one_way_delays
from ..metrics.statistics import Estimate
from ..results.transfers import ClassOfTransfers
from ..state import State, state_text, strategy_totals
from .axes import draw_estimates
from .style import INK, MUTED, NARROW, colour_of, marker_of, new_figure, share_colours

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


def draw_by_size(measures: RunMeasures, rows: Sequence[ClassOfTransfers]) -> Figure | None:
    """Draw median and 99th percentile of slowdowns (or of completion times) by size class.

    Args:
        measures: The run's measures.
        rows: Classes of one setting, group and strategy: every mix that is to be drawn.

    Returns:
        The figure; None where nothing is known.
    """
    slow = any(row.readings["median_slowdown"] for row in rows)
    name = "slowdown" if slow else "s"
    states = list(dict.fromkeys(row.state for row in rows))
    figure, (ax,) = new_figure(NARROW, 3.8)
    drawn = False
    for index, state in enumerate(states):
        mine = [row for row in rows if row.state == state and row.sizes in CLASS_NAMES]
        aside = BESIDE * (index - (len(states) - 1) / 2)
        colour = colour_of_mix(measures, state)
        for which, line, look in (("median", "-", {}), ("p99", ":", {"markerfacecolor": "white"})):
            known = _known(mine, f"{which}_{name}")
            if not known:
                continue
            drawn = True
            label = name_of_mix(measures, state) if which == "median" else None
            draw_estimates(ax, [x + aside for x, _ in known], [e for _, e in known], colour,
                           label=label, marker=marker_of_mix(index), linestyle=line, linewidth=1.1,
                           capsize=2.0, elinewidth=1.0, **look)  # fmt: skip
    if not drawn:
        return None
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_xticks(range(len(CLASS_NAMES)), CLASS_NAMES)
    ax.set(xlabel="size of the transfer", xlim=(-0.4, len(CLASS_NAMES) - 0.6),
           ylabel="slowdown (times the ideal)" if slow else "completion time (s)")  # fmt: skip
    if slow:
        ax.axhline(1.0, color=INK, linewidth=1.0, linestyle=(0, (5, 3)), zorder=2)
    ax.plot([], [], color=MUTED, linestyle="-", label="median")
    ax.plot([], [], color=MUTED, linestyle=":", label="99th percentile")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def marker_of_mix(index: int) -> str:
    """Figures can be read without colour."""
    return marker_of(str(index % 12), [str(number) for number in range(12)])


def _known(rows: Sequence[ClassOfTransfers], reading: str) -> list[tuple[int, Estimate]]:
    pairs = [(CLASS_NAMES.index(row.sizes), row.readings[reading]) for row in rows]
    return [(place, found) for place, found in pairs if found is not None]


def draw_media_delay(measures: RunMeasures, cells: Sequence[Cell]) -> Figure | None:
    """Draw the share of datagrams that were on the way for longer than a time, for each mix.

    Args:
        measures: The run's measures.
        cells: The mixes of a setting; the datagrams of all repetitions count.

    Returns:
        The figure; None without a datagram that arrived.

    Raises:
        RunError: A table is damaged.
    """
    figure, (ax,) = new_figure(NARROW, 3.8)
    drawn = False
    for index, cell in enumerate(cells):
        delays_ms = 1e3 * _delays(cell)
        if not len(delays_ms):
            continue
        drawn = True
        places = np.unique(np.linspace(0, len(delays_ms) - 1, POINTS).astype(np.int64))
        longer = 1 - (places + 1) / len(delays_ms)
        colour = colour_of_mix(measures, cell.state)
        ax.plot(delays_ms[places], np.maximum(longer, 0.5 / len(delays_ms)), color=colour,
                linestyle=("-", "--", ":", "-.")[index % 4],
                label=name_of_mix(measures, cell.state))  # fmt: skip
    if not drawn:
        return None
    for share, text in ((0.05, "95 %"), (0.01, "99 %")):
        ax.axhline(share, color=MUTED, linewidth=0.9, linestyle=(0, (5, 3)), zorder=1)
        ax.annotate(text, (0.3, share), xycoords=("axes fraction", "data"), ha="center",
                    va="bottom", fontsize=8.5, color=MUTED)  # fmt: skip
    ax.set(xlabel="one-way delay (ms)", ylabel="datagrams that took longer", yscale="log",
           ylim=(None, 1))  # fmt: skip
    ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


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
