"""Who held the queue at each drop, against a model that keeps them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.analysis.align.arrived import look_ahead
from nashbed.analysis.sharing.blame import BlameSums, blame_shares
from nashbed.analysis.sharing.holders import Drops, drops_with_holders
from tests.support.shared_memory import SharedMemory, dynamic, loaded, sharing

Table = dict[str, np.ndarray[Any, Any]]


def in_chunks(table: Table, rows: int) -> list[Table]:
    return [
        {name: values[at : at + rows] for name, values in table.items()}
        for at in range(0, len(table["flow"]), rows)
    ]


def found_in(table: Table, flows: int, rows: int) -> list[Drops]:
    chunks = in_chunks(table, rows)
    return list(drops_with_holders(chunks, look_ahead(chunks, flows)))


def by_row(parts: list[Drops], table: Table, flows: int) -> list[dict[tuple[int, int], int]]:
    """For each dropped row of the table, in its order, bytes of each (queue, flow)."""
    outlook = look_ahead([table], flows)
    parties = list(zip(outlook.queue.tolist(), outlook.flow.tolist(), strict=True))
    found = []
    for part in parts:
        keys = zip(part.t_ns, part.arrived_ns, part.party, part.queue_bytes, part.packet_bytes,
                   strict=True)  # fmt: skip
        for key, held in zip(keys, part.held.T, strict=True):
            held_by = {p: int(n) for p, n in zip(parties, held, strict=True) if n}
            found.append((tuple(int(v) for v in key), held_by))
    lost = np.flatnonzero(table["kind"])
    of_party = outlook.party_of(table)
    order = [
        tuple(int(v) for v in (table["dequeue_ns"][i], table["enqueue_ns"][i], of_party[i],
                               table["queue_bytes"][i], table["packet_bytes"][i]))
        for i in lost
    ]  # fmt: skip
    held = dict(found)
    assert len(found) == len(lost)
    return [held[key] for key in order]


# By hand: 1000 B packets at 8 Mbit/s (1 ms each), a memory of 3000 B, flows 0 and 1 in queues of
# their own. Flow 0 sends at 0, 0, 0 us; flow 1 at 100 us (refused: 3000 B of flow 0), at 1000 us
# (one has left: taken), at 1500 us flow 0 (refused: 2000 B of its own, 1000 B of flow 1).


def by_hand() -> SharedMemory:
    memory = SharedMemory(8_000_000, 3000)
    for _ in range(3):
        memory.arrive(0, 0, 0, 1000)
    assert not memory.arrive(100_000, 1, 1, 1000)
    assert memory.arrive(1_000_000, 1, 1, 1000)
    assert not memory.arrive(1_500_000, 0, 0, 500)
    return memory


def test_by_hand() -> None:
    table = by_hand().postcards()
    (drops,) = found_in(table, 2, 100)
    assert drops.t_ns.tolist() == [100_000, 1_500_000]
    assert drops.held.tolist() == [[3000, 2000], [0, 1000]]
    assert drops.unexplained == 0
    sums = BlameSums(look_ahead([table], 2), (0, 2_000_000))
    sums.add(drops)
    blame = sums.blame()
    # Flow 0 lost 500 B, of which 2/3 are its own doing; flow 1 lost 1000 B, all of them flow 0's.
    assert blame.blamed_bytes == pytest.approx(np.array([[1000 / 3, 500 / 3], [1000, 0]]))
    assert blame_shares(blame.blamed_bytes) == pytest.approx(np.array([[2 / 3, 1 / 3], [1, 0]]))
    assert blame.packets.sum(axis=1).tolist() == [1, 1]
    assert blame.bytes[:, 0].tolist() == [500, 1000]
    assert blame.among(np.array([0, 0]), 1) == pytest.approx(np.array([[1500.0]]))


def test_a_flow_that_only_passed_through_another_queue_is_no_party_there() -> None:
    memory = by_hand()
    memory.arrive(9_000_000, 1, 0, 100)
    table = memory.postcards()
    (drops,) = found_in(table, 2, 100)
    assert len(drops.held) == 3
    sums = BlameSums(look_ahead([table], 2), (0, 10_000_000))
    sums.add(drops)
    blame = sums.blame()
    assert list(zip(blame.queue.tolist(), blame.flow.tolist(), strict=True)) == [(0, 0), (1, 1)]
    assert blame.blamed_bytes == pytest.approx(np.array([[1000 / 3, 500 / 3], [1000, 0]]))


def test_drops_outside_of_the_window_do_not_count() -> None:
    table = by_hand().postcards()
    (drops,) = found_in(table, 2, 100)
    sums = BlameSums(look_ahead([table], 2), (100_001, 1_500_001))
    sums.add(drops)
    assert sums.blame().packets.sum(axis=1).tolist() == [1, 0]


@pytest.mark.slow
@given(
    st.integers(0, 10**6),
    st.sampled_from([sharing, dynamic(1.0), dynamic(0.25)]),
    st.integers(1, 60),
    st.integers(1, 5),
    st.integers(1, 3),
)
@settings(max_examples=20, deadline=None)
def test_equals_the_model(seed, policy, rows, flows, queues) -> None:
    """Any chunking, any policy: exactly the bytes that were there, drop by drop."""
    memory = SharedMemory(10**8, 12_000, queues, policy)
    table = loaded(memory, 300, flows, seed).postcards()
    parts = found_in(table, flows, rows)
    assert by_row(parts, table, flows) == memory.holders
    assert sum(part.unexplained for part in parts) == 0
    times = [int(t) for part in parts for t in part.t_ns]
    assert times == sorted(times)


@given(st.integers(0, 10**6), st.integers(1, 60), st.randoms())
@settings(max_examples=10, deadline=None)
def test_the_order_of_postcards_does_not_matter(seed, rows, rng) -> None:
    memory = loaded(SharedMemory(10**8, 12_000), 200, 4, seed)
    table = memory.postcards()
    order = list(range(len(table["flow"])))
    rng.shuffle(order)
    mixed = {name: values[order] for name, values in table.items()}
    parts = found_in(mixed, 4, rows)
    assert by_row(parts, table, 4) == memory.holders


@given(st.integers(0, 10**6), st.integers(1, 60))
@settings(max_examples=10, deadline=None)
def test_pushed_out(seed, rows) -> None:
    """A packet that is pushed out met what was there, and the packet that pushed it out.

    Arrivals have a nanosecond each, and packets one size: so one goes for one.
    """
    memory = SharedMemory(10**8, 12_000, 2, sharing, pushes_out=True)
    rng, now, expected = np.random.default_rng(seed), 0, []
    for _ in range(200):
        now += 1 + int(rng.exponential(60_000))
        flow, before = int(rng.integers(4)), len(memory.holders)
        memory.arrive(now, flow, flow % 2, 1000)
        for met in memory.holders[before:]:
            key = flow % 2, flow
            expected.append({**met, key: met.get(key, 0) + 1000})
    table = memory.postcards()
    parts = found_in(table, 4, rows)
    outlook = look_ahead([table], 4)
    parties = list(zip(outlook.queue.tolist(), outlook.flow.tolist(), strict=True))
    held = [column for part in parts for column in part.held.T.tolist()]
    assert [{p: n for p, n in zip(parties, each, strict=True) if n} for each in held] == expected
    assert not any(part.refused.any() for part in parts)
