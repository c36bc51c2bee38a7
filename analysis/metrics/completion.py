"""Finite transfers: how long each takes, and how much longer than it would have to take alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S, PACKET_BYTES
from numpy.typing import NDArray

from ..align.data import FloatArray, IntArray, TrialData
from ..errors import NotMeasuredError
from .metric import Metric

MSS = 1448
"""Payload of a full frame with TCP time stamps."""
HEADERS = PACKET_BYTES - MSS
"""Ethernet, IP and TCP, as a frame without FCS has them."""
INITIAL_WINDOW = 10
"""Segments (RFC 6928)."""
TIME_LEFT = 0.1
"""Part of the measured window, its last, whose arrivals do not count: they had no time to end."""
CLASS_LIMITS = (10_000, 100_000, 1_000_000)
"""Largest size of each class but the last, bytes: one initial window has 14 kB."""
CLASS_NAMES = ("up to 10 kB", "10 to 100 kB", "100 kB to 1 MB", "above 1 MB")


def completion_time(arrival_ns: IntArray, completed_ns: FloatArray) -> FloatArray:
    """Time from each transfer's planned arrival to its last byte at the sink, in seconds.

    Args:
        arrival_ns: Planned arrivals, shape (n,).
        completed_ns: Last bytes at the sink; NaN: not completed, shape (n,).

    Returns:
        Seconds, shape (n,); infinite where a transfer was not completed.

    Source: flow completion time; Dukkipati and McKeown, CCR 36(1), 2006.
    """
    taken = (completed_ns - arrival_ns) / NS_PER_S
    return np.where(np.isnan(taken), np.inf, taken)


@dataclass(frozen=True)
class IdealPath:
    """A path without competitors and without loss."""

    rate_bps: int
    overhead_bytes: int = 0

    def wire_s(self, payload: FloatArray, segments: FloatArray) -> FloatArray:
        """Time that so much payload in so many segments takes on the wire."""
        size = payload + segments * (HEADERS + self.overhead_bytes)
        return size * 8 / self.rate_bps


def ideal_time(
    size_bytes: IntArray, base_rtt_ns: IntArray, handshake: NDArray[np.bool_], path: IdealPath
) -> FloatArray:
    """The least time from a transfer's arrival to its last byte at the sink, alone on its path.

    With R the base RTT, C the rate, n = ceil(size / 1448) segments and s = (1514 + overhead) 8 / C
    the time that one of them takes on the wire:

        ideal = h R + R / 2 + k (R + s) + (what is left after k rounds, on the wire) 8 / C

    h is 1 with a handshake (SYN and SYN-ACK), else 0. In round i, from 0, the sender sends a
    window of 10 x 2^i segments, and waits R + s for the first ACK. k is the number of rounds in
    which it waits: the smallest for which the window fills the pipe, 10 x 2^k s >= R + s, or holds
    all that is left, 10 (2^(k+1) - 1) >= n. After it the link never idles.

    Each ACK lets the window grow by what it acknowledges, at once; there is no loss, and hosts take
    no time. A kept connection may have a larger window than 10 segments, and be faster.

    Args:
        size_bytes: Payload of each transfer, shape (n,).
        base_rtt_ns: Base RTT of each, shape (n,).
        handshake: Whether each needs a new connection, shape (n,).

    Returns:
        Seconds, shape (n,).
    """
    size, rtt_s = size_bytes.astype(np.float64), base_rtt_ns / NS_PER_S
    segments = np.ceil(size / MSS)
    one_s = path.wire_s(np.array(float(MSS)), np.array(1.0))
    # 10 x 2^k s >= R + s, and 10 (2^(k+1) - 1) >= n, each for the smallest k from 0.
    filled = np.ceil(np.log2((rtt_s + one_s) / (INITIAL_WINDOW * one_s)))
    enough = np.ceil(np.log2(segments / INITIAL_WINDOW + 1)) - 1
    rounds = np.maximum(0.0, np.minimum(filled, enough))
    sent = INITIAL_WINDOW * (2**rounds - 1)
    rest = path.wire_s(size - sent * MSS, segments - sent)
    ideal: FloatArray = rtt_s * (handshake + 0.5) + rounds * (rtt_s + one_s) + rest
    return ideal


def needs_handshake(flow: IntArray, start_ns: FloatArray) -> NDArray[np.bool_]:
    """Which transfers are the first of their connection, shape (n,).

    Args:
        flow: Flow of each transfer: a connection, shape (n,).
        start_ns: When each began, shape (n,).
    """
    order = np.lexsort((start_ns, flow))
    first = np.zeros(len(flow), bool)
    first[order] = np.diff(flow[order], prepend=-1) != 0
    return first


def percentile(values: FloatArray, share: float) -> float:
    """The smallest value that at least a share of them do not exceed.

    Transfers that were not completed are longer than all others: a percentile among them is not
    known.

    Args:
        values: Infinite where not known, shape (n,).
        share: In (0, 1].

    Returns:
        The value; NaN where it is not known, or there is none.
    """
    if not len(values):
        return float("nan")
    rank = max(1, int(np.ceil(share * len(values))))
    found = float(np.partition(values, rank - 1)[rank - 1])
    return found if np.isfinite(found) else float("nan")


def mean_of_completed(values: FloatArray) -> float:
    """Mean of the finite values; NaN without any."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def size_class(size_bytes: IntArray) -> IntArray:
    """The size class of each transfer, an index into CLASS_NAMES, shape (n,)."""
    found: IntArray = np.searchsorted(np.array(CLASS_LIMITS), size_bytes, side="left")
    return found


@dataclass(frozen=True)
class Completions:
    """The transfers that arrived in the measured window and had time to end. n transfers.

    Attributes:
        flow: Flow of each, shape (n,).
        size_bytes: Size of each, shape (n,).
        time_s: Flow completion time of each; infinite where it was not completed, shape (n,).
        slowdown: The same by the ideal, shape (n,); None where there is no one ideal.
    """

    flow: IntArray
    size_bytes: IntArray
    time_s: FloatArray
    slowdown: FloatArray | None

    @property
    def size_class(self) -> IntArray:
        """Size class of each, shape (n,)."""
        return size_class(self.size_bytes)

    def chosen(self, which: NDArray[np.bool_]) -> Completions:
        """Some of them."""
        slowdown = None if self.slowdown is None else self.slowdown[which]
        return Completions(self.flow[which], self.size_bytes[which], self.time_s[which], slowdown)


def completions_of(trial: TrialData) -> Completions:
    """The transfers of a trial that arrived in its measured window, the last tenth of it excepted.

    Raises:
        NotMeasuredError: It has none.
    """
    transfers = trial.need_transfers()
    low, high = trial.window_ns
    last = high - TIME_LEFT * (high - low)
    inside = (transfers.arrival_ns >= low) & (transfers.arrival_ns < last)
    if not inside.any():
        raise NotMeasuredError("no transfer arrived in the measured window")
    time_s = completion_time(transfers.arrival_ns, transfers.completed_ns)
    slowdown = None
    if not trial.path_changes:
        ideal = ideal_time(
            transfers.size_bytes,
            trial.base_rtt_ns[transfers.flow],
            needs_handshake(transfers.flow, transfers.start_ns),
            IdealPath(trial.rate_bps, trial.overhead_bytes),
        )
        slowdown = time_s / ideal
    all_of_them = Completions(transfers.flow, transfers.size_bytes, time_s, slowdown)
    return all_of_them.chosen(inside)


def _times(trial: TrialData) -> FloatArray:
    return completions_of(trial).time_s


def _slowdowns(trial: TrialData) -> FloatArray:
    found = completions_of(trial).slowdown
    if found is None:
        raise NotMeasuredError("the path changes in mid-trial, so that there is no one ideal")
    return found


def _of_flow(trial: TrialData) -> FloatArray:
    """The mean of each flow's transfers; NaN of a flow that has none."""
    transfers = trial.need_transfers()
    time_s = completion_time(transfers.arrival_ns, transfers.completed_ns)
    count = np.bincount(transfers.flow, minlength=trial.flows)
    with np.errstate(invalid="ignore"):
        return np.bincount(transfers.flow, weights=time_s, minlength=trial.flows) / count


def _unfinished(trial: TrialData) -> float:
    return float(np.isinf(completions_of(trial).time_s).mean())


Values = Callable[[TrialData], FloatArray]
STATISTICS = (("", 0.0, "mean"), ("median", 0.5, "median"), ("p95", 0.95, "95th percentile"),
              ("p99", 0.99, "99th percentile"))  # fmt: skip
"""Prefix of a metric's name -> share that `statistic` takes, and its name."""


def statistic(values: FloatArray, share: float) -> float:
    """A percentile as `percentile` has it; the mean of the finite ones at a share of 0."""
    return percentile(values, share) if share else mean_of_completed(values)


def _statistic_of(trial: TrialData, values: Values, share: float) -> float:
    return statistic(values(trial), share)


def _metrics(name: str, title: str, unit: str, meaning: str, values: Values) -> Sequence[Metric]:
    return [
        Metric(
            name=f"{prefix}_{name}" if prefix else name,
            title=f"{title}, {words}" if share else f"Mean {title[0].lower()}{title[1:]}",
            unit=unit,
            scope="trial",
            definition=f"{meaning}; the {words} of all, where those that were not completed are "
            "the longest."
            if share
            else f"{meaning}; the mean of those that were completed.",
            source="Dukkipati, McKeown, CCR 2006"
            if unit == "s"
            else "Alizadeh et al., pFabric, SIGCOMM 2013",
            compute=partial(_statistic_of, values=values, share=share),
            common=False,
        )
        for prefix, share, words in STATISTICS
    ]


TIMES = _metrics(
    "flow_completion_time",
    "Flow completion time",
    "s",
    "Time from a transfer's planned arrival to its last byte at the sink, of the transfers that "
    "arrive in the measured window, its last tenth excepted",
    _times,
)
SLOWDOWNS = _metrics(
    "slowdown",
    "Slowdown",
    "x",
    "A transfer's completion time by that which it would have alone: handshake, half a base RTT, "
    "slow start from 10 segments that doubles in each round until the pipe is full, and its bytes "
    "at the rate",
    _slowdowns,
)
OF_FLOW = Metric(
    name="completion_time",
    title="Time until a flow has sent its size",
    unit="s",
    scope="flow",
    definition="Time from a flow's planned start, or a transfer's planned arrival, to its last "
    "byte at the sink, whenever that was; the mean of a connection that carried several.",
    source="Dukkipati, McKeown, CCR 2006",
    compute=_of_flow,
    common=False,
)
UNFINISHED = Metric(
    name="unfinished_transfers",
    title="Transfers that were not completed",
    unit="1",
    scope="trial",
    definition="Transfers that arrive in the measured window, its last tenth excepted, and are not "
    "completed by the end of the trial, of all that arrive then.",
    source="nashbed",
    compute=_unfinished,
    common=False,
)
