"""What holds of every discipline, whatever it decides, and what its parameters may be."""

from collections import defaultdict, deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.core import NEVER, Lane, Queued, TrafficManager, parameters

NAMES = ("step", "red", "codel", "pie", "fq_codel", "dualpi2")
RATE_BPS = 10_000_000
REAL = ("probability", "real")
CE, MARKED = 3, 0b11
DROP_LIMIT, DROP_EARLY, DROP_OVERFLOW = 0, 1, 2

Packet = tuple[int, int, int, int]
"""Gap in ns, bytes, flow, ECN codepoint."""
PACKETS = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 10_000, 400_000, 1_000_000, 1_210_000, 40_000_000, 10**9]),
        st.sampled_from([60, 600, 1514, 1514]),
        st.integers(0, 4),
        st.integers(0, 3),
    ),
    max_size=200,
)
LOADS = st.tuples(PACKETS, st.integers(1, 4)).map(lambda pair: pair[0] * pair[1])


@st.composite
def lanes(draw: Any) -> Lane:
    """Any discipline with any parameters that go together."""
    name = draw(st.sampled_from(NAMES))
    limit = draw(st.sampled_from([("bytes", 60_000), ("packets", 30), ("bytes", 3028)]))
    lane = Lane(RATE_BPS, limit[1], limit[0], counts=draw(st.sampled_from(["system", "queue"])))
    if name == "red":  # its defaults follow from the limit, and want 12 kB of it
        lane = Lane(RATE_BPS, 60_000, counts=draw(st.sampled_from(["system", "queue"])))
    given = {
        p["name"]: draw((st.floats if p["kind"] in REAL else small)(p["min"], p["max"]))
        for p in draw(st.lists(st.sampled_from(parameters(name)), unique_by=lambda p: p["name"]))
    }
    try:
        return lane.discipline(name, draw(st.integers(0, 2**62)), **given)
    except ValueError:
        return lane.discipline(name)


def small(least: float, most: float) -> st.SearchStrategy[int]:
    """Whole numbers, mostly near the least."""
    return st.one_of(
        st.integers(int(least), int(min(most, least + 100_000))),
        st.integers(int(least), int(most)),
    )


def run(lane: Lane, packets: list[Packet]) -> tuple[list[Queued], list[Queued]]:
    """What was refused, and what came out in its order; depths are checked on the way."""
    tm = TrafficManager(1)
    assert tm.set_up(0, lane) == 0
    now_ns, refused, out = 0, [], []
    for packet, (gap_ns, size, flow, ecn) in enumerate(packets):
        now_ns += gap_ns
        out += drain(tm, now_ns)
        taken, queued = tm.enqueue(0, packet, size, now_ns, flow, ecn)
        refused += [] if taken else [queued]
    out += drain(tm, NEVER - 1)
    assert (tm.next_ns(), tm.stats(0).queue_bytes, tm.stats(0).queue_packets) == (NEVER, 0, 0)
    dropped = len(refused) + sum(each.dropped for each in out)
    assert tm.stats(0).dropped_packets == dropped
    return refused, out


def drain(tm: TrafficManager, now_ns: int) -> list[Queued]:
    out = []
    while (queued := tm.dequeue(now_ns)) is not None:
        assert queued.dequeue_ns <= now_ns
        out.append(queued)
    return out


@pytest.mark.slow
@given(lanes(), LOADS)
def test_every_packet_comes_out_once_and_in_order(lane: Lane, packets: list[Packet]) -> None:
    refused, out = run(lane, packets)
    assert sorted(q.packet for q in refused + out) == list(range(len(packets)))
    times = [q.dequeue_ns for q in out]
    assert times == sorted(times)
    of_flow: dict[tuple[int, int], list[int]] = defaultdict(list)
    for queued in out:
        if not queued.dropped:
            _, _, flow, ecn = packets[queued.packet]
            # DualPI2 has a queue of its own for ECT(1) and CE.
            of_flow[flow, ecn & 1].append(queued.packet)
    assert all(numbers == sorted(numbers) for numbers in of_flow.values())
    assert all(q.dropped and q.dequeue_ns == q.enqueue_ns for q in refused)


@pytest.mark.slow
@given(lanes(), LOADS)
def test_marks_are_of_capable_packets_and_drops_have_a_reason(
    lane: Lane, packets: list[Packet]
) -> None:
    refused, out = run(lane, packets)
    for queued in refused + out:
        ecn = packets[queued.packet][3]
        assert not (queued.mark and (queued.dropped or ecn in (0, CE)))
        assert queued.reason in (DROP_LIMIT, DROP_EARLY, DROP_OVERFLOW)
    assert all(q.reason in (DROP_EARLY, DROP_OVERFLOW) for q in out if q.dropped)


@pytest.mark.slow
@given(lanes(), LOADS)
def test_the_line_is_never_idle_with_a_packet_in_the_queue(
    lane: Lane, packets: list[Packet]
) -> None:
    """Each departure takes exactly as long as its packet after the later of what was before."""
    _, out = run(lane, packets)
    free, waiting = 0, deque(q for q in out if not q.dropped)
    for queued in waiting:
        begin = max(free, queued.enqueue_ns * RATE_BPS)
        free = begin + 8 * packets[queued.packet][1] * 10**9
        assert queued.dequeue_ns == free // RATE_BPS


@given(
    st.sampled_from(NAMES),
    st.sampled_from([("bytes", 60_000), ("packets", 30)]),
    st.sampled_from(["system", "queue"]),
    LOADS,
)
def test_the_limit_holds_at_every_arrival(
    name: str, limit: tuple[str, int], counts: str, packets: list[Packet]
) -> None:
    """What counts with "queue" is all but the packet that is being sent."""
    unit, value = limit
    tm = TrafficManager(1)
    tm.set_up(0, Lane(RATE_BPS, value, unit, counts=counts).discipline(name))
    now_ns, most = 0, value + (1 if unit == "packets" else 1514) * (counts == "queue")
    for packet, (gap_ns, size, flow, ecn) in enumerate(packets):
        now_ns += gap_ns
        drain(tm, now_ns)
        tm.enqueue(0, packet, size, now_ns, flow, ecn)
        stats = tm.stats(0)
        assert (stats.queue_packets if unit == "packets" else stats.queue_bytes) <= most


def test_fq_codels_queues_send_a_quantum_in_their_turns() -> None:
    """Packets are as large: the first leaves at once, then the new flow's before the next."""
    lane = Lane(RATE_BPS, 10**6).discipline("fq_codel")
    _, out = run(lane, [(0, 1514, flow, 0) for flow in (0, 0, 0, 1, 1, 1)])
    assert [q.packet for q in out] == [0, 3, 1, 4, 2, 5]


def test_fq_codels_longest_queue_loses_half_of_its_bytes() -> None:
    """Four of a flow's packets wait, and another's is one too many."""
    lane = Lane(RATE_BPS, 5000).discipline("fq_codel")
    _, out = run(lane, [(0, 1000, flow, 0) for flow in (0, 0, 0, 0, 0, 1)])
    assert [(q.packet, q.reason) for q in out if q.dropped] == [
        (1, DROP_OVERFLOW),
        (2, DROP_OVERFLOW),
    ]
    assert [q.packet for q in out if not q.dropped] == [0, 3, 5, 4]


def test_what_is_dropped_of_what_waits_comes_out_at_once() -> None:
    """Before the packet has left that is being sent."""
    tm = TrafficManager(1)
    tm.set_up(0, Lane(RATE_BPS, 2000).discipline("fq_codel"))
    for packet in range(3):
        tm.enqueue(0, packet, 1000, 0)
    assert tm.next_ns() == 0
    assert [(q.packet, q.dropped) for q in drain(tm, 0)] == [(1, True)]


@pytest.mark.parametrize(
    ("name", "params", "longest_ns", "step_ns"),
    [
        ("codel", {"ce_threshold": 1000 * 1024}, 1000 * 1024, 1024),
        ("dualpi2", {"step_thresh": 10**6}, 10**6, 1),
    ],
)
def test_what_waits_longer_than_a_threshold_is_marked(
    name: str, params: dict[str, float], longest_ns: int, step_ns: int
) -> None:
    """Behind a packet of a byte per nanosecond; CoDel's time is in units of 1024 ns."""
    for wait_ns, marked in ((longest_ns, False), (longest_ns + step_ns, True)):
        lane = Lane(8 * 10**9, 10**7).discipline(name, **params)
        _, (ahead, behind) = run(lane, [(0, wait_ns, 0, 1), (0, 1514, 0, 1)])
        assert (ahead.mark, behind.mark) == (False, marked)


def test_step_marks_what_meets_more_than_its_threshold() -> None:
    lane = Lane(RATE_BPS, 10**6).discipline("step", threshold=2000)
    _, out = run(lane, [(0, size, 0, 1) for size in (1000, 1000, 1, 1)])
    assert [q.mark for q in out] == [False, False, False, True]


def test_red_counts_from_where_the_average_is_min() -> None:
    """It halves its distance to the queue: 0, 0, 500, 1000 bytes, and 1950 at the last packet.

    Counted from the fourth, the last is dropped but for one draw in twenty; from the last, it is
    never.
    """
    lane = Lane(RATE_BPS, 10**6).discipline("red", 1, min=1000, max=2000, burst=1, probability=1)
    refused, _ = run(lane, [(0, size, 0, 0) for size in (100, 1000, 500, 1400, 100)])
    assert [(q.packet, q.reason) for q in refused] == [(4, DROP_EARLY)]


@pytest.mark.parametrize("name", NAMES)
def test_its_parameters_are_checked(name: str) -> None:
    lane = Lane(RATE_BPS, 10**6).discipline(name)
    for parameter in parameters(name):
        key = parameter["name"]
        for value in (parameter["min"] - 1, parameter["max"] * 2 + 1):
            with pytest.raises(ValueError, match=f"{key}.*: no such parameter, or a bad value"):
                lane.discipline(name, **{key: value})
    with pytest.raises(ValueError, match="other: no such parameter"):
        lane.discipline(name, other=1)


@pytest.mark.parametrize("name", NAMES)
def test_a_parameter_may_be_the_least_and_the_most_there_is(name: str) -> None:
    for parameter in parameters(name):
        for value in (parameter["min"], parameter["max"]):
            try:
                Lane(RATE_BPS, 10**6).discipline(name, **{parameter["name"]: value})
            except ValueError as error:  # another parameter may not go with it
                assert "bad value" not in str(error)


def test_parameters_that_do_not_go_together() -> None:
    lane = Lane(RATE_BPS, 10**6)
    with pytest.raises(ValueError, match="target is not below interval"):
        lane.discipline("codel", target=100_000_000)
    with pytest.raises(ValueError, match="min is above max"):
        lane.discipline("red", min=3000, max=2000)
    with pytest.raises(ValueError, match="min is below avpkt"):
        lane.discipline("red", min=999, max=2000)
    with pytest.raises(ValueError, match="burst is too small"):
        lane.discipline("red", min=30_000, max=90_000, burst=3)


def test_what_red_is_not_told_is_as_tc_computes_it() -> None:
    values = Lane(RATE_BPS, 1_200_000).discipline("red").values()
    assert (values["max_bytes"], values["min_bytes"], values["burst"]) == (300_000, 100_000, 166)
