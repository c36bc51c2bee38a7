"""Each flow's bytes in the queue over one trial, stacked, above what BBR makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from nashbed.controlplane.contract.units import NS_PER_S, counted
from numpy.typing import NDArray

from ..align.load import bin_length_ns, sampled_one_in
from ..measures import RunMeasures, TrialMeasures
from ..metrics.queue_occupancy import COLUMNS, TimeBins, occupancy_bins
from ..text import size_text
from .bbr_over_time import BbrSamples, bbr_samples, draw_bandwidth, draw_min_rtt, mark_probes
from .style import INK, MUTED, NARROW, colour_of, new_figure, shades

MAX_BINS = 600
MIN_BIN_NS = 10_000_000
MAX_LAYERS = 60


def draw(measures: RunMeasures, trial: TrialMeasures) -> Figure | None:
    """Draw one trial from its postcards, or from its bins.

    Args:
        measures: The run's measures.
        trial: The trial.

    Returns:
        The figure; None if the trial has neither.

    Raises:
        RunError: The table is damaged.
    """
    rebuilt = occupancy(measures, trial)
    if rebuilt is None:
        return None
    bins, stacked = rebuilt
    samples = bbr_samples(trial)
    figure, (ax, *below) = _axes(samples)
    _draw_layers(ax, measures, trial, bins, stacked)
    limit = trial.buffer_bytes
    ax.axhline(limit / 1e3, color=INK, linewidth=1.0, linestyle=(0, (5, 3)))
    ax.annotate(
        f"limit {size_text(limit)}",
        (0.99, limit / 1e3),
        xycoords=("axes fraction", "data"),
        ha="right",
        va="bottom",
        fontsize=8.5,
        color=INK,
    )
    ax.set(
        xlim=(bins.start_ns / NS_PER_S, bins.end_ns / NS_PER_S),
        ylabel="bytes in the queue (kB)",
        ylim=(0, 1.18 * limit / 1e3),
    )
    if samples is not None:
        bandwidth, rtt = below
        draw_bandwidth(bandwidth, measures, trial, samples)
        draw_min_rtt(rtt, measures, trial, samples, (bins.middles_ns, stacked.sum(axis=0)))
        for each in below:
            if samples.probing.any():
                mark_probes(each, samples, "ProbeRTT" if each is rtt else None)
    (ax, *below)[-1].set_xlabel("time (s)")
    _mark_warmup(ax, trial)
    _delay_axis(ax, trial)
    _legend(figure, measures, trial, below)
    return figure


def _axes(samples: BbrSamples | None) -> tuple[Figure, list[Axes]]:
    """One panel, or three where there are BBR flows."""
    if samples is None:
        return new_figure(NARROW, 3.6)
    return new_figure(NARROW, 6.6, rows=3, heights=(1.7, 1, 1))


def occupancy(
    measures: RunMeasures, trial: TrialMeasures
) -> tuple[TimeBins, NDArray[np.float64]] | None:
    """Mean bytes of each flow in the queue over time.

    Returns:
        The bins and the bytes, shape (F, B); None if the trial has no telemetry.
    """
    source, scenario = trial.trial, measures.run.scenario
    duration, flows = source.record.duration_ns, len(trial.strategy)
    if source.has("postcards"):
        bins = TimeBins.cover(0, duration, max(MIN_BIN_NS, -(-duration // MAX_BINS)))
        chunks = source.batches("postcards", COLUMNS)
        return bins, occupancy_bins(chunks, flows, bins) * sampled_one_in(scenario)
    if source.has("bins"):
        return _from_bins(trial, bin_length_ns(scenario))
    return None


def _from_bins(trial: TrialMeasures, bin_ns: int) -> tuple[TimeBins, NDArray[np.float64]]:
    """Merge whole bins of the data plane until there are at most MAX_BINS."""
    duration, flows = trial.trial.record.duration_ns, len(trial.strategy)
    merged = max(1, -(-duration // bin_ns // MAX_BINS))
    bins = TimeBins.cover(0, duration, bin_ns * merged)
    result = np.zeros((flows, bins.count))
    for chunk in trial.trial.batches("bins", ("bin_start_ns", "flow", "occupancy_bytes_mean")):
        column = chunk["bin_start_ns"] // bins.length_ns
        keep = (column >= 0) & (column < bins.count)
        cells = (chunk["flow"][keep], column[keep])
        np.add.at(result, cells, chunk["occupancy_bytes_mean"][keep] / merged)
    return bins, result


def _draw_layers(
    ax: Axes,
    measures: RunMeasures,
    trial: TrialMeasures,
    bins: TimeBins,
    bytes_: NDArray[np.float64],
) -> None:
    """Stack the flows, strategy by strategy; many flows of a strategy become one layer."""
    layers, colours = [], []
    for strategy in measures.strategies:
        rows = bytes_[trial.flow_mask(strategy)]
        if len(trial.strategy) > MAX_LAYERS:
            rows = rows.sum(axis=0, keepdims=True)
        layers.append(rows)
        colours += shades(colour_of(strategy, measures.strategies), len(rows))
    ax.stackplot(
        bins.middles_ns / NS_PER_S,
        np.concatenate(layers) / 1e3,
        colors=colours,
        linewidth=0,
        rasterized=True,
    )


def _mark_warmup(ax: Axes, trial: TrialMeasures) -> None:
    end = trial.trial.record.window_ns[0] / NS_PER_S
    ax.axvline(end, color=MUTED, linewidth=0.9, linestyle=":")
    ax.annotate(
        " measured from here",
        (end, 0.985),
        xycoords=ax.get_xaxis_transform(),
        fontsize=8,
        color=MUTED,
        va="top",
    )


def _delay_axis(ax: Axes, trial: TrialMeasures) -> None:
    """The same as a delay, on the right: bytes by the rate."""
    per_kb = 1e3 * 8 / trial.rate_bps * 1e3

    def to_delay(kilobytes: Any) -> Any:
        return kilobytes * per_kb

    def to_bytes(delay: Any) -> Any:
        return delay / per_kb

    right = ax.secondary_yaxis("right", functions=(to_delay, to_bytes))

    right.set_ylabel("delay (ms)")


def _legend(
    figure: Figure, measures: RunMeasures, trial: TrialMeasures, below: Sequence[Axes]
) -> None:
    counts = {s: int(trial.flow_mask(s).sum()) for s in measures.strategies}
    handles: list[Artist] = [
        Patch(color=colour_of(s, measures.strategies), label=f"{s} ({counted(n, 'flow')})")
        for s, n in counts.items()
        if n
    ]
    for ax in below:
        handles += ax.get_legend_handles_labels()[0]
    figure.legend(handles=handles, loc="outside lower center", ncols=3 if below else 4)
