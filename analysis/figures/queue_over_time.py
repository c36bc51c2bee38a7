"""Who holds the queue over one trial: each flow's bytes, stacked, above what BBR makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from nashbed.controlplane.contract.units import NS_PER_S, counted
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray

from ..correlation.competition import VERSIONS
from ..measures import RunMeasures, TrialMeasures
from ..metrics.queue import TimeBins
from ..metrics.rtt import US_PER_S
from ..models.starts import BBR
from ..pyramid.levels import user_cache
from ..pyramid.view import queue_of
from ..text import size_text
from .style import DASHED, INK, MUTED, NARROW, colour_of, new_figure, shades

MAX_BINS = 600
MIN_BIN_NS = 10_000_000
RATE_STEP_NS = 100_000_000
"""How finely what a link carries is drawn."""
MAX_LAYERS = 60
PROBE_RTT_PACKETS = 4
"""Linux's window while BBR measures the base RTT (bbr_cwnd_min_target)."""
PROBE_RTT_MODE = 7
"""The mode that BBRv2 and BBRv3 report in ProbeRTT (hosts/cc)."""
BBR_COLUMNS = (
    "t_ns", "tick", "flow", "has_bbr", "cwnd_pkts", "bbr_bw_bps", "bbr_min_rtt_us",
    "bbr_pacing_gain", "bbr_mode",
)  # fmt: skip


def draw_queue_over_time(measures: RunMeasures, trial: TrialMeasures) -> Figure | None:
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
    _draw_limit(ax, trial, bins.end_ns)
    ax.set(
        xlim=(bins.start_ns / NS_PER_S, bins.end_ns / NS_PER_S), ylabel="bytes in the queue (kB)"
    )
    if samples is not None:
        bandwidth, rtt = below
        _draw_bandwidth(bandwidth, measures, trial, samples)
        _draw_min_rtt(rtt, measures, trial, samples, (bins.middles_ns, stacked.sum(axis=0)))
        for each in below:
            if samples.probing.any():
                _mark_probes(each, samples, "ProbeRTT" if each is rtt else None)
    (ax, *below)[-1].set_xlabel("time (s)")
    _mark_warmup(ax, trial)
    if not trial.rate_varies:
        _delay_axis(ax, trial)
    _legend(figure, measures, trial, below)
    return figure


def _draw_limit(ax: Axes, trial: TrialMeasures, end_ns: int) -> None:
    """The queue's hard limit over time, with room above it, and its largest value."""
    at_ns, limits = zip(*trial.limits, strict=True)
    largest = max(limits)
    ax.step(
        [*(ns / NS_PER_S for ns in at_ns), end_ns / NS_PER_S],
        [each / 1e3 for each in (*limits, limits[-1])],
        where="post",
        color=INK,
        linewidth=1.0,
        linestyle=DASHED,
    )
    last = limits[-1] == largest
    ax.annotate(
        f"limit {size_text(largest)}",
        (0.99 if last else at_ns[limits.index(largest)] / NS_PER_S, largest / 1e3),
        xycoords=("axes fraction" if last else "data", "data"),
        ha="right" if last else "left",
        va="bottom",
        fontsize=8.5,
        color=INK,
    )
    ax.set_ylim(0, 1.18 * largest / 1e3)


def _axes(samples: BbrSamples | None) -> tuple[Figure, list[Axes]]:
    """One panel, or three where there are BBR flows."""
    if samples is None:
        return new_figure(NARROW, 3.6)
    return new_figure(NARROW, 6.6, rows=3, heights=(1.7, 1, 1))


def occupancy(
    measures: RunMeasures, trial: TrialMeasures
) -> tuple[TimeBins, NDArray[np.float64]] | None:
    """Mean bytes of each flow in the queue over time, from the trial's pyramid or its bins.

    A trial with postcards that nobody has looked at has no pyramid yet: it is made.

    Returns:
        The bins and the bytes, shape (F, B); None if the trial has no telemetry.
    """
    queue = queue_of(trial.trial, measures.run.scenario, user_cache())
    if queue is None:
        return None
    duration = trial.trial.record.duration_ns
    most = max(1, min(MAX_BINS, duration // MIN_BIN_NS))
    view = queue.view(0, duration, most, ("occupancy_byte_ns",))
    return view.bins, view.cells["occupancy_byte_ns"].T / view.bins.length_ns


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
    if not trial.flow_mask().all():
        layers.append(bytes_[~trial.flow_mask()].sum(axis=0, keepdims=True))
        colours += shades(MUTED, 1)
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
    if background := int((~trial.flow_mask()).sum()):
        handles.append(Patch(color=MUTED, label=f"background ({counted(background, 'flow')})"))
    for ax in below:
        handles += ax.get_legend_handles_labels()[0]
    figure.legend(handles=handles, loc="outside lower center", ncols=3 if below else 4)


@dataclass(frozen=True)
class BbrSamples:
    """What the flows of a trial say that tell of themselves, on common ticks. T ticks, f flows.

    Attributes:
        flows: The flows, shape (f,).
        t_ns: The ticks, by their first sample, shape (T,).
        bandwidth_bps: Each flow's estimate, shape (f, T); NaN where a flow has no sample.
        min_rtt_s: Each flow's least RTT of 10 s, shape (f, T).
        probing: Whether each flow is in ProbeRTT, shape (f, T).
    """

    flows: NDArray[np.int64]
    t_ns: NDArray[np.int64]
    bandwidth_bps: NDArray[np.float64]
    min_rtt_s: NDArray[np.float64]
    probing: NDArray[np.bool_]


def bbr_samples(trial: TrialMeasures) -> BbrSamples | None:
    """The samples of a trial's flows that tell an estimate of both; None if it has none.

    BBRv2 and BBRv3 tell when they are in ProbeRTT. A flow of the kernel's BBR is where it has a
    window of at most 4 packets and paces at its estimate; one that gets nearly nothing has that
    window at other times too.

    Raises:
        RunError: The table is damaged.
    """
    if not trial.trial.has("flow_samples"):
        return None
    samples = trial.trial.arrays("flow_samples", BBR_COLUMNS)
    rows = (samples["has_bbr"] != 0) & (samples["bbr_min_rtt_us"] > 0)
    if not rows.any():
        return None
    _, first, tick = np.unique(samples["tick"][rows], return_index=True, return_inverse=True)
    t_ns = samples["t_ns"][rows][first]
    flows, row = np.unique(samples["flow"][rows], return_inverse=True)
    cell, shape = (row, tick), (len(flows), len(t_ns))
    bandwidth, min_rtt = np.full(shape, np.nan), np.full(shape, np.nan)
    probing = np.zeros(shape, dtype=bool)
    bandwidth[cell] = samples["bbr_bw_bps"][rows]
    min_rtt[cell] = samples["bbr_min_rtt_us"][rows] / US_PER_S
    probing[cell] = _probing(samples, np.array(trial.strategy)[samples["flow"]])[rows]
    return BbrSamples(flows.astype(np.int64), t_ns, bandwidth, min_rtt, probing)


def _probing(samples: Arrays, cca: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Which samples are of ProbeRTT; `cca` has the CCA of each."""
    mode = samples["bbr_mode"]
    small = samples["cwnd_pkts"] <= PROBE_RTT_PACKETS
    by_window = (cca == BBR) & small & (samples["bbr_pacing_gain"] == 1)
    by_mode = np.isin(cca, VERSIONS) & (mode == PROBE_RTT_MODE)
    found: NDArray[np.bool_] = np.where(np.isfinite(mode), by_mode, by_window)
    return found


def _draw_bandwidth(
    ax: Axes, measures: RunMeasures, trial: TrialMeasures, samples: BbrSamples
) -> None:
    """The flows' bandwidth estimates, added up, beside the goodput that they get."""
    colour = _colour(measures, trial, samples)
    total = np.nansum(samples.bandwidth_bps, axis=0) / 1e6
    ax.plot(
        samples.t_ns / NS_PER_S, total, color=colour, linewidth=1.3, label="bandwidth estimates"
    )
    rate = _goodput(trial, samples)
    if rate is not None:
        ax.plot(*rate, color=INK, linewidth=1.0, label=f"goodput of {_names(trial, samples)}")
    edges = np.arange(0, trial.trial.record.duration_ns + RATE_STEP_NS, RATE_STEP_NS)
    carried = np.full(len(edges) - 1, float(trial.rate_bps))
    if trial.course is not None:
        carried = trial.course.capacity_bits(edges) * (NS_PER_S / RATE_STEP_NS)
    ax.stairs(carried / 1e6, edges / NS_PER_S, color=INK, linewidth=1.0, linestyle=DASHED,
              baseline=None)  # fmt: skip
    ax.set(
        ylabel=f"all {_names(trial, samples)} flows\n(Mbit/s)",
        ylim=(0, 1.3 * float(carried.max()) / 1e6),
    )


def _draw_min_rtt(
    ax: Axes,
    measures: RunMeasures,
    trial: TrialMeasures,
    samples: BbrSamples,
    through: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Each flow's least RTT of 10 s, beside the RTT through the queue if the path is constant.

    Args:
        ax: Where.
        measures: The run's measures.
        trial: The trial.
        samples: Its BBR flows' samples.
        through: Times in ns and bytes in the queue.
    """
    colour = _colour(measures, trial, samples)
    largest_ms = 1e3 * float(np.nanmax(samples.min_rtt_s))
    if trial.course is None:
        t_ns, queued = through
        base_s = min(trial.trial.setting.base_rtt_ns) / NS_PER_S
        loaded_ms = 1e3 * (base_s + queued * 8 / trial.rate_bps)
        ax.plot(t_ns / NS_PER_S, loaded_ms, color=MUTED, linewidth=0.9,
                label="RTT through the queue")  # fmt: skip
        largest_ms = float(loaded_ms.max())
    for index, row in enumerate(samples.min_rtt_s):
        label = "least RTT of 10 s" if index == 0 else None
        ax.plot(samples.t_ns / NS_PER_S, 1e3 * row, color=colour, linewidth=0.9, label=label)
    ax.set(ylabel="RTT (ms)", ylim=(0, 1.1 * largest_ms))


def _mark_probes(ax: Axes, samples: BbrSamples, label: str | None = None) -> None:
    """Grey where any flow is in ProbeRTT."""
    probing = samples.probing.any(axis=0)
    ax.grid(visible=False, axis="x")
    ax.fill_between(
        samples.t_ns / NS_PER_S, 0, 1, where=probing.tolist(), color=MUTED, alpha=0.4,
        linewidth=1.0, transform=ax.get_xaxis_transform(), label=label, zorder=0.5,
    )  # fmt: skip


def _names(trial: TrialMeasures, samples: BbrSamples) -> str:
    """The CCAs that tell, e.g. `bbr` or `bbr + bbr3`."""
    return " + ".join(dict.fromkeys(trial.strategy[flow] for flow in samples.flows.tolist()))


def _colour(measures: RunMeasures, trial: TrialMeasures, samples: BbrSamples) -> str:
    return colour_of(trial.strategy[int(samples.flows[0])], measures.strategies)


def _goodput(
    trial: TrialMeasures, samples: BbrSamples
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Seconds and Mbit/s of the flows together, second by second."""
    if not trial.trial.has("goodput"):
        return None
    table = trial.trial.arrays("goodput", ("t_ns", "flow", "bytes"))
    mine = np.isin(table["flow"], samples.flows)
    # A row is of the interval that ends at its time.
    second = (table["t_ns"][mine] - 1) // NS_PER_S
    count = int(trial.trial.record.duration_ns // NS_PER_S)
    if not count:
        return None
    sums = np.bincount(second, weights=table["bytes"][mine], minlength=count)[:count]
    middles: NDArray[np.float64] = np.arange(count, dtype=np.float64) + 0.5
    return middles, sums * 8 / 1e6
