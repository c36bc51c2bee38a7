"""RTT as the senders' kernels saw it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..align.data import TrialData
from .registry import Metric, register

US_PER_S = 1e6


def rtt_series(
    t_ns: NDArray[Any],
    flow: NDArray[Any],
    srtt_us: NDArray[Any],
    flows: int,
    edges_ns: NDArray[Any],
) -> NDArray[np.float64]:
    """Smoothed RTT of each flow over time, in seconds.

    Args:
        t_ns: Times of the samples, shape (n,).
        flow: Flow of each sample, shape (n,).
        srtt_us: The kernel's smoothed RTT in microseconds; 0 (none yet) is left out.
        flows: Number of flows F.
        edges_ns: Edges of the time bins, increasing, shape (B + 1,).

    Returns:
        Mean over the samples in each bin, shape (F, B); NaN in a bin without any.
    """
    bins = len(edges_ns) - 1
    which = np.searchsorted(edges_ns, t_ns, side="right") - 1
    keep = (which >= 0) & (which < bins) & (srtt_us > 0)
    cell = flow[keep].astype(np.int64) * bins + which[keep]
    count = np.bincount(cell, minlength=flows * bins)
    total = np.bincount(cell, weights=srtt_us[keep], minlength=flows * bins)
    mean = np.full(flows * bins, np.nan)
    np.divide(total, count * US_PER_S, out=mean, where=count > 0)
    return mean.reshape(flows, bins)


def _of_flows(trial: TrialData) -> NDArray[np.float64]:
    samples = trial.need_samples()
    t_ns, flow, srtt_us = (samples.columns[name] for name in ("t_ns", "flow", "srtt_us"))
    return rtt_series(t_ns, flow, srtt_us, trial.flows, np.array(trial.window_ns))[:, 0]


METRIC = register(
    Metric(
        name="mean_rtt",
        title="Mean RTT",
        unit="s",
        scope="flow",
        definition="Mean of the sender's smoothed RTT over its samples in the window (TCP_INFO).",
        source="Nikam, Kunal, Gaurav 2023",
        compute=_of_flows,
    )
)


def peak_rtt(
    t_ns: NDArray[Any],
    flow: NDArray[Any],
    srtt_us: NDArray[Any],
    flows: int,
    window_ns: tuple[int, int],
) -> NDArray[np.float64]:
    """Largest smoothed RTT of each flow in the window, in seconds.

    Args:
        t_ns: Times of the samples, shape (n,).
        flow: Flow of each sample, shape (n,).
        srtt_us: The kernel's smoothed RTT in microseconds; 0 (none yet) is left out.
        flows: Number of flows F.
        window_ns: The window [from, to).

    Returns:
        Seconds, shape (F,); NaN without a sample.
    """
    keep = (t_ns >= window_ns[0]) & (t_ns < window_ns[1]) & (srtt_us > 0)
    top = np.zeros(flows)
    np.maximum.at(top, flow[keep].astype(np.int64), srtt_us[keep] / US_PER_S)
    return np.where(top > 0, top, np.nan)


def _peak_of_flows(trial: TrialData) -> NDArray[np.float64]:
    samples = trial.need_samples()
    t_ns, flow, srtt_us = (samples.columns[name] for name in ("t_ns", "flow", "srtt_us"))
    return peak_rtt(t_ns, flow, srtt_us, trial.flows, trial.window_ns)


PEAK = register(
    Metric(
        name="peak_rtt",
        title="Largest RTT",
        unit="s",
        scope="flow",
        definition="Largest of the sender's smoothed RTTs among its samples in the window.",
        source="Nikam, Kunal, Gaurav 2023",
        compute=_peak_of_flows,
    )
)
