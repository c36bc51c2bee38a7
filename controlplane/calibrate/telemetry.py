"""The postcards themselves: their clock, and whether there is one for every packet."""

from __future__ import annotations

import math

import numpy as np

from ..contract.certificate import CalibrationCheck
from ..contract.units import PACKET_BYTES
from ..validity.postcard_evidence import SequenceGaps
from .rig import Observation
from .verdict import within

NS = 10**9


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
    gaps.feed(observed.cards)
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
