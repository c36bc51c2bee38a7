"""Correlation of a flow's queue occupancy with its departure rate, by the lag between them."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from nashbed.controlplane.contract.trial import Setting
from numpy.typing import NDArray

from ..correlation.of_run import RunCorrelation
from ..correlation.trial import TrialCorrelation
from .style import INK, NARROW, colour_of, legend_below, new_figure

GRID = np.linspace(-2, 2, 81)
"""Lags in mean queueing delays."""


def draw(run: RunCorrelation, setting: Setting) -> Figure | None:
    """Draw one setting: a line for each strategy, the mean over its flows and trials.

    Args:
        run: The run's correlations.
        setting: The setting.

    Returns:
        The figure; None if no trial has series over time.
    """
    trials = [t for t in run.of_setting(setting) if t.lagged is not None]
    curves = {s: _curves(trials, s) for s in run.measures.strategies}
    if not any(len(c) for c in curves.values()):
        return None
    figure, (ax,) = new_figure(NARROW, 3.6)
    for strategy, rows in curves.items():
        if not len(rows):
            continue
        colour = colour_of(strategy, run.measures.strategies)
        low, middle, high = np.nanpercentile(rows, (10, 50, 90), axis=0)
        label = f"{strategy}: median of n = {len(rows)} flows, 10 % to 90 %"
        ax.plot(GRID, middle, color=colour, label=label)
        ax.fill_between(GRID, low, high, color=colour, alpha=0.15, linewidth=0)
    ax.axvline(0.5, color=INK, linewidth=1.0, linestyle=(0, (5, 3)), label="half the delay")
    ax.set(
        xlim=(GRID[0], GRID[-1]),
        ylim=(min(0.0, ax.get_ylim()[0]), 1),
        xlabel="lag of the rate behind the occupancy (mean queueing delays)",
        ylabel="correlation",
    )
    legend_below(figure, ax, columns=1)
    return figure


def _curves(trials: list[TrialCorrelation], strategy: str) -> NDArray[np.float64]:
    """Correlation of every flow of a strategy on GRID, shape (n, len(GRID))."""
    parts = [np.empty((0, len(GRID)))]
    for trial in trials:
        lagged = trial.lagged
        if lagged is None or lagged.expected_ns <= 0:
            continue
        x = lagged.lags_ns / (2 * lagged.expected_ns)
        mine = trial.measures.flow_mask(strategy)[lagged.flows]
        rows = [np.interp(GRID, x, y, np.nan, np.nan) for y in lagged.values[mine]]
        parts += [row[np.newaxis] for row in rows if np.isfinite(row).all()]
    return np.concatenate(parts)
