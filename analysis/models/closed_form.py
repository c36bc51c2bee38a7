"""The closed form: BBR's share from what it may keep in flight, with measured terms.

`analysis/README.md`, "The closed form", derives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from nashbed.controlplane.contract.units import PACKET_BYTES

from .prediction import Model, Prediction, no_competition
from .question import Question

NAME = "closed-form"

FULL = 0.97
"""Mean queue by the buffer. Measured: CUBIC's losses are small dips of a full queue."""
GAIN = 2.0
"""BBR's limit in flight by its own bandwidth-delay product (cwnd_gain; Cardwell et al. 2016)."""
EXTRA_PACKETS = 8.8
"""Packets that a BBR flow keeps in flight above that limit: three segments of two packets for
offload, two for probing, and what aggregated acknowledgements add (Linux: bbr_quantization_budget,
bbr_ack_aggregation_cwnd). Fitted on published mixes; runs of ours show 10 to 14."""
LEAST_PACKETS = 4.0
"""Window of a BBR flow in ProbeRTT (Linux: bbr_cwnd_min_target)."""
KEEPS = 0.7
"""Part of its window that a CUBIC flow keeps when it loses (RFC 9438, beta)."""
GROWTH = 0.4
"""CUBIC's C in packets per second cubed (RFC 9438)."""
RENO_SLOPE = 3 * (1 - KEEPS) / (1 + KEEPS)
"""Packets per RTT by which CUBIC's window grows at least: its Reno-friendly region (RFC 9438)."""
LOSSES_PER_PACKET = 0.42
"""Packets that a CUBIC flow loses in an event by those it grew in its last RTT. Of one packet
too many every arrival is one loss; BBR's arrivals take the rest. Fitted on published mixes."""
CUBIC_PACKETS = 1.54
"""Packets that a CUBIC flow has in flight where BBR leaves it nothing: between one (after a
timeout) and two (the least window after a loss). Fitted on published mixes."""
PROBE_EVERY_S = 10.0
"""Time that BBR keeps its least RTT (Linux: bbr_min_rtt_win_sec)."""
PROBE_S = 0.2
"""Time in ProbeRTT with the least window (Linux: bbr_probe_rtt_mode_ms)."""
RAMP_RTTS = 3.4
"""RTT+ whose throughput BBR loses on the way into ProbeRTT and out of it: one to drain, and the
climb back. Fitted on published mixes."""
DEEPEST_BDP = 50.0
"""Deepest buffer that it was checked against."""
HALVINGS = 54
"""Of the range of shares: what is left is the precision of a double."""


@dataclass(frozen=True)
class _Bottleneck:
    """A question in the model's units.

    Attributes:
        pipe: P, the bandwidth-delay product in packets.
        buffer: X, the buffer in BDP.
        full: Z, the mean RTT by the base RTT.
        rtt_s: R.
        cubic: N_c.
        bbr: N_b.
    """

    pipe: float
    buffer: float
    full: float
    rtt_s: float
    cubic: int
    bbr: int

    def synchrony(self, share: float) -> float:
        """Share phi of the CUBIC flows that lose in one event, if BBR has this share."""
        window = (1 - share) * self.full * self.pipe / self.cubic
        climb_s = ((1 - KEEPS) / GROWTH * window) ** (1 / 3)
        slope = (1 - KEEPS) * window * self.full * self.rtt_s / climb_s if window else 0.0
        lost = LOSSES_PER_PACKET * max(RENO_SLOPE, slope)
        return max(1 / self.cubic, -math.expm1(-lost))

    def least_by_mean(self, share: float) -> float:
        """CUBIC's least bytes in flight by their mean, mu."""
        loses = (1 - KEEPS) * self.synchrony(share)
        return (1 - loses) / (1 - loses / 4)

    def rtt_plus(self, share: float) -> float:
        """The least RTT that BBR sees, by the base RTT, r."""
        cubic = self.least_by_mean(share) * (1 - share) * self.full
        return max(1.0, cubic + LEAST_PACKETS * self.bbr / self.pipe)

    def lacks(self, share: float) -> bool:
        """Whether BBR may have more in flight than this share of everything in flight."""
        limit = GAIN * share * self.rtt_plus(share) + EXTRA_PACKETS * self.bbr / self.pipe
        return share * self.full < limit

    def most(self) -> float:
        """The share that BBR has where CUBIC flows keep only their least windows."""
        least, extra = CUBIC_PACKETS * self.cubic, EXTRA_PACKETS * self.bbr
        return max(extra / (extra + least), 1 - least / (self.pipe * (1 + self.buffer)))


def predict(question: Question) -> Prediction:
    """Predict BBR's aggregate share.

    With P the BDP in packets, X the buffer in BDP, Z = 1 + 0.97 X and s BBR's share of what is
    in flight, BBR keeps its limit in flight,

        s Z = 2 s r(s) + 8.8 N_b / P,

    where r = RTT+/R = max(1, mu (1 - s) Z + 4 N_b / P) is what it sees of the queue while it
    probes. CUBIC's least by its mean is mu = (1 - 0.3 phi)/(1 - 0.075 phi) when the share phi of
    its flows loses in one event. r does not grow with s, so there is at most one root; without
    one, BBR takes all but CUBIC's least windows. The time in ProbeRTT is taken off.

    Args:
        question: The question.

    Source: `analysis/README.md`, "The closed form".
    """
    alone = no_competition(NAME, question)
    if alone is not None:
        return alone
    path = _bottleneck(question)
    held = min(_held(path), path.most())
    rtt_plus = path.rtt_plus(held)
    probing = _probing_share(rtt_plus * path.rtt_s)
    inner = {
        "in_flight_share": held,
        "phi": path.synchrony(held),
        "mu": path.least_by_mean(held),
        "rtt_plus_s": rtt_plus * path.rtt_s,
        "queueing_delay_s": (path.full - 1) * path.rtt_s,
        "probe_rtt_share": probing,
    }
    return Prediction(NAME, question, held * (1 - probing), flags=_flags(question), inner=inner)


def _bottleneck(question: Question) -> _Bottleneck:
    return _Bottleneck(
        pipe=question.bdp_bytes / PACKET_BYTES,
        buffer=question.buffer_bdp,
        full=1 + FULL * question.buffer_bdp,
        rtt_s=question.base_rtt_s,
        cubic=question.cubic,
        bbr=question.bbr,
    )


def _held(path: _Bottleneck) -> float:
    """BBR's share of what is in flight at which it keeps its limit; 1 if it never reaches it."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if path.lacks(middle) else (low, middle)
    return high


def _probing_share(rtt_plus_s: float) -> float:
    """Part of its throughput that BBR loses to ProbeRTT, at most all of it."""
    lost_s = PROBE_S + RAMP_RTTS * rtt_plus_s
    return min(1.0, lost_s / (PROBE_EVERY_S + PROBE_S + rtt_plus_s))


def _flags(question: Question) -> tuple[str, ...]:
    flags = []
    if question.buffer_bdp > DEEPEST_BDP:
        flags.append(
            f"the buffer is {question.buffer_bdp:.4g} BDP: not checked beyond {DEEPEST_BDP:g} BDP"
        )
    if question.duration_s < PROBE_EVERY_S:
        flags.append(f"{question.duration_s:g} s is less than the 10 s between two ProbeRTT")
    return tuple(flags)


MODEL = Model(
    NAME,
    "Closed form",
    'nashbed, analysis/README.md, "The closed form"',
    "BBR version 1, one base RTT; checked from 0.5 to 50 BDP",
    predict,
)
