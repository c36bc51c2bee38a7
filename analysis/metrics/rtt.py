"""RTT: as the senders' kernels saw it, and from captures beside them by TCP time stamps."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..align.data import TrialData
from ..captures.tcp_headers import Endpoint, Segment
from .metric import Metric

US_PER_S = 1e6
Flow = tuple[Endpoint, Endpoint]
HALF = 1 << 31
WRAP = 1 << 32


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


def _samples(trial: TrialData) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]:
    columns = trial.need_samples().columns
    return columns["t_ns"], columns["flow"], columns["srtt_us"], trial.flows


def _of_flows(trial: TrialData) -> NDArray[np.float64]:
    return rtt_series(*_samples(trial), np.array(trial.window_ns))[:, 0]


MEAN_RTT = Metric(
    name="mean_rtt",
    title="Mean RTT",
    unit="s",
    scope="flow",
    definition="Mean of the sender's smoothed RTT over its samples in the window (TCP_INFO).",
    source="Nikam, Kunal, Gaurav 2023",
    compute=_of_flows,
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
        t_ns: This and the next three are as `rtt_series` has them.
        window_ns: The window [from, to).

    Returns:
        Seconds, shape (F,); NaN without a sample.
    """
    keep = (t_ns >= window_ns[0]) & (t_ns < window_ns[1]) & (srtt_us > 0)
    top = np.zeros(flows)
    np.maximum.at(top, flow[keep].astype(np.int64), srtt_us[keep] / US_PER_S)
    return np.where(top > 0, top, np.nan)


def _peak_of_flows(trial: TrialData) -> NDArray[np.float64]:
    return peak_rtt(*_samples(trial), trial.window_ns)


PEAK_RTT = Metric(
    name="peak_rtt",
    title="Largest RTT",
    unit="s",
    scope="flow",
    definition="Largest of the sender's smoothed RTTs among its samples in the window.",
    source="Nikam, Kunal, Gaurav 2023",
    compute=_peak_of_flows,
)


@dataclass(frozen=True)
class RttSeries:
    """RTT samples of one flow.

    Attributes:
        flow: Sender and receiver.
        t_ns: When each ACK came, ns of the capture's clock, shape (n,).
        rtt_ns: The RTTs, shape (n,).
    """

    flow: Flow
    t_ns: NDArray[np.int64]
    rtt_ns: NDArray[np.int64]


@dataclass
class _Sender:
    """What is known of one flow so far; `new`: no ACK has come yet but the one of its SYN."""

    sent: dict[int, int] = field(default_factory=dict)
    acked: int | None = None
    new: bool = True
    t_ns: list[int] = field(default_factory=list)
    rtt_ns: list[int] = field(default_factory=list)

    def begin(self, answered: bool) -> None:
        """Start a connection: what an earlier one of the same ports and addresses left is void.

        Args:
            answered: The other side's SYN says so: of no news if this side's own was seen.
        """
        if not (answered and self.new):
            self.sent.clear()
            self.acked = None
            self.new = True

    def send(self, segment: Segment) -> None:
        """The first segment with a time stamp is the one that its echo answers."""
        if segment.ts_value is not None:
            self.sent.setdefault(segment.ts_value, segment.t_ns)

    def receive(self, segment: Segment) -> None:
        """An ACK that acknowledges new data gives a sample; others may echo stale stamps."""
        if segment.ack is None or segment.ts_echo is None:
            return
        news = self.acked is None or 0 < (segment.ack - self.acked) % WRAP < HALF
        sent_ns = self.sent.get(segment.ts_echo) if news else None
        if news:
            self.acked = segment.ack
            self.new = segment.syn
        if sent_ns is not None:
            self.t_ns.append(segment.t_ns)
            self.rtt_ns.append(segment.t_ns - sent_ns)
            self._forget(segment.ts_echo)

    def _forget(self, echoed: int) -> None:
        """Stamps older than an echoed one are not echoed again: memory is a window's worth."""
        old = [stamp for stamp in self.sent if 0 < (echoed - stamp) % WRAP < HALF]
        for stamp in old:
            del self.sent[stamp]


def capture_rtt(segments: Iterable[Segment]) -> list[RttSeries]:
    """RTT samples of every flow that sends data, from a capture beside the senders.

    For each ACK of new data: the time since the first segment that carried the time stamp
    which the ACK echoes. A retransmission has a stamp of its own, so no sample is ambiguous.

    Args:
        segments: TCP segments in order of time, of both directions.

    Returns:
        One series for each flow with samples, in order of its first data; connections of the same
        ports and addresses that follow each other are in one.

    Source: RFC 7323, section 4.1 (RTTM rule); Nikam, Kunal, Gaurav 2023, figure of RTTs.
    """
    senders: dict[Flow, _Sender] = {}
    for segment in segments:
        forward, backward = (segment.src, segment.dst), (segment.dst, segment.src)
        if segment.syn:
            for flow in (forward, backward):
                if flow in senders:
                    senders[flow].begin(answered=flow == backward and segment.ack is not None)
        if segment.payload > 0:
            senders.setdefault(forward, _Sender()).send(segment)
        back = senders.get(backward)
        if back is not None:
            back.receive(segment)
    return [
        RttSeries(flow, np.array(s.t_ns, dtype=np.int64), np.array(s.rtt_ns, dtype=np.int64))
        for flow, s in senders.items()
        if s.rtt_ns
    ]
