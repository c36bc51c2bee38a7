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
