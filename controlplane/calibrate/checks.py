"""What an observation says of rate, round trips and postcards: the checks of a calibration."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..contract.certificate import CalibrationCheck
from ..contract.target import Applied, Capabilities
from ..contract.units import PACKET_BYTES, Duration
from ..store.postcards import PostcardBatch
from ..validity.postcard_evidence import SequenceGaps
from .rig import Observation, RigLane

NS = 10**9
RATE_ERROR_PERCENT = 0.2
EDGE = 10
"""Lateness is compared between the first and the last tenth of a measurement."""
LEAST_PACKETS = 200
Ints = NDArray[np.int64]
MS = 1e6
LEAST_TOLERANCE_MS = 0.2
LEAST_PROBES = 20


def within(
    name: str, setting: str, value: float | None, limit: float, unit: str, detail: str
) -> CalibrationCheck:
    """A check that is passed by a value of at most the limit on either side of 0.

    Args:
        value: What was measured; None: it could not be, which is not passed.
    """
    passed = value is not None and abs(value) <= limit
    return CalibrationCheck(
        name=name, setting=setting, passed=passed, value=value, limit=limit, unit=unit,
        detail=detail,
    )  # fmt: skip


def rate_error_percent(can: Capabilities) -> float:
    """How far a rate may be off."""
    return RATE_ERROR_PERCENT if can.time_bounds is None else can.time_bounds.rate_percent


def judge_rate(setting: str, observed: Observation, allowed: float) -> CalibrationCheck:
    """Whether a link that is never idle sends the applied rate, as its receivers see it.

    Between busy postcards the switch's clock gives the rate exactly. Whether frames really came
    at that pace is seen by the receivers' clock: see `pace`.
    """

    def verdict(percent: float | None, detail: str) -> CalibrationCheck:
        return within("rate", setting, percent, allowed, "%", detail)

    out = ~observed.cards.dropped
    departed, arrived = int(np.count_nonzero(out)), len(observed.seen)
    if departed != arrived:
        return verdict(None, f"{departed} frames left the bottleneck, {arrived} arrived")
    stretches = busy_stretches(observed.cards)
    if not stretches:
        return verdict(None, "the load did not keep the link busy")
    dequeue, size = observed.cards.dequeue_ns[out], observed.cards.packet_bytes[out]
    by_switch = busy_rate_bps(dequeue, size, stretches, observed.applied)
    rate = by_switch * pace(dequeue, observed.seen["received_ns"])
    frames = sum(part.stop - part.start for part in stretches)
    detail = (
        f"{rate / 1e6:.4f} Mbit/s by the receivers, {by_switch / 1e6:.4f} by {frames} postcards"
    )
    return verdict((rate / observed.applied.rate_bps - 1) * 100, detail)


def busy_stretches(cards: PostcardBatch) -> list[slice]:
    """Runs of departures (counted without drops) between which the link was never idle."""
    out = ~cards.dropped
    idle = cards.enqueue_ns[out][1:] > cards.dequeue_ns[out][:-1]
    bounds = np.concatenate(([0], np.flatnonzero(idle) + 1, [np.count_nonzero(out)])).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(bounds) if b - a >= LEAST_PACKETS]


def busy_rate_bps(dequeue_ns: Ints, size: Ints, stretches: list[slice], applied: Applied) -> float:
    """What the link sent where it was busy, by the switch's clock.

    Args:
        stretches: Where the link was never idle.
        applied: What counts for a packet.
    """
    counted = size + applied.overhead_bytes
    if applied.slot_bytes:
        counted = np.full_like(size, applied.slot_bytes)
    bits = sum(int(counted[part][1:].sum()) * 8 for part in stretches)
    spent_ns = sum(int(dequeue_ns[part][-1] - dequeue_ns[part][0]) for part in stretches)
    return bits * NS / spent_ns


def pace(dequeue_ns: Ints, received_ns: Ints) -> float:
    """How fast frames arrived for how fast they are said to have left; 1 is the truth.

    A frame may be late by milliseconds when the machine is held up, but where it is not sent
    at the pace that the postcards say, lateness grows: so the medians of the first and the last
    tenth are compared, and no single late frame counts.

    Args:
        dequeue_ns: Departures in order, on the switch's clock.
        received_ns: Arrivals of the same frames, on the receivers' clock.
    """
    edge = max(1, len(dequeue_ns) // EDGE)
    late_ns = received_ns - dequeue_ns
    grown_ns = float(np.median(late_ns[-edge:]) - np.median(late_ns[:edge]))
    span_ns = float(np.median(dequeue_ns[-edge:]) - np.median(dequeue_ns[:edge]))
    return span_ns / (span_ns + grown_ns)


def tolerance_ms(can: Capabilities) -> float:
    """How far a delay may be off: 0.2 ms, or what the target's departures may be late by.

    A target whose times are exact has a bound of its own.
    """
    if can.time_bounds is not None:
        return can.time_bounds.delay_ns / MS
    return max(LEAST_TOLERANCE_MS, can.departure_tolerance_ns / MS)


@dataclass(frozen=True)
class RoundTrips:
    """Probes of one group that came back.

    Attributes:
        rtt_ns: Its round trip without the reflector's own time and without its sojourn time
            in the queue: what is left is base RTT and whatever else delays.
        sojourn_ns: Its sojourn time in the queue, by its postcard.
    """

    sent_ns: Ints
    rtt_ns: Ints
    sojourn_ns: Ints

    def between(self, begin_ns: int, end_ns: int) -> RoundTrips:
        """Those that were sent in a span of time."""
        inside = (self.sent_ns >= begin_ns) & (self.sent_ns < end_ns)
        return RoundTrips(self.sent_ns[inside], self.rtt_ns[inside], self.sojourn_ns[inside])


def round_trips(observed: Observation, lane: RigLane, group: int) -> RoundTrips:
    """The round trips of a group.

    A flow's packets leave in order, so the n-th datagram of a probe flow that arrived is the
    n-th of its postcards. Empty where their numbers differ: `telemetry_complete` says why.
    """
    flow = lane.probe_flow(group)
    cards, seen = observed.cards, observed.seen
    own = ~cards.dropped & (cards.flow == flow)
    arrived = seen[seen["source_port"] == lane.port(flow)]
    sojourns = (cards.dequeue_ns - cards.enqueue_ns)[own]
    if len(arrived) != len(sojourns):
        arrived, sojourns = arrived[:0], sojourns[:0]
    probed = observed.probed[arrived["sequence"]]
    back = probed["received_ns"] > 0
    probed, sojourns = probed[back], sojourns[back]
    away = probed["received_ns"] - probed["sent_ns"]
    held = probed["returned_ns"] - probed["reflected_ns"]
    return RoundTrips(probed["sent_ns"], away - held - sojourns, sojourns)


def judge_base_rtts(
    observed: Observation, lane: RigLane, allowed_ms: float
) -> list[CalibrationCheck]:
    """Whether each group's idle path takes its base RTT."""
    return [
        _judge_base_rtt(
            round_trips(observed, lane, group).between(0, observed.load_ns[0] - rtt),
            rtt,
            allowed_ms,
        )
        for group, rtt in enumerate(lane.base_rtts_ns)
    ]


def _judge_base_rtt(trips: RoundTrips, base_ns: int, allowed_ms: float) -> CalibrationCheck:
    name, setting = "base_rtt", str(Duration(base_ns))
    error_ms = _median_ms(trips.rtt_ns - base_ns)
    if error_ms is None:
        detail = f"only {len(trips.rtt_ns)} probes came back"
        return within(name, setting, None, allowed_ms, "ms", detail)
    low, high = (np.percentile(trips.rtt_ns, [1, 99]) / MS).tolist()
    detail = f"median {base_ns / MS + error_ms:.3f} ms of {len(trips.rtt_ns)} probes, "
    detail += f"1 % below {low:.3f}, 1 % above {high:.3f}"
    return within(name, setting, error_ms, allowed_ms, "ms", detail)


def judge_open_path(
    setting: str, observed: Observation, lane: RigLane, allowed_ms: float
) -> CalibrationCheck:
    """Whether the path's delay is the same under load, with the bottleneck out of the way.

    A second queue that shapes, or a link slower than the load, would show as growth.
    """
    begin_ns, end_ns = observed.load_ns
    idle, loaded = [], []
    for group, rtt in enumerate(lane.base_rtts_ns):
        trips = round_trips(observed, lane, group)
        idle.append(trips.between(0, begin_ns - rtt).rtt_ns - rtt)
        loaded.append(trips.between(begin_ns, end_ns - rtt).rtt_ns - rtt)
    return _judge_growth(setting, idle, loaded, allowed_ms)


def judge_full_queue(
    setting: str, observed: Observation, lane: RigLane, allowed_ms: float
) -> CalibrationCheck:
    """Whether a round trip through a full queue is base RTT and its postcard's sojourn time."""
    trips = [round_trips(observed, lane, group) for group in range(lane.groups)]
    rest = [t.rtt_ns - rtt for t, rtt in zip(trips, lane.base_rtts_ns, strict=True)]
    full = [t.sojourn_ns > np.max(t.sojourn_ns, initial=0) // 2 for t in trips]
    error_ms = _median_ms(np.concatenate([r[f] for r, f in zip(rest, full, strict=True)]))
    sojourn_ms = float(np.max([np.max(t.sojourn_ns, initial=0) for t in trips])) / MS
    name = "sojourn_explains_delay"
    if error_ms is None:
        return within(name, setting, None, allowed_ms, "ms", "too few probes came back")
    detail = f"round trip = base RTT + sojourn time (up to {sojourn_ms:.1f} ms) + {error_ms:.3f} ms"
    return within(name, setting, error_ms, allowed_ms, "ms", detail)


def _judge_growth(
    setting: str, idle: list[Ints], loaded: list[Ints], allowed_ms: float
) -> CalibrationCheck:
    name = "no_second_queue"
    before, under = _median_ms(np.concatenate(idle)), _median_ms(np.concatenate(loaded))
    if before is None or under is None:
        return within(name, setting, None, allowed_ms, "ms", "too few probes came back")
    detail = f"path's own delay {before:.3f} ms idle, {under:.3f} ms under load (medians)"
    return within(name, setting, under - before, allowed_ms, "ms", detail)


def _median_ms(values: Ints) -> float | None:
    return float(np.median(values)) / MS if len(values) >= LEAST_PROBES else None


def judge_clock(setting: str, observed: Observation) -> list[CalibrationCheck]:
    """Resolution and monotonicity of the postcards' times."""
    cards, rate = observed.cards, observed.applied.rate_bps
    out = ~cards.dropped
    enqueue, dequeue = cards.enqueue_ns[out], cards.dequeue_ns[out]
    times = np.concatenate((enqueue, dequeue))
    step_ns = math.gcd(*np.unique(np.diff(np.sort(times))).tolist()) if len(times) > 1 else 0
    packet_ns = PACKET_BYTES * 8 * NS // rate
    back = int(np.count_nonzero(np.diff(enqueue) < 0) + np.count_nonzero(np.diff(dequeue) < 0))
    back += int(np.count_nonzero(dequeue < enqueue))
    detail = f"{len(times)} times, steps of {step_ns} ns; a full-sized packet takes {packet_ns} ns"
    return [
        within("clock_resolution", setting, step_ns or None, packet_ns, "ns", detail),
        within("clock_monotonic", setting, back, 0, "packets", f"{back} times went back"),
    ]


def judge_completeness(setting: str, observed: Observation) -> CalibrationCheck:
    """A postcard for every packet, and every packet accounted for from end to end."""
    problems = [*_lost_postcards(observed), *_lost_packets(observed)]
    missing = sum(count for count, _ in problems)
    words = ", ".join(f"{count} {what}" for count, what in problems if count)
    seen = f"{observed.totals.seen} postcards of {_arrived(observed)} packets"
    detail = f"{seen}; {words or 'none missing'}"
    return within("telemetry_complete", setting, missing, 0, "packets", detail)


def _lost_postcards(observed: Observation) -> list[tuple[int, str]]:
    totals, gaps = observed.totals, SequenceGaps()
    gaps.examine(observed.cards)
    registers = observed.counters.flows
    dropped = int(np.count_nonzero(observed.cards.dropped))
    return [
        (totals.gaps + gaps.missing, "gaps in the postcards' numbers"),
        (totals.lost, "postcards lost"),
        (abs(totals.seen - totals.written), "postcards not written"),
        (abs(_arrived(observed) - len(observed.cards.seq)), "packets without a postcard"),
        (abs(sum(registers.dropped_packets) - dropped), "drops without a postcard"),
    ]


def _lost_packets(observed: Observation) -> list[tuple[int, str]]:
    departed = sum(observed.counters.flows.departed_packets)
    sent = observed.sent + len(observed.schedule)
    return [
        (abs(sent - _arrived(observed)), "sent but not arrived at the bottleneck"),
        (abs(departed - len(observed.seen)), "departed but not arrived at the receivers"),
        (observed.lost_elsewhere, "lost by ports, rings or the hosts"),
    ]


def _arrived(observed: Observation) -> int:
    return int(sum(observed.counters.flows.arrived_packets))
