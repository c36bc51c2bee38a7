"""The link's rate: by the postcards where it is busy, and by the receivers' clock throughout."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from ..contract.certificate import CalibrationCheck
from ..contract.target import Applied, Capabilities
from ..store.postcards import PostcardBatch
from .rig import Observation
from .verdict import within

NS = 10**9
RATE_ERROR_PERCENT = 0.2
EDGE = 10
"""Lateness is compared between the first and the last tenth of a measurement."""
LEAST_PACKETS = 200

Ints = NDArray[np.int64]


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
        dequeue_ns: Departures.
        size: Their frames' bytes.
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
