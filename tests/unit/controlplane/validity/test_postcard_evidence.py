"""What postcards prove, against plain models, whole and in pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.contract.errors import TargetError
from nashbed.controlplane.contract.records import POSTCARD
from nashbed.controlplane.store.raw_records import LaneClock, read_pieces, relative_u48
from nashbed.controlplane.validity.postcard_evidence import Edges, PostcardEvidence
from nashbed.controlplane.validity.stream_coverage import StreamCoverage, merge
from tests.fakes.traffic import postcards, registers, stream_bytes

RATE = 10**7
FLOWS = 4
CLOCK = LaneClock(lane=3, first_flow=100, flows=FLOWS, t0_switch_ns=10**9)


@pytest.fixture
def raw() -> np.ndarray:
    return postcards(3, 100, FLOWS, (10**9, 2 * 10**9), RATE)


def evidence_of(path: Path, raw: np.ndarray, piece: int = 1000) -> PostcardEvidence:
    file = path / "raw"
    raw.tofile(file)
    found = PostcardEvidence(FLOWS, RATE, 0)
    for each in read_pieces(file, CLOCK, piece):
        found.feed(each)
    return found


@pytest.mark.parametrize("piece", [1, 7, 100, 10**6])
def test_good_postcards_prove_everything(tmp_path: Path, raw: np.ndarray, piece: int) -> None:
    found = evidence_of(tmp_path, raw, piece)
    told = registers(FLOWS)
    assert found.totals.departed_bytes.tolist() == told["departed_bytes"]
    assert found.totals.dropped_packets.tolist() == told["dropped_packets"]
    assert found.gaps.missing == 0
    assert (found.link.wrong, found.depth.wrong) == (0, 0)
    assert found.link.checked == found.depth.checked == sum(told["departed_packets"])
    assert found.stream_bytes() == [stream_bytes()] * FLOWS


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
    streams = found.stream_bytes()
    assert streams[flow] is not None
    assert streams[flow] < stream_bytes()  # type: ignore[operator]


def test_the_sequence_of_postcards_wraps(tmp_path: Path, raw: np.ndarray) -> None:
    raw["lane_seq"] = (raw["lane_seq"].astype(np.int64) + 2**32 - 30) % 2**32
    assert evidence_of(tmp_path, raw, 16).gaps.missing == 0


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("version", 2, "no postcard of this version"),
        ("kind", 9, "no postcard of this version"),
        ("lane", 4, "a postcard of another lane than 3"),
        ("flow", 99, "a flow that is not this lane's"),
        ("flow", 104, "a flow that is not this lane's"),
    ],
)
def test_foreign_records_are_refused(
    tmp_path: Path, raw: np.ndarray, field: str, value: int, problem: str
) -> None:
    raw[field][7] = value
    with pytest.raises(TargetError, match=problem):
        evidence_of(tmp_path, raw)


def test_a_cut_off_file_is_refused(tmp_path: Path, raw: np.ndarray) -> None:
    (tmp_path / "raw").write_bytes(raw.tobytes()[:-1])
    with pytest.raises(TargetError, match="ends in the middle of a record"):
        list(read_pieces(tmp_path / "raw", CLOCK))
    with pytest.raises(TargetError, match="wrote no telemetry"):
        list(read_pieces(tmp_path / "none", CLOCK))


@given(st.integers(0, 2**60), st.lists(st.integers(-(2**46), 2**46), min_size=1, max_size=20))
def test_times_are_right_across_the_wrap(origin: int, distances: list[int]) -> None:
    absolute = np.array([(origin + d) % 2**48 for d in distances], np.int64)
    found = relative_u48(absolute >> 32, absolute & 0xFFFFFFFF, origin)
    assert found.tolist() == distances


segments = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)), max_size=60)


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


def test_coverage_needs_the_syn() -> None:
    stream = StreamCoverage()
    stream.feed(np.array([1]), np.array([10]))
    assert stream.contiguous is None
    stream.begin(5)
    stream.begin(900)
    stream.feed(np.array([6]), np.array([10]))
    assert stream.contiguous == 10


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9)), max_size=30))
def test_merged_intervals_hold_the_same_numbers(spans: list[tuple[int, int]]) -> None:
    given_ = np.array([(a, a + n) for a, n in spans], np.int64).reshape(-1, 2)
    merged = merge(given_)
    want = {x for a, n in spans for x in range(a, a + n)}
    assert {x for a, b in merged.tolist() for x in range(a, b)} == want
    assert all(b < c for (_, b), (c, _) in zip(merged.tolist(), merged.tolist()[1:], strict=False))


def test_edges_of_the_window() -> None:
    edges = Edges(3, (100, 200), 0.25)
    edges.feed(np.array([0, 0, 1, 2, 2]), np.array([100, 175, 126, 99, 201]))
    assert edges.first.tolist() == [True, False, False]
    assert edges.last.tolist() == [True, False, False]


def test_the_record_is_forty_bytes_big_endian() -> None:
    # version 1, departed, lane 2, flow 3, 1514 bytes, queue 5, enqueue 6, dequeue 7, seq 8,
    # number 9, payload 10, flags 0x12
    text = "0100000200000003000005ea00000005000000000006000000000007"
    text += "0000000800000009000a1200"
    (card,) = np.frombuffer(bytes.fromhex(text), POSTCARD)
    assert card.tolist() == (1, 0, 2, 3, 1514, 5, 0, 6, 0, 7, 8, 9, 10, 0x12, 0)
