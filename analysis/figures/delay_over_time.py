"""RTT and queueing delay over time: by sockets, by captures, and by captures against postcards."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
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
from .drawing import FORMATS, draw
from .plot import Axis, Item, Line, Panel, Plot, Rule
from .saving import save
from .style import DASHED, MUTED, NARROW, WIDE, colour_of, house_style, trace_of

MAX_BINS, MAX_BINS_ALONE = 600, 1500
"""Bins over a trial: in a figure of one trial, and in the wider one of each CCA alone."""
MAX_LINES = 60
MAX_FLOWS = 4
"""Flows of a trial up to which their RTTs are drawn together."""
MAX_POINTS = 40_000
BLUE = "#2a6f97"
DOTS: dict[str, Any] = {"linestyle": "none", "marker": ".", "rasterized": True}


class CaptureRtt(ContractModel):
    """The RTT of a flow in a capture.

    Attributes:
        median_ms: Half of them are larger.
        passed_over: One line on the capture's packets that were not looked at; null: all were.
    """

    capture: str
    port: int
    samples: int
    min_ms: float
    median_ms: float
    max_ms: float
    passed_over: str | None = None


def rtt_over_time_plot(measures: RunMeasures, trial: TrialMeasures) -> Plot | None:
    """A thin line for each flow, a thick one for each strategy's mean.

    None if the trial has no TCP_INFO samples. Flows of programs have none.

    Raises:
        RunError: The table is damaged.
    """
    if not trial.trial.has("flow_samples"):
        return None
    t_s, rtt_ms = _socket_rtt(measures, trial, MAX_BINS)
    sampled = np.isfinite(rtt_ms).any(axis=1)
    if not sampled.any():
        return None
    items: list[Item] = []
    for strategy in measures.strategies:
        mask = trial.flow_mask(strategy) & sampled
        if mask.any():
            look = trace_of(strategy, measures.strategies)
            items += _of_strategy(t_s, rtt_ms[mask], f"{strategy}: flows and mean", look)
    items += _bounds(measures, trial.trial.setting)
    x = Axis("time (s)", 0, trial.trial.record.duration_ns / NS_PER_S)
    panel = Panel(items, x, Axis("smoothed RTT (ms)", low=0, room=1.04))
    return Plot([panel], (NARROW, 3.6))


def _of_strategy(
    t_s: NDArray[np.float64], rtt_ms: NDArray[np.float64], label: str, look: dict[str, Any]
) -> Iterator[Item]:
    for row in rtt_ms[:MAX_LINES]:
        yield Line(t_s, row, color=look["color"], alpha=0.3, linewidth=0.6, rasterized=True)
    known = np.isfinite(rtt_ms)
    mean = np.where(known, rtt_ms, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    mean[~known.any(axis=0)] = np.nan
    yield Line(t_s, mean, label, linewidth=1.8, **look)


def rtt_alone_plot(measures: RunMeasures, setting: Setting) -> Plot | None:
    """The first repetition of each CCA alone, by sockets and captures.

    None with more than four flows, or fewer than two CCAs that ran alone with samples.

    Raises:
        RunError: A table or capture is damaged.
    """
    alone = {s: pure_cell(measures, setting, s) for s in measures.strategies}
    trials = {s: c.trials[0] for s, c in alone.items() if c is not None}
    trials = {s: t for s, t in trials.items() if t.trial.has("flow_samples")}
    if len(trials) < 2 or measures.flows(setting) > MAX_FLOWS:
        return None
    items: list[Item] = []
    for strategy, trial in trials.items():
        look = trace_of(strategy, measures.strategies)
        t_s, rtt_ms = _socket_rtt(measures, trial, MAX_BINS_ALONE)
        items += (Line(t_s, row, f"{strategy}, socket (smoothed)", linewidth=1.5, zorder=4,
                       **look) for row in rtt_ms if np.isfinite(row).any())  # fmt: skip
        capture = trial.trial.path / "capture.pcap"
        if capture.is_file():
            for series in capture_rtt(read_segments(trial.trial.file(capture.name))):
                items.append(_dots(series, f"{strategy}, capture", look["color"]))
    items += _bounds(measures, setting)
    longest = max(t.trial.record.duration_ns for t in trials.values())
    x = Axis("time (s)", 0, longest / NS_PER_S)
    return Plot([Panel(items, x, Axis("RTT (ms)", low=0))], (WIDE, 3.8))


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


def _bounds(measures: RunMeasures, setting: Setting) -> Iterator[Rule]:
    """The base RTTs, with those that they change to, and the largest of them with a full queue."""
    later = {
        each.base_rtt.ns for group in measures.scenario_at(setting).flows for each in group.changes
    }
    bases_ns = sorted({*setting.base_rtt_ns, *later})
    look: dict[str, Any] = {"color": MUTED, "linewidth": 1.0}
    for base in bases_ns:
        yield Rule(base / 1e6, "base RTT", linestyle="-.", **look)
    full_ns = measures.full_queue_ns(setting)
    if full_ns is not None:
        yield Rule((bases_ns[-1] + full_ns) / 1e6, "base RTT + full queue", linestyle=DASHED,
                   **look)  # fmt: skip


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
    rows: list[CaptureRtt] = []
    flows: list[tuple[str, RttSeries]] = []
    passed_over = Counter[str]()
    for path in captures:
        counts = Counter[str]()
        found = capture_rtt(read_segments(path, counts))
        rows += (_numbers(path, series, passed_over_text(counts)) for series in found)
        flows += ((path.stem, series) for series in found)
        passed_over += counts
    if not flows:
        names, text = ", ".join(map(str, captures)), passed_over_text(passed_over)
        raise RunError(
            f"{names}: no ACK echoes a time stamp of a data segment; capture both directions "
            "beside the senders, with TCP time stamps on" + (f" ({text})" if text else "")
        )
    with house_style(), writing(out):
        save(draw(captures_plot(flows, until_s)), out.with_suffix(""), (suffix,))
    return tuple(rows)


def captures_plot(flows: Sequence[tuple[str, RttSeries]], until_s: float | None = None) -> Plot:
    """The RTTs of flows, each with its capture's name and from its first data on."""
    names = tuple(name for name, _ in flows)
    items = []
    for name, series in flows:
        strategy = next((s for s in ("cubic", "bbr", "reno") if s in name), name)
        label = f"{name}, port {series.flow[0][1]}"
        items.append(_dots(series, label, colour_of(strategy, names)))
    x = Axis("time since the first ACK (s)", 0, until_s)
    return Plot([Panel(items, x, Axis("RTT (ms)", low=0))], (WIDE, 3.8))


def _dots(series: RttSeries, label: str, colour: str) -> Line:
    since_s = (series.t_ns - series.t_ns[0]) / NS_PER_S
    return Line(since_s, series.rtt_ns / 1e6, label, **DOTS, color=colour, markersize=1.5,
                alpha=0.4)  # fmt: skip


def _numbers(path: Path, series: RttSeries, passed_over: str | None) -> CaptureRtt:
    low, middle, high = np.percentile(series.rtt_ns, (0, 50, 100)) / 1e6
    return CaptureRtt(
        capture=str(path),
        port=series.flow[0][1],
        samples=len(series.rtt_ns),
        min_ms=float(low),
        median_ms=float(middle),
        max_ms=float(high),
        passed_over=passed_over,
    )


def tap_delay_plot(comparison: TapComparison) -> Plot | None:
    """The delay over time by postcards and captures, and their difference; None of no packet."""
    if len(comparison.sojourn_ns) == 0:
        return None
    some = np.arange(0, len(comparison.sojourn_ns), -(-len(comparison.sojourn_ns) // MAX_POINTS))
    t_s = comparison.time_ns[some] / 1e9
    difference_us = comparison.difference_ns / 1e3
    low, high = np.percentile(difference_us, (1, 99))
    room = max(high - low, 1e-3)
    above = [
        Line(t_s, comparison.sojourn_ns[some] / 1e6, "postcards", **DOTS, color=MUTED,
             markersize=2.5, alpha=0.5),
        Line(t_s, comparison.delay_ns[some] / 1e6, "captures", **DOTS, color=BLUE, markersize=1,
             alpha=0.5),
    ]  # fmt: skip
    below = [
        Line(t_s, difference_us[some], **DOTS, color=BLUE, markersize=1, alpha=0.3),
        Rule(comparison.bias_ns / 1e3, "median difference", color=MUTED, linewidth=1.0),
        *(Rule(edge / 1e3, color=MUTED, linewidth=0.8, linestyle=":")
          for edge in comparison.spread_ns),
    ]  # fmt: skip
    panels = [
        Panel(above, y=Axis("queueing delay (ms)", low=0)),
        Panel(below, Axis("time (s)"),
              Axis("captures less\npostcards (µs)", low - room, high + room)),
    ]  # fmt: skip
    return Plot(panels, (WIDE, 5.0), columns=3, ratios=(3, 2))
