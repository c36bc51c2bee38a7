"""Several queues behind one line, out of one memory: against the plain model, and by what holds."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.core import CORE, NEVER, Lane, Queue, Queued, TrafficManager
from tests.model.disciplines import Codel, Model, Pie, Red, Step
from tests.model.queues import (
    QUANTUM,
    Bound,
    RoundRobin,
    Setup,
    Shared,
    Strict,
    Threshold,
    complete_partitioning,
    complete_sharing,
    dynamic_threshold,
    serve_shared,
    static,
)
from tests.model.splitmix import SplitMix64

RATE_BPS = 8_000_000
BYTE_NS = 1000
"""What a byte takes, exactly."""
LIMIT, EARLY, OVERFLOW, QUEUE_LIMIT, THRESHOLD = range(5)
SEED = 7

Arrival = tuple[int, int, int, int, int]
"""Gap in ns, bytes, queue, flow, ECN codepoint."""
GAPS = st.sampled_from([0, 0, 1, 100_000, 600_000, 1_514_000, 1_514_001, 40_000_000])
SIZES = st.sampled_from([60, 600, 1514, 1514, 9000])


@dataclass(frozen=True)
class Case:
    """Queues as both sides are told them."""

    lane: Lane
    shared: Callable[[], Shared]
    total: int
    counts: str
    scheduler: str
    queues: tuple[Queue, ...]
    memory: str


MODELS: dict[str, tuple[dict[str, float], Callable[[], Model]]] = {
    "step": ({"threshold": 3000}, lambda: Step(3000)),
    "codel": ({"target": 1e6, "interval": 2e7}, lambda: Codel(1_000_000, 20_000_000)),
    "red": (
        {"min": 3000, "max": 9000, "burst": 5, "probability": 0.3},
        lambda: Red(3000, 9000, 5, 0.3, RATE_BPS, SEED),
    ),
    "pie": ({"target": 5e6}, lambda: Pie(SEED, 5_000_000)),
}
"""Discipline -> its parameters, and its plain model."""


@st.composite
def policies(draw: Any, n: int) -> tuple[str, dict[str, Any], Threshold]:
    """A policy as the core and as the model is told it."""
    name = draw(
        st.sampled_from(
            ["complete_sharing", "complete_partitioning", "static", "dynamic_threshold"]
        )
    )
    if name == "static":
        limits = draw(st.lists(st.sampled_from([2000, 9000, 20_000]), min_size=n, max_size=n))
        return name, {"limits_bytes": limits}, static(limits)
    if name == "dynamic_threshold":
        alpha = draw(st.one_of(st.sampled_from([0.0625, 0.5, 1.0, 8.0]), st.floats(0.0625, 64)))
        return name, {"alpha": alpha}, dynamic_threshold(alpha)
    known = {
        "complete_sharing": complete_sharing,
        "complete_partitioning": complete_partitioning(n),
    }
    return name, {}, known[name]


@st.composite
def cases(draw: Any, disciplines: Sequence[str | None] = (None,)) -> Case:
    """Any queues with any scheduler and policy."""
    n = draw(st.integers(2, 8))
    total = draw(st.sampled_from([3028, 20_000, 50_000]))
    counts = draw(st.sampled_from(["system", "queue"]))
    scheduler = draw(st.sampled_from(["drr", "strict_priority"]))
    queues = []
    for _ in range(n):
        name = draw(st.sampled_from(disciplines))
        weight = draw(st.integers(1, 4)) if scheduler == "drr" else 1
        limit = draw(st.sampled_from([0, 0, 1514, 9000]))
        queues.append(Queue(weight, limit, name, MODELS[name][0] if name in MODELS else {}, SEED))
    memory, params, threshold = draw(policies(n))
    lane = Lane(RATE_BPS, total, counts=counts).queues(queues, scheduler, memory, **params)

    def shared() -> Shared:
        setups = [
            Setup(q.weight, q.limit or inf, MODELS[q.discipline][1]())
            if q.discipline
            else Setup(q.weight, q.limit or inf)
            for q in queues
        ]
        chooses = RoundRobin() if scheduler == "drr" else Strict()
        return Shared(RATE_BPS, total, setups, chooses, threshold, counts)

    return Case(lane, shared, total, counts, scheduler, tuple(queues), memory)


def arrivals(most: int = 120) -> st.SearchStrategy[list[Arrival]]:
    """Packets for any queue, in bursts; several times, so that queues stand."""
    packet = st.tuples(GAPS, SIZES, st.integers(0, 7), st.integers(0, 2), st.integers(0, 3))
    return st.tuples(st.lists(packet, max_size=most), st.integers(1, 3)).map(
        lambda pair: pair[0] * pair[1]
    )


def pass_through(lane: Lane, packets: Sequence[Arrival], n: int) -> list[Queued]:
    """What became of each packet, in the order of their arrival; no depth is ever left over."""
    tm = TrafficManager(1)
    assert tm.set_up(0, lane) == 0
    now_ns, fared = 0, {}
    for number, (gap_ns, size, queue, flow, ecn) in enumerate(packets):
        now_ns += gap_ns
        fared |= {q.packet: q for q in tm.drain(now_ns)}
        taken, queued = tm.enqueue(0, number, size, now_ns, flow, ecn, queue % n)
        if not taken:
            fared[number] = queued
    last = tm.drain(NEVER - 1)
    assert not {q.packet for q in last} & set(fared)
    fared |= {q.packet: q for q in last}
    assert (tm.next_ns(), tm.stats(0).queue_bytes, tm.stats(0).queue_packets) == (NEVER, 0, 0)
    assert sorted(fared) == list(range(len(packets)))
    return [fared[number] for number in range(len(packets))]


def bound(packets: Sequence[Arrival], n: int) -> list[Bound]:
    """The same packets, for the model."""
    now_ns, out = 0, []
    for gap_ns, size, queue, _, ecn in packets:
        now_ns += gap_ns
        out.append(Bound(now_ns, size, ecn, queue=queue % n))
    return out


Fate = tuple[int, int, int, int, bool, int | None]


def fate_of(packet: Bound) -> Fate:
    """Queue, its bytes, the lane's, when it left, its mark, why it was dropped."""
    return (packet.queue, packet.own, packet.met, packet.left_ns, packet.mark, packet.reason)


def fate_in_core(q: Queued) -> Fate:
    reason = q.reason if q.dropped else None
    return (q.queue, q.own_queue_bytes, q.queue_bytes, q.dequeue_ns, q.mark, reason)


@pytest.mark.slow
@given(cases(), arrivals())
def test_queues_are_the_plain_model_packet_by_packet(case: Case, packets: list[Arrival]) -> None:
    n = len(case.queues)
    got = pass_through(case.lane, packets, n)
    expected = serve_shared(bound(packets, n), case.shared())
    assert list(map(fate_in_core, got)) == list(map(fate_of, expected))


@pytest.mark.slow
@given(cases(("step", "codel", "red", "pie", None)), arrivals(60))
def test_so_are_queues_with_disciplines(case: Case, packets: list[Arrival]) -> None:
    n = len(case.queues)
    got = pass_through(case.lane, packets, n)
    expected = serve_shared(bound(packets, n), case.shared())
    assert list(map(fate_in_core, got)) == list(map(fate_of, expected))


def began_ns(queued: Queued, size: int) -> int:
    return queued.dequeue_ns - size * BYTE_NS


@pytest.mark.slow
@given(cases(("codel", "red", "pie", "step", "fq_codel", None)), arrivals())
def test_no_packet_overtakes_one_of_its_flow_and_queue(case: Case, packets: list[Arrival]) -> None:
    fared = pass_through(case.lane, packets, len(case.queues))
    last: dict[tuple[int, int], int] = defaultdict(int)
    for q, (_, _, _, flow, _) in zip(fared, packets, strict=True):
        if not q.dropped:
            assert q.dequeue_ns > last[flow, q.queue]
            last[flow, q.queue] = q.dequeue_ns


@pytest.mark.slow
@given(cases(("codel", "dualpi2", "fq_codel", None)), arrivals())
def test_neither_the_memory_nor_a_queue_is_ever_above_its_limit(
    case: Case, packets: list[Arrival]
) -> None:
    """Bytes from each packet's arrival until it counts no longer."""
    fared = pass_through(case.lane, packets, len(case.queues))
    steps: list[tuple[int, int, int, int]] = []
    for q, (_, size, *_) in zip(fared, packets, strict=True):
        begins = began_ns(q, size) if case.counts == "queue" and not q.dropped else q.dequeue_ns
        if q.enqueue_ns < begins:
            steps += [(begins, 0, q.queue, -size), (q.enqueue_ns, 1, q.queue, size)]
    held = [0] * len(case.queues)
    for _, _, queue, size in sorted(steps):
        held[queue] += size
        assert sum(held) <= case.total
        assert held[queue] <= (case.queues[queue].limit or inf)


@pytest.mark.slow
@given(cases(("codel", "red", "pie", "dualpi2", "fq_codel", None)), arrivals())
def test_the_line_is_never_idle_with_a_packet_in_any_queue(
    case: Case, packets: list[Arrival]
) -> None:
    fared = pass_through(case.lane, packets, len(case.queues))
    left = sorted((q for q in fared if not q.dropped), key=lambda q: q.dequeue_ns)
    free = 0
    for number, q in enumerate(left):
        begin = began_ns(q, packets[q.packet][1])
        assert begin == max(free, q.enqueue_ns)
        assert begin == free or all(other.enqueue_ns >= begin for other in left[number:])
        free = q.dequeue_ns


@pytest.mark.slow
@given(cases(("codel", "fq_codel", None)), arrivals())
def test_strict_priority_serves_no_queue_while_one_before_it_waits(
    case: Case, packets: list[Arrival]
) -> None:
    if case.scheduler != "strict_priority":
        return
    fared = pass_through(case.lane, packets, len(case.queues))
    served = [(q.queue, began_ns(q, packets[q.packet][1]), q) for q in fared if not q.dropped]
    for queue, begin, _ in served:
        for other, later, q in served:
            assert not (other < queue and q.enqueue_ns < begin < later)


@pytest.mark.slow
@given(
    st.lists(st.integers(1, 255), min_size=2, max_size=8),
    st.lists(st.tuples(st.integers(0, 7), SIZES), min_size=50, max_size=300),
)
def test_backlogged_queues_get_their_shares_within_a_quantum_and_a_packet(
    weights: list[int], sizes: list[tuple[int, int]]
) -> None:
    """While all have packets: bytes by weight differ by less than 1514 and the largest packet.

    After m turns a queue of weight w has sent m w 1514 bytes and less than a packet more. While one
    has had m + 1 turns no other has had fewer than m.
    """
    n = len(weights)
    lane = Lane(RATE_BPS, 10**9).queues([Queue(weight) for weight in weights])
    packets = [(0, size, queue % n, 0, 0) for queue, size in sizes]
    fared = sorted(pass_through(lane, packets, n), key=lambda q: q.dequeue_ns)
    left = [sum(q.queue == queue for q in fared) for queue in range(n)]
    sent = [0] * n
    largest = max(size for _, size in sizes)
    for q in fared:
        if 0 in left:
            return
        sent[q.queue] += packets[q.packet][1]
        left[q.queue] -= 1
        share = [got / weight for got, weight in zip(sent, weights, strict=True)]
        assert max(share) - min(share) < QUANTUM + largest / min(weights)


@given(
    st.sampled_from(["droptail", "step", "codel", "red", "pie", "fq_codel", "dualpi2"]),
    st.sampled_from(["drr", "strict_priority"]),
    st.sampled_from(["system", "queue"]),
    st.sampled_from([20_000, 50_000]),
    st.booleans(),
    arrivals(),
)
def test_one_queue_of_several_is_a_lane_of_its_own(
    name: str, scheduler: str, counts: str, limit: int, own: bool, packets: list[Arrival]
) -> None:
    """All packets in one queue, the memory or its own limit as the lane's: each nanosecond."""
    params = MODELS[name][0] if name in MODELS else {}
    alone = Lane(RATE_BPS, limit, counts=counts).discipline(name, SEED, **params)
    queue = Queue(1, limit if own else 0, name, params, SEED)
    several = Lane(RATE_BPS, 10**6 if own else limit, counts=counts)
    several.queues([Queue(), queue], scheduler)
    packets = [(gap, size, 1, flow, ecn) for gap, size, _, flow, ecn in packets]
    reasons = {QUEUE_LIMIT: LIMIT} if own else {}
    assert [
        replace(q, queue=0, own_queue_bytes=0, reason=reasons.get(q.reason, q.reason))
        for q in pass_through(several, packets, 2)
    ] == [replace(q, queue=0) for q in pass_through(alone, packets, 2)]


def test_a_full_memory_is_room_for_who_pushes_its_own_out() -> None:
    """FQ-CoDel's queue gives up its own longest flow's packets, and never another queue's."""
    lane = Lane(RATE_BPS, 15_140).queues([Queue(), Queue(1, 0, "fq_codel")])
    packets = [(0, 1514, 0, 0, 0)] * 6 + [(0, 1514, 1, 1, 0)] * 4 + [(0, 1514, 1, 2, 0)] * 2
    packets += [(0, 1514, 0, 0, 0)]
    fared = pass_through(lane, packets, 2)
    assert [q.reason for q in fared if q.dropped] == [OVERFLOW] * 2 + [LIMIT]
    assert [q.packet for q in fared if q.dropped] == [6, 7, 12]


def test_a_packet_for_a_queue_there_is_not_is_the_last_ones() -> None:
    tm = TrafficManager(1)
    tm.set_up(0, Lane(RATE_BPS, 10_000).queues([Queue(), Queue(), Queue()]))
    assert [tm.enqueue(0, i, 1000, 0, queue=i)[1].queue for i in (0, 1, 2, 3, 255)] == [
        0, 1, 2, 2, 2,
    ]  # fmt: skip


def test_a_lane_with_queues_is_described_and_discarded() -> None:
    queues = [Queue(2, 5000, "codel"), Queue(1)]
    tm = TrafficManager(1)
    tm.set_up(0, Lane(RATE_BPS, 10_000).queues(queues, memory="dynamic_threshold", alpha=0.5))
    assert tm.describe(0) == (
        "queues, 8000000 bit/s, limit 10000 bytes, overhead 0 bytes per packet, drr, "
        "memory dynamic_threshold, alpha 0.5; queue 0: codel, target 5000000 ns, "
        "interval 100000000 ns, ce_threshold 0 ns, no ecn, weight 2, limit 5000 bytes; "
        "queue 1: drop-tail, weight 1"
    )
    for i in range(5):
        tm.enqueue(0, i, 1000, 0, queue=i % 2)
    assert sum(tm.discard(0) for _ in range(6)) == 5
    _, queued = tm.enqueue(0, 9, 1000, 0)
    assert (queued.own_queue_bytes, queued.queue_bytes, tm.stats(0).queue_packets) == (0, 0, 1)


def test_each_queue_has_a_seed_of_its_own() -> None:
    draws = SplitMix64(SEED)
    expected = [draws.next() for _ in range(9)]
    assert [CORE.call("queues_seed", SEED, queue) for queue in range(9)] == expected


@pytest.mark.parametrize(("alpha", "share"), [(0.5, 1 / 3), (1.0, 1 / 2), (2.0, 2 / 3)])
def test_one_queue_alone_gets_the_dynamic_thresholds_fixed_point(
    alpha: float, share: float
) -> None:
    """Choudhury and Hahne 1998: alpha / (1 + alpha) of the memory."""
    total = 1_000_000
    lane = Lane(RATE_BPS, total)
    lane.queues([Queue(), Queue()], "drr", "dynamic_threshold", alpha=alpha)
    fared = pass_through(lane, [(0, 1000, 0, 0, 0)] * 1000, 2)
    taken = sum(not q.dropped for q in fared) * 1000
    assert abs(taken - share * total) <= 1000
    assert {q.reason for q in fared if q.dropped} == {THRESHOLD}
