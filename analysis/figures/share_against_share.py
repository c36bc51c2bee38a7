"""Each flow's share of the queue against its share of the throughput."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from nashbed.controlplane.contract.trial import Setting
from numpy.typing import NDArray

from ..measures import RunMeasures
from ..metrics.occupancy_share import share_line
from .style import INK, MUTED, NARROW, colour_of, marker_of, new_figure

X, Y = "occupancy_share", "throughput_share"


def draw(measures: RunMeasures, setting: Setting) -> Figure | None:
    """Draw one setting: a point for each flow and trial, and the line of equation (5).

    Mishra et al.'s equation (5), lambda = (lambda R + b) / (R + Q), is the identity line:
    a flow gets the share of the link that it holds of the queue.

    Args:
        measures: The run's measures.
        setting: The setting.

    Returns:
        The figure; None if no trial has both shares.
    """
    points = {s: _points(measures, setting, s) for s in measures.strategies}
    everything = np.concatenate(list(points.values()))
    if len(everything) == 0:
        return None
    figure, (ax,) = new_figure(NARROW, 3.6)
    top = 1.06 * float(np.nanmax(everything))
    ax.plot(
        [0, top],
        [0, top],
        color=INK,
        linewidth=1.0,
        linestyle=(0, (5, 3)),
        label="equation (5): equal shares",
        zorder=2,
    )
    for strategy, values in points.items():
        ax.plot(
            values[:, 0],
            values[:, 1],
            marker_of(strategy, measures.strategies),
            color=colour_of(strategy, measures.strategies),
            alpha=0.7,
            markeredgewidth=0,
            markersize=5,
            label=_label(strategy, values),
            zorder=3,
            rasterized=len(everything) > 2000,
        )
    line = share_line(everything[:, 0], everything[:, 1])
    if line is not None:
        ends = np.array([0.0, top])
        ax.plot(
            ends,
            line.intercept + line.slope * ends,
            color=MUTED,
            linewidth=1.2,
            zorder=1,
            label=f"all: slope {line.slope:.2f}, R² {line.r2:.2f}, n {line.n}",
        )
    ax.set(
        xlim=(0, top),
        ylim=(0, top),
        xlabel="share of the queue (mean bytes)",
        ylabel="share of the throughput",
    )
    ax.xaxis.set_major_formatter(lambda v, _: f"{v:.0%}")
    ax.yaxis.set_major_formatter(lambda v, _: f"{v:.0%}")
    ax.legend(loc="upper left")
    return figure


def _points(measures: RunMeasures, setting: Setting, strategy: str) -> NDArray[np.float64]:
    """(queue share, throughput share) of every flow of a strategy, shape (n, 2)."""
    parts = [np.empty((0, 2))]
    for cell in measures.cells(setting):
        for trial in cell.trials:
            if X in trial.per_flow and Y in trial.per_flow:
                mask = trial.flow_mask(strategy)
                parts.append(np.column_stack((trial.per_flow[X][mask], trial.per_flow[Y][mask])))
    points = np.concatenate(parts)
    return points[np.isfinite(points).all(axis=1)]


def _label(strategy: str, values: NDArray[np.float64]) -> str:
    line = share_line(values[:, 0], values[:, 1])
    return strategy if line is None else f"{strategy}: slope {line.slope:.2f}, R² {line.r2:.2f}"
