"""Convergence: how much the rolling mean of who gets what still moves in the window."""

from __future__ import annotations

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..align.data import TrialData
from .per_flow_throughput import check_cover
from .registry import Metric, register

CONVERGED_WITHIN = 0.15
"""Largest drift, as a share of the rate, of a trial that counts as converged.

BBR probes every 10 s and CUBIC's cycle lasts seconds, so some drift is in every trial: up to 0.12
in 180 s windows of ten flows at 100 Mbit/s, 40 ms, 2 BDP; 0.24 and more in 24 s at 5 BDP.
"""


def rolling_mean(
    t_ns: NDArray[np.int64],
    interval_bytes: NDArray[np.float64],
    interval_ns: int,
    window_ns: tuple[int, int],
    length_ns: int,
) -> NDArray[np.float64]:
    """Mean rate in bit/s over every stretch of a length that fits into the window.

    Bytes are taken as spread evenly over their interval. Stretches begin at the window's
    start and at every end of an interval after it.

    Args:
        t_ns: Ends of the intervals, increasing, shape (K,).
        interval_bytes: Bytes in each interval, shape (K,).
        interval_ns: Length of the first interval; the others last from the end before.
        window_ns: The window (from, to).
        length_ns: Length of a stretch, at most the window's.

    Returns:
        Means in order of time, shape (stretches,), at least one.
    """
    edges = np.concatenate(([t_ns[0] - interval_ns], t_ns)).astype(np.float64)
    total = np.concatenate(([0.0], np.cumsum(interval_bytes)))
    low, high = window_ns
    inside = t_ns[(t_ns > low) & (t_ns <= high - length_ns)].astype(np.float64)
    starts = np.concatenate(([float(low)], inside))
    gained = np.interp(starts + length_ns, edges, total) - np.interp(starts, edges, total)
    means: NDArray[np.float64] = gained * (8 * NS_PER_S / length_ns)
    return means


def drift(means: NDArray[np.float64], rate_bps: float) -> float:
    """Largest less smallest rolling mean, as a share of the rate (unit 1)."""
    return float(np.ptp(means)) / rate_bps


def _of_trial(trial: TrialData) -> float:
    goodput = trial.need_goodput()
    check_cover(goodput, trial.window_ns)
    mine = np.array(trial.strategy)
    drifts = []
    for strategy in dict.fromkeys(trial.strategy):
        together = goodput.bytes[mine == strategy].sum(axis=0)
        half = trial.length_ns // 2
        grid = goodput.t_ns, together, goodput.interval_ns, trial.window_ns
        drifts.append(drift(rolling_mean(*grid, half), trial.rate_bps))
    return max(drifts)


METRIC = register(
    Metric(
        name="throughput_drift",
        title="Drift of the throughput",
        unit="1",
        scope="trial",
        definition="Largest less smallest moving average of a congestion control's throughput over "
        "half of the window, divided by the rate; the largest of any congestion control. Up "
        f"to {CONVERGED_WITHIN:.2f} a trial counts as converged.",
        source="nashbed",
        compute=_of_trial,
    )
)
