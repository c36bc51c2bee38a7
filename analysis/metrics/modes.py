"""What a BBR of hosts/cc tells: how often and how long it is in a mode, and gains and rates there.

These are read of a trial's samples where a bound asks for them; they are no columns of tables.
Times are those of samples, so that a mode shorter than `telemetry.tcp_info` may be missed.
"""

from collections.abc import Mapping

import numpy as np
from nashbed.controlplane.contract.bounds import MetricReading
from nashbed.controlplane.contract.metrics import BBR_MODES, MODE_UNITS
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

from ..align.data import IntArray

OF_TOLD = {
    "pacing_gain": ("bbr_pacing_gain",),
    "cwnd_gain": ("bbr_cwnd_gain",),
    "bandwidth_estimate": ("bbr_bw_bps",),
    "cwnd": ("cwnd_pkts", "mss"),
    "inflight": ("inflight_bytes",),
}
"""What is told -> the columns of a sample whose product it is."""
COLUMNS = ("t_ns", "flow", "bbr_mode", *(name for names in OF_TOLD.values() for name in names))
Columns = Mapping[str, NDArray[np.generic]]


def stays(told: IntArray, mode: int, after: int | None) -> IntArray:
    """Times in a mode: (first sample, first sample behind it), shape (n, 2).

    Args:
        told: The mode at each sample, in the order of time, shape (rows,).
        after: Only stays that follow this mode; None: any.
    """
    inside = np.concatenate(([0], told == mode, [0])).astype(np.int8)
    steps = np.diff(inside)
    begins, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    found: IntArray = np.stack((begins, ends), axis=1)
    return found if after is None else found[(begins > 0) & (told[begins - 1] == after), :]


def _of_stays(metric: str, t_ns: IntArray, found: IntArray) -> float:
    """A number of MODE_UNITS; NaN: there is no such entry, or for the shortest no whole stay."""
    last = len(t_ns) - 1
    begins, ends = found[:, 0], np.minimum(found[:, 1], last)
    lengths = (t_ns[ends] - t_ns[begins]) / NS_PER_S
    entered = begins > 0
    whole = lengths[entered & (found[:, 1] <= last)]
    match metric:
        case "mode_entries":
            return float(entered.sum())
        case "longest_in_mode":
            return float(lengths.max(initial=0))
        case "shortest_in_mode":
            return float(whole.min()) if len(whole) else float("nan")
    return float(t_ns[begins[entered][0]]) / NS_PER_S if entered.any() else float("nan")


def _of_told(metric: str, samples: Columns, chosen: NDArray[np.bool_]) -> float:
    """A number of TOLD_UNITS; NaN: there is no such sample."""
    which, what = metric.split("_", 1)
    values = np.ones(int(chosen.sum()))
    for name in OF_TOLD[what]:
        values = values * samples[name][chosen].astype(float)
    if not len(values):
        return float("nan")
    return float(values.min() if which == "least" else values.max())


def told_by(reading: MetricReading, samples: Columns) -> float:
    """What a reading says of one flow, in the unit of its metric.

    Args:
        samples: COLUMNS of the flow in the measured window, in the order of time, shape (rows,).

    Returns:
        NaN where the control tells no mode, or is never in the one that is asked for.
    """
    told, t_ns = samples["bbr_mode"], samples["t_ns"].astype(np.int64)
    if not len(told) or not np.isfinite(told.astype(float)).all():
        return float("nan")
    chosen = np.ones(len(told), bool)
    if reading.mode is not None:
        after = None if reading.after is None else BBR_MODES.index(reading.after) + 1
        found = stays(told.astype(np.int64), BBR_MODES.index(reading.mode) + 1, after)
        if reading.metric in MODE_UNITS:
            return _of_stays(reading.metric, t_ns, found)
        chosen[:] = False
        for begin, end in found:
            chosen[begin:end] = True
    return _of_told(reading.metric, samples, chosen)


def told_in_trial(reading: MetricReading, trial: SealedTrial, flows: NDArray[np.bool_]) -> float:
    """The mean of what a reading says of some flows of a trial.

    Args:
        flows: Which, shape (F,).
    """
    low, high = trial.record.window_ns
    table = trial.arrays("flow_samples", COLUMNS)
    inside = (table["t_ns"] >= low) & (table["t_ns"] < high)
    values = []
    for flow in np.flatnonzero(flows):
        rows = np.flatnonzero(inside & (table["flow"] == flow))
        rows = rows[np.argsort(table["t_ns"][rows], kind="stable")]
        values.append(told_by(reading, {name: each[rows] for name, each in table.items()}))
    return float(np.mean(values))
