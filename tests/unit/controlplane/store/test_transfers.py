"""The table of transfers: from plan, senders' records and sinks' reports."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.contract.messages.flows import SinkFlowReport
from nashbed.controlplane.contract.records import GOODPUT, TRANSFER
from nashbed.controlplane.plan.attempt import TrialFlow
from nashbed.controlplane.store.transfers import split_reads, write_transfers

T0 = 1_000


def flow(index: int, arrival_ns: int, size: int, kept: bool) -> TrialFlow:
    return TrialFlow(
        index, int(kept), "web", "cubic", 10, "10.64.0.1", "10.65.0.1", 10000 + index, arrival_ns,
        mixed=False, size_bytes=size, kept=kept,
    )  # fmt: skip


def sunk(index: int, size: int, first: int | None, last: int | None) -> SinkFlowReport:
    return SinkFlowReport(
        flow=index, bytes=size, first_byte_ns=first, last_byte_ns=last, closed="fin", error=None
    )


def test_each_planned_transfer_is_a_row_by_arrival(tmp_path: Path) -> None:
    flows = [
        flow(0, 50, 100, kept=False),
        flow(1, 10, 300, kept=False),  # incomplete
        flow(2, 20, 40, kept=True),
        flow(3, 60, 50, kept=True),  # carried by connection 2
        flow(4, 90, 50, kept=False),  # never came
    ]
    sink = [
        sunk(0, 100, 71, 80), sunk(1, 299, 40, 99), sunk(2, 90, 45, 88), sunk(3, 0, None, None),
        sunk(4, 0, None, None),
    ]  # fmt: skip
    came = [(0, 0, 51, 95), (1, 1, 12, 0), (2, 2, 20, 60), (3, 2, 62, 0)]
    records = [(t, f, s + T0, a + T0 if a else 0) for t, f, s, a in came]
    np.array(records, TRANSFER).tofile(tmp_path / "transfers.bin")
    reads = [(45 + T0, 2, 0, 30), (50 + T0, 2, 0, 10), (80 + T0, 2, 0, 20), (88 + T0, 2, 0, 30)]
    np.array(reads, GOODPUT).tofile(tmp_path / "reads.bin")
    assert write_transfers(tmp_path, flows, sink, T0) == 5
    rows = pq.read_table(tmp_path / "transfers.parquet").to_pylist()
    times = ("arrival_ns", "start_ns", "first_byte_ns", "completed_ns", "acked_ns")
    assert [(r["transfer"], r["flow"], *(r[n] for n in times)) for r in rows] == [
        (0, 1, 10, 12, 40, None, None),
        (1, 2, 20, 20, 45, 50, 60),
        (2, 0, 50, 51, 71, 80, 95),
        (3, 2, 60, 62, 80, 88, None),
        (4, 4, 90, None, None, None, None),
    ]


def test_a_trial_without_transfers_has_no_table(tmp_path: Path) -> None:
    assert write_transfers(tmp_path, [], [], T0) == 0
    assert not list(tmp_path.iterdir())


@given(
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=8),
    cuts=st.lists(st.integers(1, 50), max_size=40),
    missing=st.integers(0, 30),
)
def test_reads_are_split_as_byte_for_byte(sizes: list[int], cuts: list[int], missing: int) -> None:
    """No read has bytes of two transfers: the next one begins when the last is acknowledged."""
    reads: list[tuple[int, int]] = []
    expected: list[tuple[int | None, int | None]] = []
    left = max(0, sum(sizes) - missing)
    lengths = iter(cuts)
    for size in sizes:
        first = last = None
        got = 0
        while got < size and left > 0:
            count = min(next(lengths, 7), size - got, left)
            reads.append((len(reads) + 1, count))
            got, left = got + count, left - count
            first = len(reads) if first is None else first
            last = len(reads) if got == size else None
        expected.append((first, last))
    table = np.array(reads, np.int64).reshape(-1, 2)
    assert split_reads(table[:, 0], table[:, 1].astype(np.uint64), sizes) == expected
