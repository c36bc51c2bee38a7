"""What the rules of congestion controls do not say about a bottleneck: few numbers, fitted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FluidConstants:
    """The constants of the fluid model.

    Attributes:
        losing_packets: Packets that a CUBIC flow that loses loses together.
        rate_error_packets: How much a BBR flow's best delivery rate samples have too many.
        aggregated_packets: What BBR keeps in flight beyond 2 BDP for bursts of acknowledgements.
        timeout_weight: How likely a lost retransmission of a small window ends in a timeout.
        slots_per_rtt: Slots of time in a base RTT.
        cohorts: Most cohorts of one kind of flows.
    """

    losing_packets: float = 2.0
    rate_error_packets: float = 1.0
    aggregated_packets: float = 6.0
    timeout_weight: float = 1.0
    slots_per_rtt: float = 5.0
    cohorts: float = 6.0


FITTED = FluidConstants()
