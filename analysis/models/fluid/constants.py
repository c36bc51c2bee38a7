"""What the rules of congestion controls do not say about a bottleneck: few numbers, fitted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FITTED_FILE = Path(__file__).with_name("fitted.json")
"""Written by `python -m tests.support.fluid_fit`: the constants, and how well they predict."""


@dataclass(frozen=True)
class FluidConstants:
    """The constants of the fluid model.

    The first four are fitted; what each is in the network is in `analysis/README.md`, the fluid
    model. The last two say how finely the fluid is cut: the answers hardly depend on them.

    Attributes:
        losing_packets: Packets that a CUBIC flow loses together when the queue overflows.
        rate_noise: By how many times the square root of the packets of a round the largest of BBR's
            delivery rate samples is too large.
        aggregated_packets: Packets that BBR keeps in flight beyond 2 BDP and three bursts, for
            acknowledgements that come back in bursts.
        timeout_weight: How likely a retransmission that is lost too ends in a timeout.
        slots_per_rtt: Slots of time in the smallest base RTT; a slot is 0.5 to 8 ms.
        cohorts: Most cohorts of one kind of flows.
    """

    losing_packets: float
    rate_noise: float
    aggregated_packets: float
    timeout_weight: float
    slots_per_rtt: float = 5.0
    cohorts: float = 6.0


FITTED = FluidConstants(**json.loads(FITTED_FILE.read_text(encoding="utf-8"))["constants"])
