"""The queue of the way back: drop-tail to the nanosecond, and its records by time."""

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.model.core import NEVER, Lane, ReturnQueues

BIN_NS = 10_000_000
S = 10**9
RATE_BPS, LIMIT, OVERHEAD = 1_000_000, 5, 24
PACKETS = st.lists(
    st.tuples(st.integers(0, 3_000_000), st.integers(54, 134)), min_size=1, max_size=60
)


def model(packets: list[tuple[int, int]]) -> tuple[list[tuple[int, int]], dict[int, list[int]]]:
    """(packet, departure) of what leaves, and the records of each bin, packet by packet.

    Departures are exact fractions of a nanosecond, told as whole ones.
    """
    waiting: list[tuple[int, int]] = []
    left: list[tuple[int, int]] = []
    bins: dict[int, list[int]] = {}
    now_ns, free = 0, 0  # the latter in parts of 1/RATE_BPS ns
    for packet, (gap_ns, size) in enumerate(packets):
        now_ns += gap_ns
        waiting = [(due, held) for due, held in waiting if due > now_ns]
        queue = sum(held for _, held in waiting)
        row = bins.setdefault(now_ns // BIN_NS, [0] * 7)
        row[0] += 1
        row[4] = max(row[4], queue)
        if len(waiting) == LIMIT:
            row[1] += 1
            continue
        row[4] = max(row[4], queue + size)
        free = max(free, now_ns * RATE_BPS) + (size + OVERHEAD) * 8 * S
        due = free // RATE_BPS
        waiting.append((due, size))
        left.append((packet, due))
        out = bins.setdefault(due // BIN_NS, [0] * 7)
        for column, more in ((2, 1), (3, size), (5, due - now_ns)):
            out[column] += more
        out[6] = max(out[6], due - now_ns)
    return left, bins


def told(records: Any) -> dict[int, list[int]]:
    names = (
        *("arrived_packets", "dropped_packets", "departed_packets", "departed_bytes"),
        *("queue_bytes_max", "qdelay_sum_ns", "qdelay_max_ns"),
    )
    return {int(row["t_ns"]) // BIN_NS: [int(row[name]) for name in names] for row in records}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PACKETS)
def test_against_the_model(tmp_path: Path, packets: list[tuple[int, int]]) -> None:
    queues, now_ns = ReturnQueues(2), 0
    assert queues.configure(1, Lane(RATE_BPS, LIMIT, "packets", overhead=OVERHEAD)) == 0
    expected, bins = model(packets)
    out, taken = [], []
    for packet, (gap_ns, size) in enumerate(packets):
        now_ns += gap_ns
        while (got := queues.get(now_ns)) is not None:
            out.append(got)
        if queues.put(1, packet, size, now_ns):
            taken.append(packet)
    while (got := queues.get(NEVER - 1)) is not None:
        out.append(got)
    assert taken == [packet for packet, _ in expected]
    assert out == [(packet, due, 1) for packet, due in expected]
    assert told(queues.records(1, tmp_path / "records")) == bins


def test_records_are_taken_out_once_and_each_lane_has_its_own(tmp_path: Path) -> None:
    queues = ReturnQueues(2)
    for lane in (0, 1):
        queues.configure(lane, Lane(RATE_BPS, LIMIT, "packets"))
        queues.put(lane, lane, 66, 5)
    assert [got[2] for got in iter(lambda: queues.get(NEVER - 1), None)] == [0, 1]
    for lane in (0, 1):
        assert len(queues.records(lane, tmp_path / "records")) == 1
        assert len(queues.records(lane, tmp_path / "records")) == 0
