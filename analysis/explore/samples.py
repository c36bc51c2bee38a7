"""What the senders tell of themselves over a part of a trial: windows, rates, RTTs and states.

A wide view has two instants for every two pixels: the least and the largest sample of each flow in
them, in their order. So no peak is lost.

Epochs are those of controls that react to losses and marks, such as CUBIC: one lasts from a
reduction of the window to the next. A reduction shows in the samples by a new slow-start threshold
that is below the window before it, or by the begin of CWR, recovery or loss. Of several reductions
between two samples one is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from nashbed.controlplane.contract.metrics import BBR_MODES
from nashbed.controlplane.store.parquet import Arrays
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

from ..correlation.competition import VERSIONS
from ..figures.queue_over_time import PROBE_RTT_PACKETS
from ..metrics.rtt import US_PER_S
from ..models.starts import BBR

FloatArray = NDArray[np.float64]
STATES = (
    "open", "next epoch", "disorder", "CWR", "slow start", "cruise", "up", "down", "refill",
    "drain", "startup", "recovery", "loss", "ProbeRTT",
)  # fmt: skip
"""States of a flow. Of several in one pixel the last of this order is shown: the rarest. Epochs of
controls that react to losses are in turns "open" and "next epoch", where nothing else happens."""
_CODE = {name: code for code, name in enumerate(STATES)}
_SHOWN = {"Startup": "startup", "Drain": "drain"}
_BY_MODE = np.array([0, *(_CODE[_SHOWN.get(m, m.removeprefix("ProbeBW "))] for m in BBR_MODES)])
"""Mode that BBRv2 and BBRv3 tell -> index into STATES."""
_CA_STATES = ("open", "disorder", "CWR", "recovery", "loss")
NO_THRESHOLD = 2**31 - 1
SERIES = ("cwnd", "inflight", "pacing", "bandwidth", "srtt", "retransmitted")
"""Bytes, bytes, bit/s, bit/s, seconds, and bytes since the sample before."""
COLUMNS = (
    "t_ns", "tick", "flow", "ca_state", "has_bbr", "cwnd_pkts", "ssthresh_pkts", "mss",
    "inflight_bytes", "pacing_rate_bps", "bbr_bw_bps", "bbr_mode", "bbr_pacing_gain", "srtt_us",
    "bytes_retrans",
)  # fmt: skip
"""What is read of `flow_samples`."""
_UNLIMITED = 1e18
"""A pacing rate above is that of no pacing."""


@dataclass(frozen=True)
class Samples:
    """The samples of all flows of a trial on their common ticks. T ticks, F flows.

    Attributes:
        t_ns: The ticks, by their first sample, shape (T,).
        series: Name of SERIES -> values, shape (F, T); NaN where a flow has no sample.
        state: Index into STATES, shape (F, T); -1 where a flow has no sample.
        epoch: Reductions of the window so far, shape (F, T); -1 of BBR, which has no epochs.
    """

    t_ns: NDArray[np.int64]
    series: dict[str, FloatArray]
    state: NDArray[np.int8]
    epoch: NDArray[np.int32]

    def within(
        self, start_ns: int, end_ns: int, pixels: int, names: Sequence[str] = SERIES
    ) -> Samples:
        """Some series of [start, end], with a sample more on either side, thinned to the pixels."""
        low, high = np.searchsorted(self.t_ns, [start_ns, end_ns])
        part = slice(max(0, int(low) - 1), int(high) + 1)
        t_ns, state, epoch = self.t_ns[part], self.state[:, part], self.epoch[:, part]
        series = {name: self.series[name][:, part] for name in names}
        size = -(-2 * len(t_ns) // pixels)
        if size <= 2:
            return Samples(t_ns, series, state, epoch)
        return Samples(
            _blocks(t_ns, size)[:, [0, -1]].ravel(),
            {name: _thinned(values, size, name) for name, values in series.items()},
            np.repeat(_blocks(state, size).max(axis=-1), 2, axis=-1),
            np.repeat(_blocks(epoch, size).max(axis=-1), 2, axis=-1),
        )


def _blocks(values: NDArray[Any], size: int) -> NDArray[Any]:
    """Values in blocks of a size along the last axis; the last value fills the last block."""
    missing = -values.shape[-1] % size
    padded = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)], mode="edge")
    return padded.reshape(*values.shape[:-1], -1, size)


def _thinned(values: FloatArray, size: int, name: str) -> FloatArray:
    """The least and the largest value of each block, in their order; sums of what adds up."""
    if name == "retransmitted":
        missing = -values.shape[-1] % size
        sums = np.nansum(_blocks(np.pad(values, ((0, 0), (0, missing))), size), axis=-1)
        return np.stack((sums, np.zeros_like(sums)), axis=-1).reshape(len(values), -1)
    blocks = _blocks(values, size)
    known = np.isfinite(blocks)
    least = np.where(known, blocks, np.inf).argmin(axis=-1)
    largest = np.where(known, blocks, -np.inf).argmax(axis=-1)
    order = np.sort(np.stack((least, largest), axis=-1), axis=-1)
    found: FloatArray = np.take_along_axis(blocks, order, axis=-1).reshape(len(values), -1)
    return found


def read_samples(trial: SealedTrial) -> Samples | None:
    """Read a trial's samples; None if it has none.

    Raises:
        RunError: The table is damaged.
    """
    if not trial.has("flow_samples"):
        return None
    table = trial.arrays("flow_samples", COLUMNS)
    flows = trial.arrays("flows", ["flow", "cc"])
    strategy = np.empty(len(flows["flow"]), object)
    strategy[flows["flow"]] = flows["cc"]
    # Old or made trials may have no ticks: then each time is one.
    tick = table["tick"] if np.any(table["tick"]) else table["t_ns"]
    _, first, column = np.unique(tick, return_index=True, return_inverse=True)
    cell, shape = (table["flow"], column), (len(strategy), len(first))
    series = {}
    for name, values in _series(table).items():
        series[name] = np.full(shape, np.nan)
        series[name][cell] = values
    sent_again = series["retransmitted"]
    series["retransmitted"] = np.maximum(np.diff(sent_again, axis=1, prepend=sent_again[:, :1]), 0)
    names = strategy[table["flow"]]
    state, epoch = np.full(shape, -1, np.int8), np.full(shape, -1, np.int32)
    state[cell] = states_of(table, names)
    epoch[cell] = epochs_of(table, names)
    turns = (state == _CODE["open"]) & (epoch > 0) & (epoch % 2 == 1)
    state[turns] = _CODE["next epoch"]
    return Samples(table["t_ns"][first].astype(np.int64), series, state, epoch)


def _series(table: Arrays) -> dict[str, FloatArray]:
    mss = np.maximum(table["mss"].astype(float), 1.0)
    pacing = table["pacing_rate_bps"].astype(float)
    return {
        "cwnd": table["cwnd_pkts"] * mss,
        "inflight": table["inflight_bytes"].astype(float),
        "pacing": np.where(pacing > _UNLIMITED, np.nan, pacing),
        "bandwidth": table["bbr_bw_bps"].astype(float),
        "srtt": table["srtt_us"] / US_PER_S,
        "retransmitted": table["bytes_retrans"].astype(float),
    }


def states_of(table: Arrays, strategy: NDArray[Any]) -> NDArray[np.int8]:
    """The state of each sample, as an index into STATES.

    Recovery and loss come first, whatever the control. BBRv2 and BBRv3 tell their mode; the
    kernel's BBR is known by its gains: 2.89 in Startup, 0.35 in Drain, 1.25 and 0.75 in ProbeBW; in
    ProbeRTT its window is 4 packets. Other controls are in slow start below the threshold.

    Args:
        table: The columns of `flow_samples`.
        strategy: The control of each row.
    """
    ca = np.array([_CODE[name] for name in _CA_STATES], np.int8)[np.minimum(table["ca_state"], 4)]
    threshold = table["ssthresh_pkts"].astype(float)
    starting = (table["cwnd_pkts"] < threshold) | (threshold >= NO_THRESHOLD)
    state = np.where((ca == _CODE["open"]) & starting, _CODE["slow start"], ca)
    is_bbr = (table["has_bbr"] != 0) & (strategy == BBR)
    gain, window = table["bbr_pacing_gain"], table["cwnd_pkts"]
    by_gain = np.select(
        [gain > 2, gain < 0.5, (window <= PROBE_RTT_PACKETS) & (gain == 1), gain > 1, gain < 1],
        [_CODE[name] for name in ("startup", "drain", "ProbeRTT", "up", "down")],
        _CODE["cruise"],
    )
    state = np.where(is_bbr, by_gain, state)
    mode = np.nan_to_num(table["bbr_mode"].astype(float)).astype(int)
    tells = np.isin(strategy, VERSIONS) & (mode >= 1) & (mode <= len(BBR_MODES))
    state = np.where(tells, _BY_MODE[np.clip(mode, 0, len(BBR_MODES))], state)
    repairs = ca >= _CODE["recovery"]
    return np.where(repairs, ca, state).astype(np.int8)


def epochs_of(table: Arrays, strategy: NDArray[Any]) -> NDArray[np.int32]:
    """How often each flow has reduced its window so far; -1 of BBR's versions.

    Args:
        table: The columns of `flow_samples`, each flow's in the order of time.
        strategy: The control of each row.
    """
    found = np.full(len(strategy), -1, np.int32)
    for flow in np.unique(table["flow"]):
        rows = np.flatnonzero(table["flow"] == flow)
        if strategy[rows[0]] != BBR and strategy[rows[0]] not in VERSIONS:
            found[rows] = np.cumsum(_reductions({n: table[n][rows] for n in _REDUCES}))
    return found


_REDUCES = ("ca_state", "ssthresh_pkts", "cwnd_pkts")


def _reductions(samples: Arrays) -> NDArray[np.bool_]:
    """Which samples of one flow are the first after a reduction of its window."""
    threshold, window = samples["ssthresh_pkts"].astype(np.int64), samples["cwnd_pkts"]
    repairs = samples["ca_state"] >= _CA_STATES.index("CWR")
    found = np.zeros(len(threshold), bool)
    found[1:] = (threshold[1:] != threshold[:-1]) & (threshold[1:] < window[:-1])
    found[1:] |= repairs[1:] & ~repairs[:-1]
    return found
