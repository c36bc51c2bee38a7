"""Smoothed RTT of each flow over one trial."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..measures import RunMeasures, TrialMeasures
from ..metrics.rtt import rtt_series
from .style import MUTED, NARROW, colour_of, legend_below, new_figure

MAX_BINS = 600
MAX_LINES = 60


def draw(measures: RunMeasures, trial: TrialMeasures) -> Figure | None:
    """Draw one trial: a thin line for each flow, a thick one for each strategy's mean.

    Args:
        measures: The run's measures.
        trial: The trial.

    Returns:
        The figure; None if the trial has no TCP_INFO samples.

    Raises:
        RunError: The table is damaged.
    """
    if not trial.trial.has("flow_samples"):
        return None
    t_s, rtt_ms = _series(measures, trial)
    figure, (ax,) = new_figure(NARROW, 3.6)
    for strategy in measures.strategies:
        mask = trial.flow_mask(strategy)
        if mask.any():
            _draw_strategy(ax, t_s, rtt_ms[mask], strategy, measures)
    _draw_bounds(ax, trial)
    ax.set(
        xlabel="time (s)",
        ylabel="smoothed RTT (ms)",
        xlim=(0, trial.trial.record.duration_ns / NS_PER_S),
    )
    ax.set_ylim(0, 1.04 * ax.get_ylim()[1])
    legend_below(figure, ax, columns=2)
    return figure


def _series(
    measures: RunMeasures, trial: TrialMeasures
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times in s, shape (B,), and RTTs in ms, shape (F, B)."""
    duration = trial.trial.record.duration_ns
    sample = measures.run.scenario.telemetry.tcp_info.ns
    edges = np.arange(0, duration + 1, max(sample, -(-duration // MAX_BINS)))
    table = trial.trial.arrays("flow_samples", ["t_ns", "flow", "srtt_us"])
    series = rtt_series(table["t_ns"], table["flow"], table["srtt_us"], len(trial.strategy), edges)
    return (edges[:-1] + edges[1:]) / 2 / NS_PER_S, series * 1e3


def _draw_strategy(
    ax: Axes,
    t_s: NDArray[np.float64],
    rtt_ms: NDArray[np.float64],
    strategy: str,
    measures: RunMeasures,
) -> None:
    colour = colour_of(strategy, measures.strategies)
    for row in rtt_ms[:MAX_LINES]:
        ax.plot(t_s, row, color=colour, alpha=0.3, linewidth=0.6, rasterized=True)
    known = np.isfinite(rtt_ms)
    mean = np.where(known, rtt_ms, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    mean[~known.any(axis=0)] = np.nan
    ax.plot(t_s, mean, color=colour, linewidth=1.8, label=f"{strategy}: flows and mean")


def _draw_bounds(ax: Axes, trial: TrialMeasures) -> None:
    """The base RTTs, and the largest base RTT with a full queue."""
    bases = sorted(set(trial.trial.setting.base_rtt_ns))
    full = bases[-1] + trial.buffer_bytes * 8 * NS_PER_S / trial.rate_bps
    lines = [*((base, "base RTT") for base in bases), (full, "base RTT + full queue")]
    for i, (ns, label) in enumerate(lines):
        style = "-." if label == "base RTT" else (0, (5, 3))
        again = label == "base RTT" and i > 0
        ax.axhline(
            ns / 1e6, color=MUTED, linewidth=1.0, linestyle=style, label=None if again else label
        )
