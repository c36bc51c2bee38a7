"""The rebuilt occupancy against a brute-force replay of enqueues and dequeues."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.analysis.align.totals import Link, count_durations, duration_percentile, sum_postcards
from nashbed.analysis.metrics.queue import TimeBins, occupancy_at, occupancy_bins

FLOWS = 3
LEFT, REFUSED, DROPPED_LATER = range(3)
PACKETS = st.lists(
    st.tuples(
        st.sampled_from([LEFT, LEFT, LEFT, REFUSED, DROPPED_LATER]),
        st.integers(0, FLOWS - 1),
        st.integers(1, 9000),
        st.integers(-500, 3000),
        st.integers(0, 2000),
    ),
    max_size=40,
)
BINS = st.builds(TimeBins, st.integers(-400, 400), st.integers(1, 700), st.integers(1, 9))


def postcards(packets: list[tuple[int, int, int, int, int]]) -> dict[str, np.ndarray]:
    rows = np.array(packets, dtype=np.int64).reshape(-1, 5)
    refused = rows[:, 0] == REFUSED
    return {
        "kind": (rows[:, 0] != LEFT).astype(np.uint8),
        "flow": rows[:, 1].astype(np.uint32),
        "packet_bytes": rows[:, 2].astype(np.uint32),
        "enqueue_ns": rows[:, 3],
        "dequeue_ns": np.where(refused, rows[:, 3], rows[:, 3] + rows[:, 4]),
        "marks": np.zeros(len(rows), np.uint8),
    }


def chunked(table: dict[str, np.ndarray], size: int) -> list[dict[str, np.ndarray]]:
    rows = len(table["kind"])
    return [{k: v[i : i + size] for k, v in table.items()} for i in range(0, rows, size)]


def replay(table: dict[str, np.ndarray], instant: int) -> list[int]:
    """Bytes of each flow at an instant, packet by packet."""
    held = [0] * FLOWS
    rows = zip(*(table[c].tolist() for c in table), strict=True)
    for _, flow, size, enqueue, dequeue, _ in rows:
        if enqueue <= instant < dequeue:
            held[flow] += size
    return held


@settings(max_examples=40)
@given(PACKETS, st.lists(st.integers(-600, 6000), min_size=1, max_size=30), st.integers(1, 50))
def test_any_instant_equals_the_replay(packets, instants, size) -> None:
    table, when = postcards(packets), np.unique(np.array(instants))
    found = occupancy_at(chunked(table, size), FLOWS, when)
    assert found.T.tolist() == [replay(table, int(t)) for t in when]


@settings(max_examples=40)
@given(PACKETS, BINS, st.integers(1, 50))
def test_bins_equal_the_sum_over_every_nanosecond(packets, bins, size) -> None:
    table = postcards(packets)
    when = np.arange(bins.start_ns, bins.end_ns)
    each = occupancy_at([table], FLOWS, when).reshape(FLOWS, bins.count, bins.length_ns)
    found = occupancy_bins(chunked(table, size), FLOWS, bins)
    assert found == pytest.approx(each.mean(axis=2))


@settings(max_examples=40)
@given(PACKETS, BINS)
def test_integral_is_conserved(packets, bins) -> None:
    """Bins that hold every stay have the integral of size x stay, to the byte-nanosecond."""
    table = postcards(packets)
    wide = TimeBins.cover(-1000, 10_000, bins.length_ns)
    total = np.rint(occupancy_bins([table], FLOWS, wide).sum(axis=1) * wide.length_ns)
    stay = (table["dequeue_ns"] - table["enqueue_ns"]) * table["packet_bytes"]
    expected = np.bincount(table["flow"], weights=stay, minlength=FLOWS)
    assert total.tolist() == expected.tolist()
    link = Link((wide.start_ns, wide.end_ns), 10**9, 0)
    assert sum_postcards([table], FLOWS, link).occupancy_byte_ns.tolist() == expected.tolist()


@settings(max_examples=40)
@given(PACKETS, st.integers(1, 50))
def test_window_sums_do_not_depend_on_chunks(packets, size) -> None:
    table, link = postcards(packets), Link((0, 2500), 10**9, 24)
    one, many = (sum_postcards(c, FLOWS, link) for c in ([table], chunked(table, size)))
    assert one.departed_bytes.tolist() == many.departed_bytes.tolist()
    assert one.occupancy_byte_ns.tolist() == many.occupancy_byte_ns.tolist()
    assert one.busy_ns == pytest.approx(many.busy_ns)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 10**11), min_size=1, max_size=200), st.floats(0.01, 1.0))
def test_percentile_is_within_its_resolution(delays, share) -> None:
    exact = np.sort(delays)[max(1, int(np.ceil(share * len(delays)))) - 1]
    found = duration_percentile(count_durations(np.array(delays)), share)
    assert found == pytest.approx(exact, rel=6e-4)
