"""Lanes side by side: each against its own plain model, and their departures in order of time."""

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.contract.shared import CONSTANTS
from tests.model.core import NEVER, Lane, Queued, QueueStats, TrafficManager
from tests.model.droptail import Arrival, Outcome, droptail

RATES = [8_000_000, 99_999_989, 8_000_000_000, CONSTANTS.rate_bps_max]
LIMITS = [3000, 10_000, 1514, 3000]
LANES = len(RATES)
ARRIVALS = st.lists(
    st.tuples(
        st.integers(0, LANES - 1),
        st.sampled_from([0, 0, 1, 1000, 10**6]),
        st.sampled_from([60, 61, 1000, 1514]),
    ),
    max_size=150,
)


COUNTS = ["system", "queue", "queue", "queue"]


def make() -> TrafficManager:
    tm = TrafficManager(LANES)
    for lane in range(LANES):
        assert tm.configure(lane, RATES[lane], LIMITS[lane], counts=COUNTS[lane]) == 0
    return tm


def depart(tm: TrafficManager, now_ns: int) -> list[Queued]:
    out = []
    while (packet := tm.dequeue(now_ns)) is not None:
        out.append(packet)
    return out


def outcome(taken: bool, queued: Queued, left: dict[int, Queued]) -> Outcome:
    """What became of a packet: as it was enqueued, and as it left."""
    end = left[queued.packet] if taken else queued
    return Outcome(not taken, queued.queue_bytes, end.dequeue_ns)


@pytest.mark.slow
@given(ARRIVALS)
def test_every_lane_is_the_plain_model(arrivals: list[tuple[int, int, int]]) -> None:
    tm, now_ns = make(), 0
    told: list[tuple[bool, Queued]] = []
    departed: list[Queued] = []
    per_lane: list[list[tuple[int, Arrival]]] = [[] for _ in range(LANES)]
    for packet, (lane, gap_ns, size) in enumerate(arrivals):
        now_ns += gap_ns
        departed += depart(tm, now_ns)
        told.append(tm.enqueue(lane, packet, size, now_ns))
        per_lane[lane].append((packet, Arrival(now_ns, size)))
    departed += depart(tm, NEVER - 1)
    left = {queued.packet: queued for queued in departed}

    for lane, mine in enumerate(per_lane):
        expected = droptail(
            (arrival for _, arrival in mine), RATES[lane], LIMITS[lane], counts=COUNTS[lane]
        )
        assert [outcome(*told[packet], left) for packet, _ in mine] == expected
    times = [queued.dequeue_ns for queued in departed]
    assert times == sorted(times)
    assert sorted(q.packet for q in departed) == [i for i, (taken, _) in enumerate(told) if taken]
    assert tm.next_ns() == NEVER


TRAINS = st.lists(
    st.tuples(
        st.integers(0, LANES - 1),
        st.sampled_from([0, 0, 1, 1000, 10**6]),
        st.lists(st.sampled_from([60, 1000, 1514]), min_size=1, max_size=5),
    ),
    max_size=80,
)


@pytest.mark.slow
@given(TRAINS)
def test_trains_are_taken_or_dropped_whole(arrivals: list[tuple[int, int, list[int]]]) -> None:
    tm, now_ns, packets = make(), 0, 0
    left: dict[int, Queued] = {}
    per_lane: list[list[tuple[int, Arrival, bool, Queued]]] = [[] for _ in range(LANES)]
    for train, (lane, gap_ns, sizes) in enumerate(arrivals):
        now_ns += gap_ns
        left |= {queued.packet: queued for queued in depart(tm, now_ns)}
        before = tm.stats(lane)
        taken, queued = tm.enqueue_train(lane, packets, sizes, now_ns)
        after, packets = tm.stats(lane), packets + len(sizes)
        assert after.queue_packets - before.queue_packets == taken * len(sizes)
        assert after.queue_bytes - before.queue_bytes == taken * sum(sizes)
        assert after.dropped_packets - before.dropped_packets == (not taken) * len(sizes)
        per_lane[lane] += [
            (train, Arrival(now_ns, size), taken, each)
            for size, each in zip(sizes, queued, strict=True)
        ]
    left |= {queued.packet: queued for queued in depart(tm, NEVER - 1)}
    for lane, mine in enumerate(per_lane):
        expected = droptail(
            (arrival for _, arrival, _, _ in mine),
            RATES[lane],
            LIMITS[lane],
            trains=[train for train, _, _, _ in mine],
            counts=COUNTS[lane],
        )
        assert [outcome(taken, queued, left) for _, _, taken, queued in mine] == expected


@given(
    st.sampled_from(RATES),
    st.sampled_from([("packets", 3, 80), ("cells", 30, 80)]),
    st.sampled_from(COUNTS[:2]),
    st.sampled_from([0, 24]),
    ARRIVALS,
)
def test_limits_in_packets_and_cells(
    rate_bps: int,
    limit: tuple[str, int, int],
    counts: str,
    overhead: int,
    arrivals: list[tuple[int, int, int]],
) -> None:
    unit, value, cell_bytes = limit
    tm, now_ns = TrafficManager(1), 0
    assert tm.set_up(0, Lane(rate_bps, value, unit, cell_bytes, counts, overhead)) == 0
    told: list[tuple[bool, Queued]] = []
    left: dict[int, Queued] = {}
    for packet, (_, gap_ns, size) in enumerate(arrivals):
        now_ns += gap_ns
        left |= {queued.packet: queued for queued in depart(tm, now_ns)}
        told.append(tm.enqueue(0, packet, size, now_ns))
    left |= {queued.packet: queued for queued in depart(tm, NEVER - 1)}
    model = [
        Arrival(queued.enqueue_ns, size)
        for (_, queued), (*_, size) in zip(told, arrivals, strict=True)
    ]
    assert [outcome(*each, left) for each in told] == droptail(
        model, rate_bps, value, unit, cell_bytes, overhead, counts=counts
    )


def test_the_queue_is_told() -> None:
    tm = TrafficManager(1)
    tm.configure(0, 8_000_000_000, 2000)  # a byte per nanosecond
    taken = [tm.enqueue(0, i, 1000, now_ns=0)[0] for i in range(3)]
    assert taken == [True, True, False]
    assert tm.stats(0) == QueueStats(2000, 2, 2000, 1)
    assert tm.next_ns() == 1000
    assert len(depart(tm, 1000)) == 1
    assert tm.stats(0) == QueueStats(1000, 1, 2000, 1)


def test_what_is_being_sent_has_left_a_linux_queue() -> None:
    """A byte per nanosecond, and room for 1000: one is sent, one waits, the third is dropped."""
    tm = TrafficManager(1)
    tm.configure(0, 8_000_000_000, 1000, counts="queue")
    taken = [tm.enqueue(0, i, 1000, now_ns=5) for i in range(3)]
    assert [fits for fits, _ in taken] == [True, True, False]
    # What a packet meets is what waits and what is being sent, all the same.
    assert [queued.queue_bytes for _, queued in taken] == [0, 1000, 2000]
    assert tm.stats(0) == QueueStats(2000, 2, 2000, 1)
    depart(tm, 1005)
    assert [tm.enqueue(0, i, 1000, now_ns=1005)[0] for i in range(2)] == [True, False]


def test_a_train_leaves_a_linux_queue_as_one_packet() -> None:
    tm = TrafficManager(1)
    tm.configure(0, 8_000_000_000, 3000, counts="queue")
    assert tm.enqueue_train(0, 0, [1000] * 3, now_ns=0)[0]  # is sent at once
    assert tm.enqueue_train(0, 3, [1000] * 3, now_ns=0)[0]  # waits
    assert not tm.enqueue(0, 6, 60, now_ns=0)[0]
    depart(tm, 2999)
    assert not tm.enqueue(0, 6, 60, now_ns=2999)[0]
    depart(tm, 3000)
    assert tm.enqueue_train(0, 6, [1000] * 3, now_ns=3000)[0]


def test_what_is_larger_than_the_limit_is_dropped_even_by_an_idle_line() -> None:
    tm = TrafficManager(1)
    tm.configure(0, 8_000_000_000, 1000, counts="queue")
    assert not tm.enqueue(0, 0, 1001, now_ns=0)[0]


@pytest.mark.parametrize("discipline", ["droptail", "codel"])
def test_a_discarded_queue_leaves_the_line_free(discipline: str) -> None:
    tm = TrafficManager(2)
    for lane in range(2):  # a byte per microsecond
        tm.set_up(lane, Lane(8_000_000, 10**6).discipline(discipline))
    for i in range(100):
        tm.enqueue(0, i, 1000, now_ns=0)
    tm.enqueue(1, 200, 1000, now_ns=0)
    while tm.discard(0):
        pass
    assert tm.stats(0).queue_bytes == 0
    assert tm.next_ns() == 1_000_000  # the other lane's
    _, queued = tm.enqueue(0, 300, 1000, now_ns=500)
    assert queued.queue_bytes == 0
    assert [queued.dequeue_ns for queued in depart(tm, NEVER - 1)] == [1_000_000, 1_000_500]


def test_a_lane_changes_its_discipline_when_it_is_empty() -> None:
    tm = TrafficManager(1)
    for discipline, other, name in (
        ("droptail", "codel", "drop-tail"),
        ("codel", "droptail", "codel"),
    ):
        assert tm.set_up(0, Lane(8_000_000, 2000).discipline(discipline)) == 0
        assert tm.describe(0).startswith(f"{name}, 8000000 bit/s, limit 2000 bytes")
        tm.enqueue(0, 1, 1000, now_ns=0)
        assert tm.set_up(0, Lane(8_000_000, 2000).discipline(other)) == -errno.EBUSY
        assert len(depart(tm, NEVER - 1)) == 1


def test_a_lane_that_was_never_programmed_drops() -> None:
    taken, queued = TrafficManager(1).enqueue(0, 1, 60, now_ns=5)
    assert not taken
    assert (queued.enqueue_ns, queued.dequeue_ns) == (5, 5)


@pytest.mark.parametrize(
    ("rate_bps", "limit", "unit"),
    [
        (0, 1000, "bytes"),
        (CONSTANTS.rate_bps_max + 1, 1000, "bytes"),
        (10**6, 0, "bytes"),
        (10**6, CONSTANTS.limit_max + 1, "bytes"),
        (10**6, 1000, "cells"),
    ],
)
def test_what_is_out_of_range_is_refused(rate_bps: int, limit: int, unit: str) -> None:
    with pytest.raises(ValueError, match="bad value"):
        Lane(rate_bps, limit, unit)
