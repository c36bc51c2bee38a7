"""How much who gets what still moves within the measured window."""

from __future__ import annotations

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..align.data import TrialData
from .per_flow_throughput import check_cover
from .registry import Metric, register

SETTLED_WITHIN = 0.15
"""Largest drift of a trial that counts as settled, where it is too short for its record to tell.

BBR probes every 10 s and CUBIC's cycle lasts seconds, so that half a minute drifts in any case.
"""


def drift(
    t_ns: NDArray[np.int64],
    interval_bytes: NDArray[np.float64],
    interval_ns: int,
    window_ns: tuple[int, int],
) -> float:
    """Mean rate in the second half of a window less that in the first, relative to the whole mean.

    Bytes are taken as spread evenly over their interval.

    Args:
        t_ns: Ends of the intervals, increasing, shape (K,).
        interval_bytes: Bytes in each interval, shape (K,).
        interval_ns: Length of the first interval; the others last from the end before.
        window_ns: The window (from, to).

    Returns:
        The drift, unit 1, -2 to 2; 0 where nothing arrived.
    """
    edges = np.concatenate(([t_ns[0] - interval_ns], t_ns)).astype(np.float64)
    total = np.concatenate(([0.0], np.cumsum(interval_bytes))) * 8 * NS_PER_S
    low, high = window_ns
    begin, middle, end = np.interp([low, (low + high) / 2, high], edges, total)
    if end == begin:
        return 0.0
    return float(2 * (end - 2 * middle + begin) / (end - begin))


def _of_trial(trial: TrialData) -> float:
    goodput = trial.need_goodput()
    if trial.spans_ns is None:
        check_cover(goodput, trial.window_ns)
    mine = np.array(trial.strategy)
    drifts = [
        drift(
            goodput.t_ns,
            goodput.bytes[mine == strategy].sum(axis=0),
            goodput.interval_ns,
            trial.window_ns,
        )
        for strategy in dict.fromkeys(trial.strategy)
    ]
    return max(drifts, key=abs)


METRIC = register(
    Metric(
        name="throughput_drift",
        title="Drift of the throughput",
        unit="1",
        scope="trial",
        definition="Mean throughput of a congestion control in the second half of the window, less "
        "that in the first half, relative to its own mean; the largest of any congestion control. "
        "The record of a trial of 82 s and more says whether it was settled at its end; a shorter "
        f"one counts as settled up to {SETTLED_WITHIN:.2f}.",
        source="nashbed",
        compute=_of_trial,
    )
)
