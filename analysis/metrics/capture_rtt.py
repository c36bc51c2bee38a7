"""RTT over time from a capture at the senders, by TCP time stamps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..captures.tcp_headers import Endpoint, Segment

Flow = tuple[Endpoint, Endpoint]
HALF = 1 << 31
WRAP = 1 << 32


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
    """What is known of one flow so far."""

    sent: dict[int, int] = field(default_factory=dict)
    acked: int | None = None
    t_ns: list[int] = field(default_factory=list)
    rtt_ns: list[int] = field(default_factory=list)

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
        One series for each flow with samples, in order of its first data.

    Source: RFC 7323, section 4.1 (RTTM rule); Nikam, Kunal, Gaurav 2023, figure of RTTs.
    """
    senders: dict[Flow, _Sender] = {}
    for segment in segments:
        forward = segment.src, segment.dst
        if segment.payload > 0:
            senders.setdefault(forward, _Sender()).send(segment)
        back = senders.get((segment.dst, segment.src))
        if back is not None:
            back.receive(segment)
    return [
        RttSeries(flow, np.array(s.t_ns, dtype=np.int64), np.array(s.rtt_ns, dtype=np.int64))
        for flow, s in senders.items()
        if s.rtt_ns
    ]
