"""Who holds the queue over one trial: each flow's bytes, stacked, above what BBR makes of it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
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
from .plot import Axis, Band, Item, Line, Note, Panel, Plot, Rule, Stack
from .style import DASHED, INK, MUTED, NARROW, colour_of, shades

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


def queue_over_time_plot(measures: RunMeasures, trial: TrialMeasures) -> Plot | None:
    """One trial from its postcards, or from its bins; None if it has neither.

    Raises:
        RunError: The table is damaged.
    """
    rebuilt = occupancy(measures, trial)
    if rebuilt is None:
        return None
    bins, stacked = rebuilt
    samples = bbr_samples(trial)
    items = [
        *_layers(measures, trial, bins, stacked),
        *_limit(trial, bins.end_ns),
        *_warmup(trial),
    ]
    # The second unit is that of the first by the rate.
    delay = None if trial.rate_varies else ("delay (ms)", 1e3 * 8 / trial.rate_bps * 1e3)
    largest = max(limit for _, limit in trial.limits)
    x = Axis("" if samples else "time (s)", bins.start_ns / NS_PER_S, bins.end_ns / NS_PER_S)
    y = Axis("bytes in the queue (kB)", 0, 1.18 * largest / 1e3)
    panels = [Panel(items, x, y, right=delay)]
    if samples is None:
        return Plot(panels, (NARROW, 3.6), columns=4)
    grid = not samples.probing.any()
    panels.append(_bandwidth(measures, trial, samples, Axis(grid=grid)))
    through = bins.middles_ns, stacked.sum(axis=0)
    panels.append(_min_rtt(measures, trial, samples, through, Axis("time (s)", grid=grid)))
    return Plot(panels, (NARROW, 6.6), columns=3, ratios=(1.7, 1, 1))


def _limit(trial: TrialMeasures, end_ns: int) -> Iterator[Item]:
    """The queue's hard limit over time, and its largest value."""
    at_ns, limits = zip(*trial.limits, strict=True)
    largest = max(limits)
    yield Line([*(ns / NS_PER_S for ns in at_ns), end_ns / NS_PER_S],
               [each / 1e3 for each in (*limits, limits[-1])], drawstyle="steps-post", color=INK,
               linewidth=1.0, linestyle=DASHED)  # fmt: skip
    last = limits[-1] == largest
    yield Note(f"limit {size_text(largest)}",
               0.99 if last else at_ns[limits.index(largest)] / NS_PER_S, largest / 1e3,
               ("axes fraction" if last else "data", "data"), ha="right" if last else "left",
               va="bottom", fontsize=8.5, color=INK)  # fmt: skip


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


def _layers(
    measures: RunMeasures, trial: TrialMeasures, bins: TimeBins, bytes_: NDArray[np.float64]
) -> Iterator[Item]:
    """The flows stacked, strategy by strategy; many flows of a strategy become one layer."""
    layers, colours, labels = [], [], []
    for strategy in (*measures.strategies, "background"):
        mask = trial.flow_mask(strategy) if strategy != "background" else ~trial.flow_mask()
        rows = bytes_[mask]
        if len(trial.strategy) > MAX_LAYERS or strategy == "background":
            rows = rows.sum(axis=0, keepdims=True)
        if mask.any():
            colour = MUTED if strategy == "background" else colour_of(strategy, measures.strategies)
            layers.append(rows)
            colours += shades(colour, len(rows))
            labels.append((f"{strategy} ({counted(int(mask.sum()), 'flow')})", colour))
    yield Stack(bins.middles_ns / NS_PER_S, np.concatenate(layers) / 1e3, colours)
    for label, colour in labels:
        yield Band((), (), (), label, color=colour, linewidth=1)


def _warmup(trial: TrialMeasures) -> Iterator[Item]:
    end = trial.trial.record.window_ns[0] / NS_PER_S
    yield Rule(end, upright=True, color=MUTED, linewidth=0.9, linestyle=":")
    yield Note(" measured from here", end, 0.985, ("data", "axes fraction"), fontsize=8,
               color=MUTED, va="top")  # fmt: skip


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


def _bandwidth(measures: RunMeasures, trial: TrialMeasures, samples: BbrSamples, x: Axis) -> Panel:
    """The flows' bandwidth estimates, added up, beside the goodput that they get."""
    total = np.nansum(samples.bandwidth_bps, axis=0) / 1e6
    items: list[Item] = [
        Line(samples.t_ns / NS_PER_S, total, "bandwidth estimates", linewidth=1.3,
             color=_colour(measures, trial, samples)),
    ]  # fmt: skip
    rate = _goodput(trial, samples)
    if rate is not None:
        items.append(Line(*rate, f"goodput of {_names(trial, samples)}", color=INK, linewidth=1.0))
    edges = np.arange(0, trial.trial.record.duration_ns + RATE_STEP_NS, RATE_STEP_NS)
    carried = np.full(len(edges) - 1, float(trial.rate_bps))
    if trial.course is not None:
        carried = trial.course.capacity_bits(edges) * (NS_PER_S / RATE_STEP_NS)
    items.append(Line(edges / NS_PER_S, [*carried / 1e6, carried[-1] / 1e6], color=INK, zorder=1,
                      linewidth=1.0, linestyle=DASHED, drawstyle="steps-post"))  # fmt: skip
    items += _probes(samples)
    title = f"all {_names(trial, samples)} flows\n(Mbit/s)"
    return Panel(items, x, Axis(title, 0, 1.3 * float(carried.max()) / 1e6))


def _min_rtt(
    measures: RunMeasures,
    trial: TrialMeasures,
    samples: BbrSamples,
    through: tuple[NDArray[np.float64], NDArray[np.float64]],
    x: Axis,
) -> Panel:
    """Each flow's least RTT of 10 s, beside the RTT through the queue if the path is constant.

    `through` has times in ns and bytes in the queue.
    """
    items: list[Item] = []
    largest_ms = 1e3 * float(np.nanmax(samples.min_rtt_s))
    if trial.course is None:
        t_ns, queued = through
        base_s = min(trial.trial.setting.base_rtt_ns) / NS_PER_S
        loaded_ms = 1e3 * (base_s + queued * 8 / trial.rate_bps)
        items.append(Line(t_ns / NS_PER_S, loaded_ms, "RTT through the queue", color=MUTED,
                          linewidth=0.9))  # fmt: skip
        largest_ms = float(loaded_ms.max())
    for row in samples.min_rtt_s:
        items.append(Line(samples.t_ns / NS_PER_S, 1e3 * row, "least RTT of 10 s", linewidth=0.9,
                          color=_colour(measures, trial, samples)))  # fmt: skip
    return Panel([*items, *_probes(samples, "ProbeRTT")], x, Axis("RTT (ms)", 0, 1.1 * largest_ms))


def _probes(samples: BbrSamples, label: str | None = None) -> Iterator[Item]:
    """Grey where any flow is in ProbeRTT."""
    probing = samples.probing.any(axis=0)
    if probing.any():
        yield Band(samples.t_ns / NS_PER_S, 0, 1, label, of_height=True, where=probing.tolist(),
                   color=MUTED, alpha=0.4, linewidth=1.0, zorder=0.5)  # fmt: skip


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
