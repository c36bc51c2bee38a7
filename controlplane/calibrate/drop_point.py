"""The buffer limit: one burst into a stopped bottleneck, and the drop point to the byte.

The burst fills the queue with frames of mixed sizes until less than a full-sized frame has
room, then offers every size from the largest down to the smallest. All that are too large are
dropped, the first that fits fits exactly: what was accepted and what was refused then lie one
byte (packet, cell) apart, and the drop point is between them. A generator that takes long to
change a size would not be done before the bottleneck's first packet leaves: it sends runs of equal
frames, and then only the sizes about the one that should fit exactly.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..contract.certificate import CalibrationCheck
from ..contract.shared import CONSTANTS
from ..contract.target import Limit
from ..contract.units import PACKET_BYTES, Size
from ..store.postcards import PostcardBatch
from .checks import within
from .load import BurstStep
from .rig import LOAD_FLOW, Observation

SMALLEST = CONSTANTS.frame_bytes_min
STOPPED_BPS = (100, 1_000, 10_000, 100_000, 1_000_000)
"""The slowest that the target takes is used. At 100 bit/s the first, full-sized frame takes two
minutes: nothing leaves during a burst."""
BURST_PPS = 10_000
BURST_S = 60.0
"""A burst with slow changes of size: half of the time that the first frame takes at 100 bit/s."""
SEED = 20230814


def units_of(limit: Limit, frame_bytes: int) -> int:
    """What a frame takes of a limit, in the limit's unit."""
    if limit.unit == "packets":
        return 1
    if limit.unit == "cells":
        return -(-frame_bytes // limit.cell_bytes)
    return frame_bytes


def limit_name(limit: Limit) -> str:
    """A limit for a person: `100kB`, `64pkt`, `1250 cells of 80 B`."""
    if limit.unit == "packets":
        return f"{limit.value}pkt"
    if limit.unit == "cells":
        return f"{limit.value} cells of {limit.cell_bytes} B"
    return str(Size(limit.value))


def burst_steps(limit: Limit, step_s: float = 0.0) -> tuple[BurstStep, ...]:
    """The burst for a limit as applied.

    Args:
        step_s: How long the generator takes to change a size.
    """
    most = int(BURST_S / step_s) if step_s else None
    filled = tuple(_fill(limit, _run_length(limit, most)))
    sizes = range(PACKET_BYTES, SMALLEST - 1, -1)
    if most is not None:
        sizes = _sizes_about(limit, filled, most - len(filled))
    return (*filled, *(BurstStep(size) for size in sizes))


def _run_length(limit: Limit, most: int | None) -> int:
    """Frames of each run, so that the fill takes about a third of the steps."""
    if most is None:
        return 1
    frames = limit.value // units_of(limit, (SMALLEST + PACKET_BYTES) // 2)
    return -(-frames * 3 // most)


def _fill(limit: Limit, run: int) -> Iterator[BurstStep]:
    """Runs of mixed sizes, full-sized first, until a full-sized frame may not fit any more."""
    sizes = random.Random(SEED)  # noqa: S311 - no secret
    largest, smallest = units_of(limit, PACKET_BYTES), units_of(limit, SMALLEST)
    room, size = limit.value, PACKET_BYTES
    while room > largest:
        count = min(run, (room - smallest) // units_of(limit, size))
        if count > 0:
            room -= count * units_of(limit, size)
            yield BurstStep(size, count)
        size = sizes.randint(SMALLEST, PACKET_BYTES)


def _sizes_about(limit: Limit, filled: tuple[BurstStep, ...], most: int) -> range:
    """The falling sizes about the largest one that should still fit."""
    room = limit.value - sum(step.count * units_of(limit, step.frame_bytes) for step in filled)
    fits = min(PACKET_BYTES, room * limit.cell_bytes if limit.unit == "cells" else room)
    if limit.unit == "packets":
        fits = PACKET_BYTES
    first = min(PACKET_BYTES, fits + most // 2)
    return range(first, max(SMALLEST, first - most + 1) - 1, -1)


@dataclass(frozen=True)
class DropPoint:
    """Where the queue began to drop, in the limit's unit.

    Attributes:
        accepted: Most that the queue held, with the packet that was accepted.
        refused: Least that it would have held with a packet that was refused; None: none was.
    """

    accepted: int
    refused: int | None


def find_drop_point(
    limit: Limit, sizes: list[int], cards: PostcardBatch, tolerance: int
) -> DropPoint:
    """Rebuild the queue's fill from what was sent and the postcards of what was dropped.

    A postcard has the size of the dropped packet and the bytes in the queue that it met,
    and these only grow: so each postcard belongs to exactly one frame. What left before the
    first drop (a switch that knows no standstill lets the first frame go) is as good as never
    sent.

    Args:
        limit: The limit as applied.
        sizes: Frame sizes in the order of sending.
        cards: All postcards; nothing left the queue between the first drop and the last.
        tolerance: How far the postcards' queue bytes may be off.
    """
    own = cards.flow == LOAD_FLOW
    lost = own & cards.dropped
    drops = list(zip(cards.packet_bytes[lost], cards.queue_bytes[lost], strict=True))[::-1]
    used = used_bytes = accepted = 0
    refused: int | None = None
    first_drop_ns = np.min(cards.enqueue_ns[lost], initial=np.iinfo(np.int64).max)
    gone = own & ~cards.dropped & (cards.dequeue_ns <= first_drop_ns)
    for size in sizes[int(np.count_nonzero(gone)) :]:
        would = used + units_of(limit, size)
        if drops and drops[-1][0] == size and abs(int(drops[-1][1]) - used_bytes) <= tolerance:
            drops.pop()
            refused = would if refused is None else min(refused, would)
            continue
        used, used_bytes = would, used_bytes + size
        accepted = used
    return DropPoint(accepted, refused)


def judge_drop_point(
    setting: str, observed: Observation, sizes: list[int], tolerance: int
) -> CalibrationCheck:
    """Whether the queue drops exactly at its limit.

    Args:
        sizes: Frame sizes in the order of sending.
        tolerance: How far the postcards' queue bytes may be off (the target's capability).
    """
    limit = observed.applied.limit
    problem = _problem(observed, sizes)
    if problem:
        return within("drop_point", setting, None, 0, limit.unit, problem)
    point = find_drop_point(limit, sizes, observed.cards, tolerance)
    held = observed.counters.flows.in_queue_bytes[LOAD_FLOW]
    detail = (
        f"accepted up to {point.accepted} {limit.unit}, refused from {point.refused}; "
        f"{held} bytes held by {len(sizes)} frames of mixed sizes"
    )
    if point.refused is None:
        return within("drop_point", setting, None, 0, limit.unit, f"nothing was dropped; {detail}")
    # The limit is the last value that is accepted; the refused one must be the next.
    errors = (point.accepted - limit.value, point.refused - 1 - limit.value)
    allowed = -(-tolerance // (limit.cell_bytes or 1)) if limit.unit != "packets" else 0
    return within("drop_point", setting, max(errors, key=abs), allowed, limit.unit, detail)


def _problem(observed: Observation, sizes: list[int]) -> str:
    """What makes the measurement worthless; empty: nothing."""
    registers = observed.counters.flows
    arrived = registers.arrived_packets[LOAD_FLOW]
    if observed.sent != len(sizes) or arrived != len(sizes):
        return f"{len(sizes)} frames planned, {observed.sent} sent, {arrived} arrived at the queue"
    cards = observed.cards
    left, lost = cards.dequeue_ns[~cards.dropped], cards.enqueue_ns[cards.dropped]
    if len(lost) and np.any((left > np.min(lost)) & (left <= np.max(lost))):
        return "packets left the bottleneck while it was dropping: it is too fast"
    dropped = len(lost)
    if registers.dropped_packets[LOAD_FLOW] != dropped:
        return f"{registers.dropped_packets[LOAD_FLOW]} drops counted, {dropped} postcards"
    return ""
