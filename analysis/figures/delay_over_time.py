"""RTT and queueing delay over time: by sockets, by captures, and by captures against postcards."""

from __future__ import annotations

import collections
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.controlplane.contract.model import ContractModel
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.errors import RunError, writing
from numpy.typing import NDArray

from ..captures.tcp_headers import passed_over_text, read_segments
from ..clock.queueing import TapComparison
from ..measures import RunMeasures, TrialMeasures
from ..metrics.rtt import RttSeries, capture_rtt, rtt_series
from ..results.sweep import pure_cell
from .saving import save
from .style import MUTED, NARROW, WIDE, colour_of, house_style, legend_below, new_figure

MAX_BINS, MAX_BINS_ALONE = 600, 1500
"""Bins over a trial: in a figure of one trial, and in the wider one of each CCA alone."""
MAX_LINES = 60
MAX_FLOWS = 4
"""Flows of a trial up to which their RTTs are drawn together."""
MAX_POINTS = 40_000
BLUE = "#2a6f97"
FORMATS = ("png", "pdf", "svg")
FULL = "base RTT + full queue"


class CaptureRtt(ContractModel):
    """The RTT of a flow in a capture.

    Attributes:
        capture: The file.
        port: The sender's port.
        samples: How many RTTs it has.
        min_ms: The smallest.
        median_ms: Half of them are larger.
        max_ms: The largest.
        passed_over: One line on the capture's packets that were not looked at; null: all were.
    """

    capture: str
    port: int
    samples: int
    min_ms: float
    median_ms: float
    max_ms: float
    passed_over: str | None = None


def draw_rtt_over_time(measures: RunMeasures, trial: TrialMeasures) -> Figure | None:
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
    t_s, rtt_ms = _socket_rtt(measures, trial, MAX_BINS)
    figure, (ax,) = new_figure(NARROW, 3.6)
    for strategy in measures.strategies:
        mask = trial.flow_mask(strategy)
        if mask.any():
            _draw_strategy(ax, t_s, rtt_ms[mask], strategy, measures)
    _draw_bounds(ax, _base_rtts(measures, trial.trial.setting),
                 measures.full_queue_ns(trial.trial.setting))  # fmt: skip
    ax.set(
        xlabel="time (s)",
        ylabel="smoothed RTT (ms)",
        xlim=(0, trial.trial.record.duration_ns / NS_PER_S),
    )
    ax.set_ylim(0, 1.04 * ax.get_ylim()[1])
    legend_below(figure, ax, columns=2)
    return figure


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


def draw_rtt_alone(measures: RunMeasures, setting: Setting) -> Figure | None:
    """Draw one setting: the first repetition of each CCA alone.

    Args:
        measures: The run's measures.
        setting: The setting.

    Returns:
        The figure; None with more than four flows, or fewer than two CCAs
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
            for series in capture_rtt(read_segments(trial.trial.file(capture.name))):
                _plot(ax, series, f"{strategy}, capture", colour)
    _draw_bounds(ax, _base_rtts(measures, setting), measures.full_queue_ns(setting))
    longest = max(t.trial.record.duration_ns for t in trials.values())
    ax.set(xlabel="time (s)", ylabel="RTT (ms)", xlim=(0, longest / NS_PER_S))
    ax.set_ylim(bottom=0)
    legend_below(figure, ax, columns=2)
    return figure


def _draw_socket(
    ax: Axes, measures: RunMeasures, trial: TrialMeasures, strategy: str, colour: str
) -> None:
    t_s, rtt_ms = _socket_rtt(measures, trial, MAX_BINS_ALONE)
    for i, row in enumerate(rtt_ms):
        label = f"{strategy}, socket (smoothed)" if i == 0 else None
        ax.plot(t_s, row, color=colour, linewidth=1.5, label=label, zorder=4)


def _socket_rtt(
    measures: RunMeasures, trial: TrialMeasures, most: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smoothed RTT by sockets in at most so many bins: times in s, shape (B,), ms, shape (F, B)."""
    duration = trial.trial.record.duration_ns
    sample = measures.run.scenario.telemetry.tcp_info.ns
    edges = np.arange(0, duration + 1, max(sample, -(-duration // most)))
    table = trial.trial.arrays("flow_samples", ["t_ns", "flow", "srtt_us"])
    series = rtt_series(table["t_ns"], table["flow"], table["srtt_us"], len(trial.strategy), edges)
    return (edges[:-1] + edges[1:]) / 2 / NS_PER_S, series * 1e3


def _base_rtts(measures: RunMeasures, setting: Setting) -> list[int]:
    """The base RTTs of a setting in ns, ascending, with those that they change to."""
    later = {each.base_rtt.ns for group in measures.run.scenario.flows for each in group.changes}
    return sorted({*setting.base_rtt_ns, *later})


def _draw_bounds(ax: Axes, bases_ns: Sequence[int], full_ns: float | None) -> None:
    """Draw the base RTTs, and the largest of them with a full queue, if that is always as long."""
    lines: list[tuple[float, str]] = [(base, "base RTT") for base in bases_ns]
    if full_ns is not None:
        lines.append((bases_ns[-1] + full_ns, FULL))
    for i, (ns, label) in enumerate(lines):
        ax.axhline(
            ns / 1e6,
            color=MUTED,
            linewidth=1.0,
            linestyle=(0, (5, 3)) if label == FULL else "-.",
            label=label if i == 0 or label == FULL else None,
        )


def write_rtt_of_captures(
    captures: Sequence[Path], out: Path, until_s: float | None
) -> tuple[CaptureRtt, ...]:
    """Draw captures into a file.

    Args:
        captures: pcap files made beside the senders.
        out: The figure; its suffix says the format.
        until_s: Only the first seconds.

    Returns:
        What was found of each flow.

    Raises:
        RunError: A capture is missing, damaged or has no sample, or the figure cannot be
            written.
    """
    suffix = out.suffix[1:]
    if suffix not in FORMATS:
        raise RunError(f"{out}: figures are {', '.join(FORMATS)}")
    with house_style():
        figure = draw_captures(captures, until_s)
        if figure is None:
            names = ", ".join(str(c) for c in captures)
            raise RunError(
                f"{names}: no ACK echoes a time stamp of a data segment; capture both directions "
                "beside the senders, with TCP time stamps on" + _passed_over(captures)
            )
        with writing(out):
            save(figure, out.with_suffix(""), (suffix,))
    return tuple(row for path in captures for row in _numbers(path))


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


def _plot(ax: Axes, series: RttSeries, label: str, colour: str) -> None:
    since_s = (series.t_ns - series.t_ns[0]) / NS_PER_S
    ax.plot(since_s, series.rtt_ns / 1e6, ".", color=colour, markersize=1.5, alpha=0.4,
            label=label, rasterized=True)  # fmt: skip


def _numbers(path: Path) -> list[CaptureRtt]:
    rows = []
    passed_over = Counter[str]()
    found = capture_rtt(read_segments(path, passed_over))
    for series in found:
        low, middle, high = np.percentile(series.rtt_ns, (0, 50, 100)) / 1e6
        rows.append(
            CaptureRtt(
                capture=str(path),
                port=series.flow[0][1],
                samples=len(series.rtt_ns),
                min_ms=float(low),
                median_ms=float(middle),
                max_ms=float(high),
                passed_over=passed_over_text(passed_over),
            )
        )
    return rows


def _passed_over(captures: Sequence[Path]) -> str:
    """What an error adds where packets of the captures were not looked at."""
    counts = Counter[str]()
    for path in captures:
        collections.deque(read_segments(path, counts), maxlen=0)
    text = passed_over_text(counts)
    return f" ({text})" if text else ""


def draw_tap_delay(comparison: TapComparison) -> Figure | None:
    """Draw a trial: the delay over time by both, and their difference.

    Args:
        comparison: The comparison.

    Returns:
        The figure; None without a packet in it.
    """
    if len(comparison.sojourn_ns) == 0:
        return None
    some = np.arange(0, len(comparison.sojourn_ns), -(-len(comparison.sojourn_ns) // MAX_POINTS))
    figure, (above, below) = new_figure(WIDE, 5.0, rows=2, heights=(3, 2))
    t_s = comparison.time_ns[some] / 1e9
    above.plot(t_s, comparison.sojourn_ns[some] / 1e6, ".", color=MUTED, markersize=2.5, alpha=0.5,
               label="postcards", rasterized=True)  # fmt: skip
    above.plot(t_s, comparison.delay_ns[some] / 1e6, ".", color=BLUE, markersize=1, alpha=0.5,
               label="captures", rasterized=True)  # fmt: skip
    above.set(ylabel="queueing delay (ms)")
    above.set_ylim(bottom=0)
    difference_us = comparison.difference_ns / 1e3
    below.plot(t_s, difference_us[some], ".", color=BLUE, markersize=1, alpha=0.3, rasterized=True)
    below.axhline(comparison.bias_ns / 1e3, color=MUTED, linewidth=1.0, label="median difference")
    for edge in comparison.spread_ns:
        below.axhline(edge / 1e3, color=MUTED, linewidth=0.8, linestyle=":")
    low, high = np.percentile(difference_us, (1, 99))
    room = max(high - low, 1e-3)
    below.set(xlabel="time (s)", ylabel="captures less\npostcards (µs)")
    below.set_ylim(low - room, high + room)
    legend_below(figure, above, 3, below)
    return figure
