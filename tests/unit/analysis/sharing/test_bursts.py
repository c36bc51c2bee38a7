"""Bursts at an empty queue, beside others: against a plain search, and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.analysis.align.arrived import look_ahead, with_outlook
from nashbed.analysis.align.bursts import BurstFinder
from nashbed.analysis.align.data import Bursts
from nashbed.analysis.metrics.memory import absorbed_burst, own_share_at_drops, sudden_burst
from nashbed.controlplane.contract.queues import Memory
from nashbed.controlplane.contract.records import KIND_DROPPED
from nashbed.controlplane.contract.shared import DROP_REASONS
from tests.support.shared_memory import SharedMemory, dynamic, loaded
from tests.unit.analysis.sharing.test_holders import Table, in_chunks

ALWAYS = (0, 1 << 60)


def bursts_in(table: Table, base_rtt_ns: list[int], rows: int, window=ALWAYS) -> Bursts:
    chunks = in_chunks(table, rows)
    outlook = look_ahead(chunks, len(base_rtt_ns))
    finder = BurstFinder(outlook, np.array(base_rtt_ns), window)
    for chunk, arrival_ns, _ in with_outlook(chunks, outlook):
        finder.add(chunk, arrival_ns)
    return finder.bursts()


def rows_of(bursts: Bursts) -> list[tuple[int, ...]]:
    columns = (bursts.queue, bursts.start_ns, bursts.bytes, bursts.lost_bytes, bursts.others_bytes)
    return sorted(tuple(int(v) for v in row) for row in zip(*columns, strict=True))


def plain(table: Table, queue: int, length_ns: int) -> list[tuple[int, ...]]:
    """Packet by packet, in the order of arrival."""
    order = np.lexsort((table["own_queue_bytes"], table["enqueue_ns"]))
    rows = [i for i in order.tolist() if table["queue"][i] == queue]
    found: list[list[int]] = []
    end = -1
    for i in rows:
        t, own = int(table["enqueue_ns"][i]), int(table["own_queue_bytes"][i])
        if t >= end and own == 0:
            end = t + length_ns
            found.append([queue, t, 0, 0, int(table["queue_bytes"][i])])
        if t < end:
            size = int(table["packet_bytes"][i])
            found[-1][2] += size
            found[-1][3] += size if table["kind"][i] == KIND_DROPPED else 0
    return [tuple(row) for row in found]


@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(100_000, 3_000_000))
@settings(max_examples=20, deadline=None)
def test_equals_a_plain_search(seed, rows, length_ns) -> None:
    memory = loaded(SharedMemory(10**8, 12_000, 2, dynamic(0.5)), 300, 4, seed)
    table = memory.postcards()
    # Flows 0 and 2 share a queue, whose base RTT is the smaller one.
    found = bursts_in(table, [length_ns, 2 * length_ns, 5 * length_ns, 2 * length_ns], rows)
    expected = plain(table, 0, length_ns) + plain(table, 1, 2 * length_ns)
    assert rows_of(found) == sorted(expected)
    assert found.queue_of_flow.tolist() == [0, 1, 0, 1]


# By hand, 1000 B packets at 8 Mbit/s (1 ms each), a memory of 4000 B with alpha = 1, base RTT 3 ms.
# Queue 0 gets two packets at 0. Queue 1 gets a burst at 500 us: 2000 B are held, so it may have
# 2000 B; the first is taken (1000 B free then), the second would have 2000 B: refused.
BURST = ((0, 0), (0, 0), (500_000, 1), (500_000, 1))


def burst_by_hand() -> Table:
    memory = SharedMemory(8_000_000, 4000, 2, dynamic(1.0))
    for t, queue in BURST:
        memory.arrive(t, queue, queue, 1000)
    memory.arrive(6_000_000, 1, 1, 1000)
    return memory.postcards()


def test_by_hand() -> None:
    found = bursts_in(burst_by_hand(), [3_000_000, 3_000_000], 100)
    assert rows_of(found) == [
        (0, 0, 2000, 0, 0),
        (1, 500_000, 2000, 1000, 2000),
        (1, 6_000_000, 1000, 0, 0),
    ]
    inside = bursts_in(burst_by_hand(), [3_000_000, 3_000_000], 100, (500_000, 6_000_000))
    assert rows_of(inside) == [(1, 500_000, 2000, 1000, 2000)]


def test_a_drop_that_the_discipline_decides_is_no_want_of_memory() -> None:
    table = burst_by_hand()
    lost = table["kind"] == KIND_DROPPED
    table["marks"][lost] = DROP_REASONS.index("early")
    assert bursts_in(table, [3_000_000, 3_000_000], 100).lost_bytes.sum() == 0


def test_a_flow_is_of_the_queue_of_most_of_its_packets() -> None:
    """Its RST may go elsewhere; a queue that has nothing else takes the base RTT of that flow."""
    memory = SharedMemory(8_000_000, 9000, 3)
    for t, flow, queue in ((0, 0, 0), (1000, 0, 1), (2000, 0, 1), (3000, 1, 1), (4000, 1, 2)):
        memory.arrive(t, flow, queue, 100)
    memory.arrive(5000, 1, 2, 100)
    outlook = look_ahead(in_chunks(memory.postcards(), 2), 3)
    assert outlook.queue_of_flow.tolist() == [1, 2, -1]
    assert outlook.packets.tolist() == [1, 2, 1, 2]
    found = bursts_in(memory.postcards(), [1_000_000, 2_000_000, 3_000_000], 100)
    assert rows_of(found) == [
        (0, 0, 100, 0, 0), (1, 1000, 300, 0, 100), (2, 4000, 200, 0, 400),
    ]  # fmt: skip


def test_absorbed_burst() -> None:
    # Others hold 300 B on average (0, 200, 400, 600): long for the last two bursts.
    others = np.array([0, 200, 400, 600])
    sizes, lost = np.array([9000, 8000, 3000, 5000]), np.array([0, 0, 0, 1000])
    assert absorbed_burst(sizes, lost, others) == (3000.0, 5000.0)
    largest, smallest = absorbed_burst(sizes, np.zeros(4, int), others)
    assert largest == 5000.0
    assert np.isnan(smallest)
    # Beside nobody there is no long queue.
    assert np.isnan(absorbed_burst(sizes, lost, np.zeros(4, int))).all()
    assert np.isnan(absorbed_burst(*[np.empty(0, int)] * 3)).all()


def test_own_share_at_drops() -> None:
    # 1000 B refused at a memory that was a quarter its own, 3000 B at one that was all its own:
    # (250 + 3000) / 4000.
    found = own_share_at_drops(np.array([3250.0, 0.0]), np.array([4000.0, 0.0]))
    assert found[0] == pytest.approx(0.8125)
    assert np.isnan(found[1])


@pytest.mark.parametrize(
    ("memory", "queues", "expected"),
    [
        ({"name": "complete_sharing"}, 2, 0),
        ({"name": "complete_partitioning"}, 4, 250),
        ({"name": "dynamic_threshold", "parameters": (("alpha", 1),)}, 2, 250),
        ({"name": "dynamic_threshold", "parameters": (("alpha", 1),)}, 3, 1000 / 6),
        ({"name": "dynamic_threshold", "parameters": (("alpha", 4),)}, 2, 160),
        ({"name": "static", "limits_bytes": (300, 400)}, 2, 300),
        # Together more than there is: the other queue leaves 100.
        ({"name": "static", "limits_bytes": (300, 900)}, 2, 100),
        ({"name": "mine"}, 2, None),
    ],
)
def test_a_sudden_burst_by_hand(memory, queues, expected) -> None:
    found = sudden_burst(Memory.model_validate(memory), 1000, queues, 0)
    assert found == (None if expected is None else pytest.approx(expected))


@given(st.floats(0.05, 16), st.integers(1, 7))
def test_a_sudden_burst_meets_the_threshold(alpha: float, others: int) -> None:
    memory = Memory(name="dynamic_threshold", parameters=(("alpha", alpha),))
    burst = sudden_burst(memory, 10**6, others + 1, 0)
    assert burst is not None
    # Before it, each of the others is at its threshold; with it, the burst's queue is at its own.
    long = alpha * 10**6 / (1 + others * alpha)
    assert long == pytest.approx(alpha * (10**6 - others * long))
    assert burst == pytest.approx(alpha * (10**6 - others * long - burst))
