"""The link's schedule against a plain model: exact departures, and departures that are seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.store.postcards import PostcardBatch
from nashbed.controlplane.validity.postcard_evidence import LinkBusy, QueueDepth

RATE = 8 * 10**6
"""One byte in a microsecond."""
US = 1000
TOLERANCE_NS = 50 * US


def batch(rows: list[tuple[int, int, int]], queue_bytes: int = 0) -> PostcardBatch:
    """Departures of (enqueue, bytes, dequeue)."""
    enqueue, size, dequeue = np.array(rows, np.int64).T
    zeros = np.zeros(len(rows), np.int64)
    return PostcardBatch(
        dropped=zeros.astype(bool), flow=zeros, packet_bytes=size, payload_bytes=zeros,
        tcp_seq=zeros, tcp_flags=zeros.astype(np.uint8), queue_bytes=zeros + queue_bytes,
        enqueue_ns=enqueue, dequeue_ns=dequeue, seq=np.arange(len(rows)),
    )  # fmt: skip


def scheduled(
    arrivals: list[tuple[int, int]], late_ns: list[int], slot: int
) -> list[tuple[int, int, int]]:
    """A link that keeps its schedule, and is seen to do so late."""
    free, rows = 0, []
    for (gap, size), late in zip(arrivals, late_ns, strict=True):
        now = (rows[-1][0] if rows else 0) + gap
        free = max(now, free) + (slot or size) * US
        rows.append((now, size, free + late))
    return rows


def fed(link: LinkBusy, rows: list[tuple[int, int, int]], at_once: int) -> LinkBusy:
    for first in range(0, len(rows), at_once):
        link.feed(batch(rows[first : first + at_once]))
    return link


PACKETS = st.lists(st.tuples(st.integers(0, 3000 * US), st.integers(60, 1514)), min_size=1)


@given(PACKETS, st.data(), st.sampled_from([0, 1514]), st.integers(1, 20))
def test_late_sight_of_a_schedule_is_within_the_tolerance(
    arrivals: list[tuple[int, int]], data: st.DataObject, slot: int, at_once: int
) -> None:
    bound = st.integers(0, TOLERANCE_NS)
    late = data.draw(st.lists(bound, min_size=len(arrivals), max_size=len(arrivals)))
    rows = scheduled(arrivals, late, slot)
    link = fed(LinkBusy(RATE, 0, slot, TOLERANCE_NS), rows, at_once)
    assert (link.checked, link.wrong, link.worst_ns) == (len(rows), 0, max(late))


@given(PACKETS, st.integers(1, 20))
def test_both_ways_agree_where_departures_are_scheduled(
    arrivals: list[tuple[int, int]], at_once: int
) -> None:
    rows = scheduled(arrivals, [0] * len(arrivals), 0)
    for tolerance_ns in (1, TOLERANCE_NS):
        link = fed(LinkBusy(RATE, 0, 0, tolerance_ns), rows, at_once)
        assert (link.wrong, link.worst_ns) == (0, 0)


def test_one_late_departure_is_one_wrong_departure() -> None:
    """Those behind it keep their schedule; they are not early."""
    rows = scheduled([(0, 1000)] * 5, [0, 0, TOLERANCE_NS + 1, 0, 0], 0)
    assert fed(LinkBusy(RATE, 0, 0, TOLERANCE_NS), rows, 2).wrong == 1


@pytest.mark.parametrize("percent", [-1, 1])
def test_a_wrong_rate_is_seen_however_much_tolerance(percent: int) -> None:
    """A queue that never empties for 100 packets: 1 % of 100 ms is 1 ms."""
    rows = scheduled([(0, 1000)] * 100, [0] * 100, 0)
    link = fed(LinkBusy(RATE * (100 + percent) // 100, 0, 0, TOLERANCE_NS), rows, 7)
    assert link.wrong > 90


@pytest.mark.parametrize(("tolerance", "wrong"), [(0, 2), (999, 2), (1000, 0), (None, 0)])
def test_the_queue_may_differ_by_the_targets_tolerance(tolerance: int | None, wrong: int) -> None:
    """Two packets that met an empty queue say that it held 1000 bytes."""
    depth = QueueDepth(tolerance)
    depth.feed(batch([(0, 500, 10), (20, 500, 30)], queue_bytes=1000))
    assert (depth.checked, depth.wrong) == (2, wrong)
