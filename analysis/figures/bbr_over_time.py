"""What congestion controls tell of themselves over one trial, as BBR does.

The bandwidth that they estimate, their least RTT, and when BBR probes for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray

from ..correlation.competition import VERSIONS
from ..measures import RunMeasures, TrialMeasures
from ..metrics.rtt import US_PER_S
from ..models.starts import BBR
from .style import INK, MUTED, colour_of

PROBE_RTT_PACKETS = 4
"""Linux's window while BBR measures the base RTT (bbr_cwnd_min_target)."""
PROBE_RTT_MODE = 7
"""Of BBRv2 and BBRv3, which tell their mode (hosts/cc)."""
COLUMNS = (
    "t_ns", "tick", "flow", "has_bbr", "cwnd_pkts", "bbr_bw_bps", "bbr_min_rtt_us",
    "bbr_pacing_gain", "bbr_mode",
)  # fmt: skip


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
    samples = trial.trial.arrays("flow_samples", COLUMNS)
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


def _probing(samples: Arrays, control: NDArray[np.str_]) -> NDArray[np.bool_]:
    """Which samples are of ProbeRTT; `control` has the congestion control of each."""
    mode = samples["bbr_mode"]
    small = samples["cwnd_pkts"] <= PROBE_RTT_PACKETS
    by_window = (control == BBR) & small & (samples["bbr_pacing_gain"] == 1)
    by_mode = np.isin(control, VERSIONS) & (mode == PROBE_RTT_MODE)
    found: NDArray[np.bool_] = np.where(np.isfinite(mode), by_mode, by_window)
    return found


def draw_bandwidth(
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
    ax.axhline(trial.rate_bps / 1e6, color=INK, linewidth=1.0, linestyle=(0, (5, 3)))
    ax.set(
        ylabel=f"all {_names(trial, samples)} flows\n(Mbit/s)", ylim=(0, 1.3 * trial.rate_bps / 1e6)
    )


def draw_min_rtt(
    ax: Axes,
    measures: RunMeasures,
    trial: TrialMeasures,
    samples: BbrSamples,
    through: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Each flow's least RTT of 10 s, beside the RTT through the queue.

    Args:
        ax: Where.
        measures: The run's measures.
        trial: The trial.
        samples: Its BBR flows' samples.
        through: Times in ns and bytes in the queue.
    """
    colour = _colour(measures, trial, samples)
    t_ns, queued = through
    base_s = min(trial.trial.setting.base_rtt_ns) / NS_PER_S
    loaded_ms = 1e3 * (base_s + queued * 8 / trial.rate_bps)
    ax.plot(t_ns / NS_PER_S, loaded_ms, color=MUTED, linewidth=0.9, label="RTT through the queue")
    for index, row in enumerate(samples.min_rtt_s):
        label = "least RTT of 10 s" if index == 0 else None
        ax.plot(samples.t_ns / NS_PER_S, 1e3 * row, color=colour, linewidth=0.9, label=label)
    ax.set(ylabel="RTT (ms)", ylim=(0, 1.1 * float(loaded_ms.max())))


def mark_probes(ax: Axes, samples: BbrSamples, label: str | None = None) -> None:
    """Grey where any flow is in ProbeRTT."""
    probing = samples.probing.any(axis=0)
    ax.grid(visible=False, axis="x")
    ax.fill_between(
        samples.t_ns / NS_PER_S, 0, 1, where=probing.tolist(), color=MUTED, alpha=0.4,
        linewidth=1.0, transform=ax.get_xaxis_transform(), label=label, zorder=0.5,
    )  # fmt: skip


def _names(trial: TrialMeasures, samples: BbrSamples) -> str:
    """The congestion controls that tell, e.g. `bbr` or `bbr + bbr3`."""
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
