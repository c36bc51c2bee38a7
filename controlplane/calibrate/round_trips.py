"""What the probes measure: the path's own delay, without the sojourn time in the queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..contract.certificate import CalibrationCheck
from ..contract.target import Capabilities
from ..contract.units import Duration
from .lane import Lane
from .rig import Observation
from .verdict import within

MS = 1e6
LEAST_TOLERANCE_MS = 0.2
LEAST_PROBES = 20

Ints = NDArray[np.int64]


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
        sent_ns: When each was sent.
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


def round_trips(observed: Observation, lane: Lane, group: int) -> RoundTrips:
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


def judge_base_rtts(observed: Observation, lane: Lane, allowed_ms: float) -> list[CalibrationCheck]:
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
    setting: str, observed: Observation, lane: Lane, allowed_ms: float
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
    setting: str, observed: Observation, lane: Lane, allowed_ms: float
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
