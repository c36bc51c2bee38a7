"""RTT over time of each congestion control alone, from the socket and from a capture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import NS_PER_S

from ..captures.tcp_headers import read_segments
from ..measures import RunMeasures, TrialMeasures
from ..metrics.capture_rtt import RttSeries, capture_rtt
from ..metrics.rtt import rtt_series
from ..results.sweep import pure_cell
from .style import MUTED, WIDE, colour_of, legend_below, new_figure

MAX_FLOWS = 4
"""Flows of a trial up to which their RTTs are drawn together."""
MAX_BINS = 1500


def draw(measures: RunMeasures, setting: Setting) -> Figure | None:
    """Draw one setting: the first repetition of each congestion control alone.

    Args:
        measures: The run's measures.
        setting: The setting.

    Returns:
        The figure; None with more than four flows, or fewer than two congestion controls
        that ran alone with samples.

    Raises:
        RunError: A table or capture is damaged.
    """
    alone = {s: pure_cell(measures, setting, s) for s in measures.strategies}
    trials = {s: c.trials[0] for s, c in alone.items() if c is not None}
    trials = {s: t for s, t in trials.items() if t.trial.has("flow_samples")}
    if len(trials) < 2 or sum(measures.group_sizes) > MAX_FLOWS:
        return None
    figure, (ax,) = new_figure(WIDE, 3.8)
    for strategy, trial in trials.items():
        colour = colour_of(strategy, measures.strategies)
        _draw_socket(ax, measures, trial, strategy, colour)
        capture = trial.trial.path / "capture.pcap"
        if capture.is_file():
            _draw_capture(ax, capture, f"{strategy}, capture", colour)
    _draw_bounds(ax, measures, setting)
    longest = max(t.trial.record.duration_ns for t in trials.values())
    ax.set(xlabel="time (s)", ylabel="RTT (ms)", xlim=(0, longest / NS_PER_S))
    ax.set_ylim(bottom=0)
    legend_below(figure, ax, columns=2)
    return figure


def draw_captures(captures: Sequence[Path], until_s: float | None = None) -> Figure | None:
    """Draw the RTTs of captures made beside the senders, each from its first data on.

    Args:
        captures: pcap files.
        until_s: Only the first seconds.

    Returns:
        The figure; None if no flow has a sample.

    Raises:
        RunError: A capture is missing or damaged.
    """
    flows = [(path.stem, s) for path in captures for s in capture_rtt(read_segments(path))]
    if not flows:
        return None
    figure, (ax,) = new_figure(WIDE, 3.8)
    names = tuple(name for name, _ in flows)
    for name, series in flows:
        strategy = next((s for s in ("cubic", "bbr", "reno") if s in name), name)
        port = series.flow[0][1]
        _plot(ax, series, f"{name}, port {port}", colour_of(strategy, names))
    ax.set(xlabel="time since the first ACK (s)", ylabel="RTT (ms)")
    ax.set_xlim(0, until_s)
    ax.set_ylim(bottom=0)
    legend_below(figure, ax, columns=2)
    return figure


def _draw_socket(
    ax: Axes, measures: RunMeasures, trial: TrialMeasures, strategy: str, colour: str
) -> None:
    duration = trial.trial.record.duration_ns
    step = max(measures.run.scenario.telemetry.tcp_info.ns, -(-duration // MAX_BINS))
    edges = np.arange(0, duration + 1, step)
    table = trial.trial.arrays("flow_samples", ["t_ns", "flow", "srtt_us"])
    columns = table["t_ns"], table["flow"], table["srtt_us"]
    rows = rtt_series(*columns, len(trial.strategy), edges) * 1e3
    middles = (edges[:-1] + edges[1:]) / 2 / NS_PER_S
    for i, row in enumerate(rows):
        label = f"{strategy}, socket (smoothed)" if i == 0 else None
        ax.plot(middles, row, color=colour, linewidth=1.5, label=label, zorder=4)


def _draw_capture(ax: Axes, path: Path, label: str, colour: str) -> None:
    for series in capture_rtt(read_segments(path)):
        _plot(ax, series, label, colour)


def _plot(ax: Axes, series: RttSeries, label: str, colour: str) -> None:
    since_s = (series.t_ns - series.t_ns[0]) / NS_PER_S
    ax.plot(since_s, series.rtt_ns / 1e6, ".", color=colour, markersize=1.5, alpha=0.4,
            label=label, rasterized=True)  # fmt: skip


def _draw_bounds(ax: Axes, measures: RunMeasures, setting: Setting) -> None:
    base_ms = min(setting.base_rtt_ns) / 1e6
    full_ms = measures.applied_buffer(setting) * 8e3 / measures.applied_rate(setting)
    ax.axhline(base_ms, color=MUTED, linewidth=1.0, linestyle="-.", label="base RTT")
    ax.axhline(base_ms + full_ms, color=MUTED, linewidth=1.0, linestyle=(0, (5, 3)),
               label="base RTT + full queue")  # fmt: skip
