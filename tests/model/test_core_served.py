# SPDX-License-Identifier: Apache-2.0
"""A line served by a discipline that decides when it is asked, against drop-tail's own code.

First in, first out within the same limit is drop-tail, whoever keeps the line.
"""

from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.contract.shared import CONSTANTS
from tests.model.core import NEVER, Lane, Queued, TrafficManager
from tests.model.droptail import Arrival, Outcome, droptail

RATES = st.sampled_from([8_000_000, 99_999_989, 8_000_000_000, CONSTANTS.rate_bps_max])
LIMITS = st.sampled_from(
    [("bytes", 3000, 0), ("bytes", 1514, 0), ("packets", 3, 0), ("cells", 30, 80)]
)
GAPS = st.sampled_from([0, 0, 1, 1000, 10**6, 1_513_999])
SIZES = st.sampled_from([60, 61, 1000, 1514])
COUNTS = st.sampled_from(["system", "queue"])


def depart(tm: TrafficManager, now_ns: int) -> list[Queued]:
    out = []
    while (packet := tm.dequeue(now_ns)) is not None:
        out.append(packet)
    return out


@given(
    RATES,
    LIMITS,
    COUNTS,
    st.sampled_from([0, 24]),
    st.lists(st.tuples(GAPS, SIZES), max_size=120),
)
def test_first_in_first_out_is_drop_tail(
    rate_bps: int,
    limit: tuple[str, int, int],
    counts: str,
    overhead: int,
    arrivals: list[tuple[int, int]],
) -> None:
    """Departures, drops, depths, statistics, next events: each at each moment."""
    unit, value, cell_bytes = limit
    tms = [TrafficManager(1), TrafficManager(1)]
    lanes = [Lane(rate_bps, value, unit, cell_bytes, counts, overhead) for _ in tms]
    assert tms[0].set_up(0, lanes[0]) == tms[1].set_up(0, lanes[1].discipline("fifo")) == 0
    now_ns, outcomes, model = 0, [], []
    left: dict[int, int] = {}
    for packet, (gap_ns, size) in enumerate(arrivals):
        now_ns += gap_ns
        departed = [depart(tm, now_ns) for tm in tms]
        assert departed[0] == departed[1]
        left |= {each.packet: each.dequeue_ns for each in departed[0]}
        assert tms[0].next_ns() == tms[1].next_ns()
        (taken, mine), (also, other) = (tm.enqueue(0, packet, size, now_ns) for tm in tms)
        assert (taken, mine.queue_bytes, mine.dropped) == (also, other.queue_bytes, other.dropped)
        assert tms[0].stats(0) == tms[1].stats(0)
        assert tms[0].next_ns() == tms[1].next_ns()
        model.append(Arrival(now_ns, size))
        outcomes.append((not taken, mine.queue_bytes))
    last = [depart(tm, NEVER - 1) for tm in tms]
    assert last[0] == last[1]
    left |= {each.packet: each.dequeue_ns for each in last[0]}
    expected = droptail(model, rate_bps, value, unit, cell_bytes or 80, overhead, counts=counts)
    assert [
        Outcome(dropped, queue_bytes, left.get(i, model[i].time_ns))
        for i, (dropped, queue_bytes) in enumerate(outcomes)
    ] == expected


@pytest.mark.slow
@given(
    RATES,
    LIMITS,
    st.lists(st.tuples(GAPS, st.lists(SIZES, min_size=1, max_size=5)), max_size=60),
)
def test_trains_fit_or_not_as_one(
    rate_bps: int, limit: tuple[str, int, int], arrivals: list[tuple[int, list[int]]]
) -> None:
    unit, value, cell_bytes = limit
    tms = [TrafficManager(1), TrafficManager(1)]
    lanes = [Lane(rate_bps, value, unit, cell_bytes) for _ in tms]
    assert tms[0].set_up(0, lanes[0]) == tms[1].set_up(0, lanes[1].discipline("fifo")) == 0
    now_ns, packet = 0, 0
    for gap_ns, sizes in arrivals:
        now_ns += gap_ns
        assert depart(tms[0], now_ns) == depart(tms[1], now_ns)
        (taken, mine), (also, other) = (tm.enqueue_train(0, packet, sizes, now_ns) for tm in tms)
        assert taken == also
        assert [q.queue_bytes for q in mine] == [q.queue_bytes for q in other]
        packet += len(sizes)
        assert tms[0].stats(0) == tms[1].stats(0)
    assert depart(tms[0], NEVER - 1) == depart(tms[1], NEVER - 1)


def test_a_discarded_queue_leaves_the_line_free() -> None:
    tm = TrafficManager(1)
    tm.set_up(0, Lane(8_000_000, 10**6).discipline("codel"))
    for i in range(100):
        tm.enqueue(0, i, 1000, now_ns=0)
    gone = 0
    while tm.discard(0):
        gone += 1
    assert gone == 100
    assert (tm.stats(0).queue_bytes, tm.next_ns()) == (0, NEVER)
    _, queued = tm.enqueue(0, 300, 1000, now_ns=500)
    assert queued.queue_bytes == 0
    assert [each.dequeue_ns for each in depart(tm, NEVER - 1)] == [1_000_500]


def test_a_lane_changes_its_discipline_when_it_is_empty() -> None:
    tm = TrafficManager(1)
    tm.configure(0, 8_000_000, 2000)
    tm.enqueue(0, 1, 1000, now_ns=0)
    assert tm.set_up(0, Lane(8_000_000, 2000).discipline("codel")) == -errno.EBUSY
    assert len(depart(tm, NEVER - 1)) == 1
    assert tm.set_up(0, Lane(8_000_000, 2000).discipline("codel")) == 0
    assert tm.describe(0).startswith("codel, 8000000 bit/s, limit 2000 bytes")
    tm.enqueue(0, 1, 1000, now_ns=0)
    assert tm.configure(0, 8_000_000, 2000) == -errno.EBUSY
    assert len(depart(tm, NEVER - 1)) == 1
    assert tm.configure(0, 8_000_000, 2000) == 0
    assert tm.describe(0).startswith("drop-tail")


@pytest.mark.parametrize(("rate_bps", "limit"), [(0, 1000), (10**6, 0)])
def test_what_is_out_of_range_is_refused(rate_bps: int, limit: int) -> None:
    tm = TrafficManager(1)
    assert tm.set_up(0, Lane(rate_bps, limit).discipline("codel")) == -errno.EINVAL
