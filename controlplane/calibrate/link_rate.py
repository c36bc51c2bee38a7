"""The link's rate, by the receivers' clock alone."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ..contract.certificate import Check
from ..contract.target import Applied
from ..run.postcards import Piece
from .bench import Observation
from .probe import Records
from .verdict import within

NS = 10**9
RATE_ERROR_PERCENT = 0.2
EDGE = 10
"""A measured stretch is compared between its first and its last tenth."""
LEAST_PACKETS = 200


def judge_rate(setting: str, observed: Observation) -> Check:
    """Whether a link that is never idle sends the applied rate."""

    def verdict(percent: float | None, detail: str) -> Check:
        return within("rate", setting, percent, RATE_ERROR_PERCENT, "%", detail)

    out = ~observed.cards.dropped
    departed, arrived = int(np.count_nonzero(out)), len(observed.seen)
    if departed != arrived:
        return verdict(None, f"{departed} frames left the bottleneck, {arrived} arrived")
    stretches = busy_stretches(observed.cards)
    if not stretches:
        return verdict(None, "the load did not keep the link busy")
    drifts = [drift(observed.seen[part], observed.applied) for part in stretches]
    span_ns = sum(each.span_ns for each in drifts)
    percent = (span_ns / (span_ns + sum(each.drift_ns for each in drifts)) - 1) * 100
    rate = observed.applied.rate_bps * (1 + percent / 100)
    frames = sum(part.stop - part.start for part in stretches)
    detail = f"{rate / 1e6:.4f} Mbit/s, {frames} frames, {len(stretches)} busy stretches"
    return verdict(percent, detail)


def busy_stretches(cards: Piece) -> list[slice]:
    """Runs of departures (counted without drops) between which the link was never idle."""
    out = ~cards.dropped
    idle = cards.enqueue_ns[out][1:] > cards.dequeue_ns[out][:-1]
    bounds = np.concatenate(([0], np.flatnonzero(idle) + 1, [np.count_nonzero(out)])).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(bounds) if b - a >= LEAST_PACKETS]


@dataclass(frozen=True)
class Drift:
    """How far arrivals moved against the link's schedule.

    Attributes:
        span_ns: By the schedule, over so long.
        drift_ns: They became later by so much.
    """

    span_ns: float
    drift_ns: float


def drift(seen: Records, applied: Applied) -> Drift:
    """The drift of back-to-back arrivals against the applied rate.

    Each arrival has a lateness against the link's schedule. A frame may be late by milliseconds
    when the machine is held up, but a wrong rate makes lateness drift: so the medians of its
    first and its last tenth are compared, and no single late frame counts.

    Args:
        seen: SEEN records of frames that left back to back.
        applied: The rate, and what counts for a packet.
    """
    size = seen["frame_bytes"].astype(np.int64) + applied.overhead_bytes
    if applied.slot_bytes:
        size = np.full_like(size, applied.slot_bytes)
    due_ns = (np.cumsum(size) - size[0]) * 8 * NS / applied.rate_bps
    late_ns = (seen["received_ns"] - seen["received_ns"][0]) - due_ns
    edge = max(1, len(seen) // EDGE)
    return Drift(
        span_ns=float(np.median(due_ns[-edge:]) - np.median(due_ns[:edge])),
        drift_ns=float(np.median(late_ns[-edge:]) - np.median(late_ns[:edge])),
    )
