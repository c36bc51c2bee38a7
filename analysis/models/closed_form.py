"""The closed form: BBR's share from one ProbeRTT to the next.

`docs/explanation/closed-form.md` derives it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from nashbed.controlplane.contract.units import PACKET_BYTES

from .competition import Competition
from .prediction import Model, Prediction, no_competition, other_than_bbr
from .starts import BBR, CUBIC

NAME = "closed-form"

FULL = 0.97
"""Mean queue by the buffer. Measured on 50 flows: CUBIC's losses are small dips of a full queue."""
GAIN = 2.0
"""BBR's limit in flight by its own bandwidth-delay product (Cardwell et al. 2016, cwnd_gain)."""
EXTRA_PACKETS = 11.3
"""Packets that a BBR flow may have in flight above that: three segments of at least two packets,
two for probing, and what aggregated acknowledgements add (Linux: bbr_quantization_budget,
bbr_ack_aggregation_cwnd). Fitted on published mixes; windows of our runs show 10 to 14."""
LEAST_PACKETS = 4.0
"""Window of a BBR flow in ProbeRTT (Linux: bbr_cwnd_min_target)."""
KEEPS = 0.7
"""Part of its window that a CUBIC flow keeps when it loses (RFC 9438, beta)."""
GROWTH = 0.4
"""CUBIC's C, in packets per second cubed (RFC 9438)."""
RENO_SLOPE = 3 * (1 - KEEPS) / (1 + KEEPS)
"""Packets by which CUBIC's window grows in an RTT at the least (RFC 9438, Reno-friendly)."""
LOSSES_PER_PACKET = 0.42
"""Packets that a CUBIC flow loses in an event by those that its window grew in the last RTT; BBR's
packets are dropped in place of the others. Fitted on published mixes."""
CUBIC_PACKETS = 1.54
"""Packets that a CUBIC flow has in flight where BBR leaves it nothing: between one, after a
timeout, and two, the least window after a loss. Fitted on published mixes."""
PROBE_EVERY_S = 10.0
"""Time after which BBR measures its least RTT anew (Linux: bbr_min_rtt_win_sec)."""
PROBE_S = 0.2
"""Time in ProbeRTT with the least window (Linux: bbr_probe_rtt_mode_ms)."""
RAMP_RTTS = 3.5
"""RTT+ whose throughput BBR loses on its way into ProbeRTT and out. Fitted on published mixes; from
3 to 4 all fit as well."""
CLIMB_ROUNDS = 8 / 0.25
"""Full RTTs in which BBR's share grows e-fold while its limit leaves room: in one of eight phases,
each of RTT+, it sends a quarter more (Linux: bbr_pacing_gain), which is 1/4 RTT+/RTT of the round
in which it measures its rate."""
FOLLOW_ROUNDS = 17.6
"""Full RTTs in which BBR's share follows a limit below it: the ten of its bandwidth filter (Linux:
bbr_bw_rtts), and those that CUBIC takes to fill what BBR leaves. Fitted on published mixes."""
DEEPEST_BDP = 50.0
"""Deepest buffer that it was checked against."""
MOST_PROBES = 64
"""ProbeRTT that are followed; a longer competition goes on like the second half of them."""


@dataclass(frozen=True)
class SharedQueue:
    """A competition in the model's units.

    Attributes:
        pipe: P, the bandwidth-delay product in packets.
        buffer: X, the buffer in BDP.
        rtt_s: R.
        cubic: N_c.
        bbr: N_b.
    """

    pipe: float
    buffer: float
    rtt_s: float
    cubic: int
    bbr: int

    @property
    def full(self) -> float:
        """Z, everything in flight in BDP, which is also the RTT by the base RTT."""
        return 1 + FULL * self.buffer

    @property
    def extra(self) -> float:
        """What BBR may have in flight above two of its own bandwidth-delay products, in BDP."""
        return EXTRA_PACKETS * self.bbr / self.pipe

    @property
    def most(self) -> float:
        """BBR's share where CUBIC keeps only its least windows, below 1."""
        cubic, bbr = CUBIC_PACKETS * self.cubic, EXTRA_PACKETS * self.bbr
        return max(bbr / (bbr + cubic), 1 - cubic / (self.pipe * (1 + self.buffer)))

    def synchrony(self, share: float) -> float:
        """The part phi of the CUBIC flows that lose in one event.

        Args:
            share: BBR's share s, below 1.
        """
        window = (1 - share) * self.full * self.pipe / self.cubic
        climb_s = ((1 - KEEPS) / GROWTH * window) ** (1 / 3)
        slope = (1 - KEEPS) * window / climb_s * self.full * self.rtt_s
        lost = LOSSES_PER_PACKET * max(RENO_SLOPE, slope)
        return max(1 / self.cubic, -math.expm1(-lost))

    def least_by_mean(self, share: float) -> float:
        """CUBIC's least in flight by its mean, mu."""
        loses = (1 - KEEPS) * self.synchrony(share)
        return (1 - loses) / (1 - loses / 4)

    def rtt_plus(self, share: float) -> float:
        """RTT+ by the base RTT, r: what a ProbeRTT finds when BBR has this share.

        It does not grow with the share.
        """
        cubic = self.least_by_mean(share) * (1 - share) * self.full
        return max(1.0, cubic + LEAST_PACKETS * self.bbr / self.pipe)

    def limit(self, rtt_plus: float) -> float:
        """The share at which BBR has in flight what it may: s Z = 2 s r + extra.

        Args:
            rtt_plus: r.

        Returns:
            At most `most`, which is also the answer if BBR never reaches its limit.
        """
        room = self.full - GAIN * rtt_plus
        return min(self.most, self.extra / room) if room > self.extra else self.most

    def move(self, share: float, rtt_plus: float, seconds: float) -> tuple[float, float]:
        """Where BBR's share moves while RTT+ stays.

        Args:
            share: At the start.
            rtt_plus: r.
            seconds: How long, above 0.

        Returns:
            Its mean over the time, and where it ends.
        """
        rounds, limit = seconds / (self.full * self.rtt_s), self.limit(rtt_plus)
        if share < limit:
            return _climb(share, limit, rounds / CLIMB_ROUNDS)
        return _follow(share, limit, (1 - GAIN * rtt_plus / self.full) * rounds / FOLLOW_ROUNDS)


def _climb(share: float, limit: float, time: float) -> tuple[float, float]:
    """Grow e-fold in a unit of time, up to the limit: mean and end."""
    climbing = min(time, math.log(limit / share))
    end = min(limit, share * math.exp(climbing))
    return (end - share + limit * (time - climbing)) / time, end


def _follow(share: float, limit: float, time: float) -> tuple[float, float]:
    """Come e-fold closer to the limit in a unit of time: mean and end."""
    if time <= 0:
        return share, share
    left = (share - limit) * math.exp(-time)
    return limit + (share - limit) * -math.expm1(-time) / time, limit + left


@dataclass(frozen=True)
class ProbeInterval:
    """The time from one ProbeRTT to the next.

    Attributes:
        rtt_plus: What BBR takes for the base RTT, by the base RTT.
        share: BBR's mean share of what is in flight.
        probing: Part of its throughput that BBR loses to the ProbeRTT at its start.
    """

    start_s: float
    end_s: float
    rtt_plus: float
    share: float
    probing: float


def stretches(path: SharedQueue, duration_s: float) -> Iterator[ProbeInterval]:
    """Follow a competition from ProbeRTT to ProbeRTT.

    It starts with fair shares and an empty queue, so with an RTT+ of the base RTT.
    """
    share = min(path.most, path.bbr / (path.bbr + path.cubic))
    rtt_plus, probing, start_s = 1.0, 0.0, 0.0
    for _ in range(MOST_PROBES):
        lasts_s = PROBE_EVERY_S + PROBE_S + rtt_plus * path.rtt_s
        end_s = min(start_s + lasts_s, duration_s)
        mean, share = path.move(share, rtt_plus, end_s - start_s)
        yield ProbeInterval(start_s, end_s, rtt_plus, mean, probing)
        if end_s >= duration_s:
            return
        start_s, rtt_plus = end_s, path.rtt_plus(share)
        probing = _probing_share(rtt_plus * path.rtt_s)


def _probing_share(rtt_plus_s: float) -> float:
    """Part of its throughput that BBR loses to ProbeRTT, at most all of it."""
    lost_s = PROBE_S + RAMP_RTTS * rtt_plus_s
    return min(1.0, lost_s / (PROBE_EVERY_S + PROBE_S + rtt_plus_s))


def predict(question: Competition) -> Prediction:
    """Predict BBR's aggregate share.

    With P the BDP in packets, X the buffer in BDP, Z = 1 + 0.97 X and r = RTT+/R, BBR's share s
    of what is in flight moves towards its limit, s Z = 2 s r + 11.3 N_b/P: up by 1/32 in a
    round, down as its bandwidth filter forgets. Every 10 s a ProbeRTT finds anew
    r = max(1, mu (1 - s) Z + 4 N_b/P). The answer is the mean over the measured time of s, less
    what the ProbeRTT cost.

    Args:
        question: The question; of its times `duration_s` and `measured_from_s` are read.

    Source: `docs/explanation/closed-form.md`.
    """
    simple = other_than_bbr(NAME, question) or no_competition(NAME, question)
    if simple is not None:
        return simple
    path = _bottleneck(question)
    course = list(stretches(path, question.duration_s))
    weights = _weights(course, question)
    held = _mean([s.share for s in course], weights)
    share = _mean([s.share * (1 - s.probing) for s in course], weights)
    seen = [s.rtt_plus * path.rtt_s for s in course]
    inner = {
        "in_flight_share": held,
        "phi": path.synchrony(held),
        "mu": path.least_by_mean(held),
        "rtt_plus_s": _mean(seen, weights),
        "rtt_plus_least_s": min(seen[len(seen) // 2 :]),
        "rtt_plus_most_s": max(seen[len(seen) // 2 :]),
        "queueing_delay_s": (path.full - 1) * path.rtt_s,
        "probe_rtt_share": 1 - share / held,
    }
    return Prediction(NAME, question, share, flags=_flags(question), inner=inner)


def _bottleneck(question: Competition) -> SharedQueue:
    return SharedQueue(
        pipe=question.bdp_bytes / PACKET_BYTES,
        buffer=question.buffer_bdp,
        rtt_s=question.base_rtt_s,
        cubic=question.flows_of(CUBIC),
        bbr=question.flows_of(BBR),
    )


def _weights(course: list[ProbeInterval], question: Competition) -> list[float]:
    """How much of the measured time each stretch stands for, in seconds.

    What lies behind the last one is laid on the second half of them.
    """
    since = question.measured_from_s
    weights = [max(0.0, s.end_s - max(s.start_s, since)) for s in course]
    half = len(course) // 2
    behind_s = question.duration_s - max(course[-1].end_s, since)
    if behind_s > 0:
        each = behind_s / (len(course) - half)
        weights[half:] = [weight + each for weight in weights[half:]]
    return weights


def _mean(values: list[float], weights: list[float]) -> float:
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


def _flags(question: Competition) -> tuple[str, ...]:
    if question.buffer_bdp <= DEEPEST_BDP:
        return ()
    return (f"the buffer is {question.buffer_bdp:.4g} BDP: not checked beyond {DEEPEST_BDP:g} BDP",)


MODEL = Model(
    NAME,
    "Closed form",
    "nashbed, docs/explanation/closed-form.md",
    "BBR version 1, one base RTT; checked from 0.5 to 50 BDP",
    predict,
)
