"""Throughput of each flow against what equation (5) makes of its queue occupancy."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.controlplane.contract.trial import Setting
from numpy.typing import NDArray

from ..correlation.of_run import RunCorrelation
from ..text import shown
from .style import INK, NARROW, colour_of, legend_below, marker_of, new_figure

MANY = 2000


def draw(run: RunCorrelation, setting: Setting) -> Figure | None:
    """Draw one setting: a point for each flow and trial, and what is left over below.

    Args:
        run: The run's correlations.
        setting: The setting.

    Returns:
        The figure; None if no trial has both telemetry and throughput.
    """
    points = {s: _points(run, setting, s) for s in run.measures.strategies}
    top = max((float(p.max()) for p in points.values() if p.size), default=0.0)
    if top <= 0:
        return None
    figure, (ax, below) = new_figure(NARROW, 4.4, rows=2, heights=(2.2, 1.0))
    ax.plot([0, top], [0, top], color=INK, linewidth=1.0, linestyle=(0, (5, 3)), label="equal")
    fair = run.measures.fair_share(setting)
    for strategy, xy in points.items():
        if len(xy):
            _draw_strategy(ax, below, run, setting, strategy, xy, fair)
    below.axhline(0, color=INK, linewidth=1.0, linestyle=(0, (5, 3)))
    ax.set(ylabel="throughput (Mbit/s)", xlim=(0, 1.04 * top), ylim=(0, 1.04 * top))
    below.set(xlabel="(λR + b) / (R + Q) (Mbit/s)", ylabel="difference,\n% of fair share")
    legend_below(figure, ax, columns=1)
    return figure


def _points(run: RunCorrelation, setting: Setting, strategy: str) -> NDArray[np.float64]:
    """(predicted, measured) in Mbit/s of every flow of a strategy, shape (n, 2)."""
    parts = [np.empty((0, 2))]
    for trial in run.of_setting(setting):
        if trial.predicted is not None:
            mask = trial.measures.flow_mask(strategy)
            measured = trial.measures.per_flow["per_flow_throughput"][mask]
            parts.append(shown(1, "bit/s") * np.column_stack((trial.predicted[mask], measured)))
    points = np.concatenate(parts)
    return points[np.isfinite(points).all(axis=1)]


def _draw_strategy(
    ax: Axes,
    below: Axes,
    run: RunCorrelation,
    setting: Setting,
    strategy: str,
    xy: NDArray[np.float64],
    fair_bps: float,
) -> None:
    names = run.measures.strategies
    look: dict[str, Any] = {
        "marker": marker_of(strategy, names),
        "color": colour_of(strategy, names),
        "linestyle": "none",
        "alpha": 0.7,
        "markeredgewidth": 0,
        "markersize": 5,
        "rasterized": len(xy) > MANY,
    }
    fit = run.fit(setting, strategy)
    label = f"{strategy} (n = {len(xy)} flows)"
    if fit is not None:
        label += f": slope {fit.slope:.2f}, R² {fit.r2:.2f}"
    ax.plot(xy[:, 0], xy[:, 1], label=label, **look)
    left_over = (xy[:, 1] - xy[:, 0]) / shown(fair_bps, "bit/s") * 100
    below.plot(xy[:, 0], left_over, **look)
