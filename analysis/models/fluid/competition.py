"""What the fluid model is asked: flows of several kinds at one drop-tail bottleneck."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ..question import ModelError, Question
from ..starts import CUBIC


@dataclass(frozen=True)
class FlowKind:
    """Flows that differ in nothing but chance.

    Attributes:
        control: Their congestion control, one of `fluid.CONTROLS`.
        flows: How many, at least 1.
        base_rtt_s: Their round-trip time without queueing, in seconds.
        start_s: When they start.
        start_spread_s: Each starts up to this much later.
        window_bytes: Most that a flow's socket buffers let it have in flight.
        connecting_s: How long before time 0 they begin to connect, evenly until `start_s`; 0: all
            are connected at time 0. BBR believes the RTT of its handshake for 10 s.
    """

    control: str
    flows: int
    base_rtt_s: float
    start_s: float = 0.0
    start_spread_s: float = 0.1
    window_bytes: float = math.inf
    connecting_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated.

        Raises:
            ModelError: A quantity is out of its range.
        """
        if self.flows < 1:
            raise ModelError(f"{self.flows} {self.control} flows; give at least 1")
        if not (math.isfinite(self.base_rtt_s) and self.base_rtt_s > 0):
            raise ModelError(f"base_rtt_s is {self.base_rtt_s:g}; give a number above 0")
        if (
            min(self.start_s, self.start_spread_s, self.connecting_s) < 0
            or not self.window_bytes > 0
        ):
            raise ModelError(f"{self.control}: starts below 0, or no window at all")


@dataclass(frozen=True)
class Competition:
    """Flows that share a drop-tail bottleneck.

    Attributes:
        rate_bps: Rate of the bottleneck in bit/s.
        buffer_bytes: Its buffer in bytes.
        kinds: The flows; at least one kind.
        duration_s: How long they compete, in seconds.
        measured_from_s: Start of the time that the outcome is over.
    """

    rate_bps: float
    buffer_bytes: float
    kinds: tuple[FlowKind, ...]
    duration_s: float = 120.0
    measured_from_s: float = 0.0


def competition_of(question: Question, second: str = "bbr") -> Competition:
    """The competition of a question: CUBIC flows, and those of another control.

    Args:
        question: The question; it speaks of CUBIC and BBR.
        second: What runs in place of BBR, e.g. `bbr3`.
    """
    base_rtt_s = question.base_rtt_s
    return competition_among(
        question, ((CUBIC, question.cubic, base_rtt_s), (second, question.bbr, base_rtt_s))
    )


def competition_among(question: Question, flows: Iterable[tuple[str, int, float]]) -> Competition:
    """The competition of a question whose flows have other controls or base RTTs than it says.

    Args:
        question: All but the flows; what is not CUBIC starts as its BBR flows do.
        flows: Control, number and base RTT in seconds of each kind; kinds without a flow are left
            out.
    """
    window = math.inf if question.window_bytes is None else question.window_bytes
    kinds = tuple(
        FlowKind(
            control,
            number,
            base_rtt_s,
            question.cubic_start_s if control == CUBIC else question.bbr_start_s,
            question.start_spread_s,
            window,
            question.connecting_s,
        )
        for control, number, base_rtt_s in flows
        if number
    )
    return Competition(
        question.rate_bps,
        question.buffer_bytes,
        kinds,
        question.duration_s,
        question.measured_from_s,
    )
