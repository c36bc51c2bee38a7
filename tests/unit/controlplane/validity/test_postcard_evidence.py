"""What postcards prove."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.store.postcards import PostcardBatch, read_postcards
from nashbed.controlplane.store.raw_files import LaneClock
from nashbed.controlplane.validity.postcard_evidence import (
    Edges,
    LinkBusy,
    PostcardEvidence,
    QueueDepth,
)
from nashbed.controlplane.validity.streams import StreamCoverage, merge
from tests.fakes.traffic import postcards, registers, stream_bytes

RATE = 10**7
FLOWS = 4
WINDOW = (0, 10**9)
CLOCK = LaneClock(lane=3, first_flow=100, flows=FLOWS, t0_switch_ns=10**9)
segments = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)), max_size=60)
LINK_RATE = 8 * 10**6
"""One byte in a microsecond."""
US = 1000
TOLERANCE_NS = 50 * US
PACKETS = st.lists(st.tuples(st.integers(0, 3000 * US), st.integers(60, 1514)), min_size=1)


@pytest.fixture
def raw() -> np.ndarray:
    return postcards(3, 100, FLOWS, (10**9, 2 * 10**9), RATE)


def evidence_of(path: Path, raw: np.ndarray, batch: int = 1000) -> PostcardEvidence:
    file = path / "raw"
    raw.tofile(file)
    found = PostcardEvidence.empty([20_000_000] * FLOWS, WINDOW, LinkBusy(RATE, 0), QueueDepth())
    for each in read_postcards(file, CLOCK, batch):
        for examiner in found:
            examiner.examine(each)
    return found


@pytest.mark.parametrize("batch", [1, 7, 100, 10**6])
def test_good_postcards_prove_everything(tmp_path: Path, raw: np.ndarray, batch: int) -> None:
    found = evidence_of(tmp_path, raw, batch)
    told = registers(FLOWS)
    assert found.totals.departed_bytes.tolist() == told["departed_bytes"]
    assert found.totals.dropped_packets.tolist() == told["dropped_packets"]
    assert found.gaps.missing == 0
    assert (found.link.wrong, found.depth.wrong) == (0, 0)
    assert found.link.checked == found.depth.checked == sum(told["departed_packets"])
    assert found.streams.readable_bytes() == [stream_bytes()] * FLOWS
    # Six segments of 1000 bytes were dropped and came again; nothing left twice.
    assert [stream.repeated for stream in found.streams.arrived] == [6000] * FLOWS
    assert [stream.repeated for stream in found.streams.left] == [0] * FLOWS
    assert [repeats.packets for repeats in found.streams.repeats] == [0] * FLOWS


def test_a_late_departure_is_seen(tmp_path: Path, raw: np.ndarray) -> None:
    place = np.flatnonzero(raw["kind"] == 0)[50]
    raw["dequeue_low"][place] += 2
    found = evidence_of(tmp_path, raw)
    assert found.link.wrong >= 1
    assert found.link.worst_ns >= 2


def test_a_wrong_queue_is_seen(tmp_path: Path, raw: np.ndarray) -> None:
    place = np.flatnonzero(raw["kind"] == 0)[50]
    raw["queue_bytes"][place] += 1
    assert evidence_of(tmp_path, raw).depth.wrong == 1


def test_a_lost_postcard_is_seen(tmp_path: Path, raw: np.ndarray) -> None:
    place = np.flatnonzero((raw["kind"] == 0) & (raw["payload_bytes"] > 0))[50]
    found = evidence_of(tmp_path, np.delete(raw, place), 64)
    assert found.gaps.missing == 1
    flow = int(raw["flow"][place]) - 100
    streams = found.streams.readable_bytes()
    assert streams[flow] is not None
    assert streams[flow] < stream_bytes()  # type: ignore[operator]


def test_the_sequence_of_postcards_wraps(tmp_path: Path, raw: np.ndarray) -> None:
    raw["lane_seq"] = (raw["lane_seq"].astype(np.int64) + 2**32 - 30) % 2**32
    assert evidence_of(tmp_path, raw, 16).gaps.missing == 0


@pytest.mark.slow
@given(segments, st.integers(0, 2**32 - 1), st.integers(1, 10))
def test_coverage_is_that_of_a_set_of_bytes(
    sent: list[tuple[int, int]], isn: int, piece: int
) -> None:
    stream, have = StreamCoverage(), set()
    stream.begin(isn)
    for at in range(0, len(sent), piece):
        part = sent[at : at + piece]
        seq = np.array([(isn + 1 + begin) % 2**32 for begin, _ in part], np.int64)
        stream.feed(seq, np.array([length for _, length in part], np.int64))
        for begin, length in part:
            have.update(range(begin, begin + length))
        expected = next(i for i in range(1000) if i not in have)
        assert stream.contiguous == expected
    assert stream.repeated == sum(length for _, length in sent) - len(have)


def test_coverage_needs_the_syn() -> None:
    stream = StreamCoverage()
    stream.feed(np.array([1]), np.array([10]))
    assert stream.contiguous is None
    stream.begin(5)
    stream.begin(900)
    stream.feed(np.array([6]), np.array([10]))
    assert (stream.contiguous, stream.repeated) == (10, 0)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9)), max_size=30))
def test_merged_intervals_hold_the_same_numbers(spans: list[tuple[int, int]]) -> None:
    given_ = np.array([(a, a + n) for a, n in spans], np.int64).reshape(-1, 2)
    merged = merge(given_)
    want = {x for a, n in spans for x in range(a, a + n)}
    assert {x for a, b in merged.tolist() for x in range(a, b)} == want
    assert all(b < c for (_, b), (c, _) in zip(merged.tolist(), merged.tolist()[1:], strict=False))


def test_edges_of_the_window() -> None:
    edges = Edges(3, (100, 200), 0.25)
    edges.see(np.array([0, 0, 1, 2, 2]), np.array([100, 175, 126, 99, 201]))
    assert edges.first.tolist() == [True, False, False]
    assert edges.last.tolist() == [True, False, False]


def batch(rows: list[tuple[int, int, int]], queue_bytes: int = 0) -> PostcardBatch:
    """Departures of (enqueue, bytes, dequeue)."""
    enqueue, size, dequeue = np.array(rows, np.int64).T
    zeros = np.zeros(len(rows), np.int64)
    return PostcardBatch(
        dropped=zeros.astype(bool), flow=zeros, packet_bytes=size, payload_bytes=zeros,
        tcp_seq=zeros, tcp_flags=zeros.astype(np.uint8), queue_bytes=zeros + queue_bytes,
        enqueue_ns=enqueue, dequeue_ns=dequeue, seq=np.arange(len(rows)),
        marks=zeros.astype(np.uint8),
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
        link.examine(batch(rows[first : first + at_once]))
    return link


@pytest.mark.slow
@given(PACKETS, st.data(), st.sampled_from([0, 1514]), st.integers(1, 20))
def test_late_sight_of_a_schedule_is_within_the_tolerance(
    arrivals: list[tuple[int, int]], data: st.DataObject, slot: int, at_once: int
) -> None:
    bound = st.integers(0, TOLERANCE_NS)
    late = data.draw(st.lists(bound, min_size=len(arrivals), max_size=len(arrivals)))
    rows = scheduled(arrivals, late, slot)
    link = fed(LinkBusy(LINK_RATE, 0, slot, TOLERANCE_NS), rows, at_once)
    assert (link.checked, link.wrong, link.worst_ns) == (len(rows), 0, max(late))


@given(PACKETS, st.integers(1, 20))
def test_both_ways_agree_where_departures_are_scheduled(
    arrivals: list[tuple[int, int]], at_once: int
) -> None:
    rows = scheduled(arrivals, [0] * len(arrivals), 0)
    for tolerance_ns in (1, TOLERANCE_NS):
        link = fed(LinkBusy(LINK_RATE, 0, 0, tolerance_ns), rows, at_once)
        assert (link.wrong, link.worst_ns) == (0, 0)


def test_one_late_departure_is_one_wrong_departure() -> None:
    """Those behind it keep their schedule; they are not early."""
    rows = scheduled([(0, 1000)] * 5, [0, 0, TOLERANCE_NS + 1, 0, 0], 0)
    assert fed(LinkBusy(LINK_RATE, 0, 0, TOLERANCE_NS), rows, 2).wrong == 1


@pytest.mark.parametrize("percent", [-1, 1])
def test_a_wrong_rate_is_seen_however_much_tolerance(percent: int) -> None:
    """A queue that never empties for 100 packets: 1 % of 100 ms is 1 ms."""
    rows = scheduled([(0, 1000)] * 100, [0] * 100, 0)
    link = fed(LinkBusy(LINK_RATE * (100 + percent) // 100, 0, 0, TOLERANCE_NS), rows, 7)
    assert link.wrong > 90


@pytest.mark.parametrize(("tolerance", "wrong"), [(0, 2), (999, 2), (1000, 0), (None, 0)])
def test_the_queue_may_differ_by_the_targets_tolerance(tolerance: int | None, wrong: int) -> None:
    """Two packets that met an empty queue say that it held 1000 bytes."""
    depth = QueueDepth(tolerance)
    depth.examine(batch([(0, 500, 10), (20, 500, 30)], queue_bytes=1000))
    assert (depth.checked, depth.wrong) == (2, wrong)


def test_a_packet_that_is_dropped_later_was_in_the_queue() -> None:
    """As CoDel does: the second one waits with the others, and is dropped when its turn comes."""
    rows = batch([(0, 500, 500), (10, 600, 500), (20, 700, 1200), (600, 100, 1300)])
    rows = replace(
        rows,
        dropped=np.array([False, True, False, False]),
        queue_bytes=np.array([0, 500, 1100, 700]),
    )
    depth, link = QueueDepth(), LinkBusy(LINK_RATE * US, 0)
    depth.examine(rows)
    link.examine(rows)
    assert (depth.checked, depth.wrong) == (4, 0)
    assert (link.checked, link.wrong) == (3, 0)


def test_a_packet_that_is_refused_was_not() -> None:
    rows = batch([(0, 500, 500), (10, 600, 10), (20, 700, 1200)])
    rows = replace(
        rows, dropped=np.array([False, True, False]), queue_bytes=np.array([0, 500, 500])
    )
    depth = QueueDepth()
    depth.examine(rows)
    assert (depth.checked, depth.wrong) == (2, 0)
