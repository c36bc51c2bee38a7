"""Postcards and bins: raw records in, Parquet out."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.contract.errors import TargetError
from nashbed.controlplane.contract.records import BIN, POSTCARD, POSTCARD_OF_QUEUES, join_u48
from nashbed.controlplane.store.postcards import (
    BINS,
    POSTCARDS,
    PostcardBatch,
    read_bins,
    read_postcards,
    say_queues,
    write_bins,
    write_postcards,
)
from nashbed.controlplane.store.raw_files import LaneClock
from numpy.typing import NDArray
from tests.unit.controlplane.store.random_records import random_records, read_back

CLOCK = LaneClock(lane=3, first_flow=100, flows=4, t0_switch_ns=10**9)
SAME = ("packet_bytes", "payload_bytes", "tcp_seq", "tcp_flags", "queue_bytes", "marks")
BIN_NS = 10**7
BIN_CLOCK = LaneClock(lane=0, first_flow=4, flows=2, t0_switch_ns=50_000_000)


@pytest.fixture
def raw() -> NDArray[np.void]:
    """Postcards of the lane, random in all that may be random."""
    records = random_records(POSTCARD)
    records["version"] = 1
    records["kind"] %= 2
    records["lane"] = 3
    records["flow"] = 100 + records["flow"] % 4
    return records


@pytest.mark.parametrize("batch", [7, 10**6])
def test_random_postcards_are_written_exactly(
    tmp_path: Path, raw: NDArray[np.void], batch: int
) -> None:
    raw.tofile(tmp_path / "raw")
    batches = read_postcards(tmp_path / "raw", CLOCK, batch)
    assert write_postcards(tmp_path, batches, marks=True) == len(raw)
    table = read_back(tmp_path, "postcards")
    assert table["kind"] == raw["kind"].tolist()
    assert table["flow"] == (raw["flow"].astype(int) - 100).tolist()
    assert table["seq"] == raw["lane_seq"].tolist()
    for name in SAME:
        assert table[name] == raw[name].tolist()
    for name in ("enqueue", "dequeue"):
        absolute = join_u48(raw[f"{name}_high"], raw[f"{name}_low"]).tolist()
        times = table[f"{name}_ns"]
        assert [(time + 10**9) % 2**48 for time in times] == absolute
        assert all(-(2**47) <= time < 2**47 for time in times)


def test_a_trial_that_cannot_mark_has_the_table_that_it_had(
    tmp_path: Path, raw: NDArray[np.void]
) -> None:
    raw.tofile(tmp_path / "raw")
    write_postcards(tmp_path, read_postcards(tmp_path / "raw", CLOCK), marks=False)
    raw = random_records(BIN, rows=1)
    raw["flow"], raw["bin"] = 4, 7
    raw.tofile(tmp_path / "raw")
    write_bins(tmp_path, read_bins(tmp_path / "raw", BIN_CLOCK, BIN_NS), marks=False)
    for table in (POSTCARDS, BINS):
        names = pq.read_schema(table.path(tmp_path)).names
        assert [*names, *table.marks, *table.queues] == table.schema.names


def of_queues(raw: NDArray[np.void]) -> NDArray[np.void]:
    """The same postcards, of a lane with several queues."""
    records = random_records(POSTCARD_OF_QUEUES)
    for name in raw.dtype.names or ():
        records[name] = raw[name]
    records["version"] = 2
    return records


def test_postcards_of_several_queues_are_written_exactly(
    tmp_path: Path, raw: NDArray[np.void]
) -> None:
    raw = of_queues(raw)
    raw.tofile(tmp_path / "raw")
    assert say_queues(tmp_path / "raw")
    batches = read_postcards(tmp_path / "raw", CLOCK, 7)
    assert write_postcards(tmp_path, batches, marks=True, queues=True) == len(raw)
    table = read_back(tmp_path, "postcards")
    for name in (*SAME, "queue", "own_queue_bytes"):
        assert table[name] == raw[name].tolist()
    assert pq.read_schema(POSTCARDS.path(tmp_path)).names == POSTCARDS.schema.names


def test_a_postcard_of_another_version_is_refused(tmp_path: Path, raw: NDArray[np.void]) -> None:
    raw = of_queues(raw)
    raw["version"][-1] = 1
    raw.tofile(tmp_path / "raw")
    with pytest.raises(TargetError, match="a record is not a postcard of version 2"):
        list(read_postcards(tmp_path / "raw", CLOCK))


def test_batches_of_several_queues_are_joined(tmp_path: Path, raw: NDArray[np.void]) -> None:
    raw = of_queues(raw)
    raw.tofile(tmp_path / "raw")
    joined = PostcardBatch.joined([*read_postcards(tmp_path / "raw", CLOCK, 5)])
    assert joined.queue is not None
    assert joined.queue.tolist() == raw["queue"].tolist()


def test_no_postcards_are_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "raw").touch()
    assert write_postcards(tmp_path, read_postcards(tmp_path / "raw", CLOCK), marks=True) == 0
    assert read_back(tmp_path, "postcards")["seq"] == []


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("version", 2, "a record is not a postcard of version 1"),
        ("kind", 9, "a record is not a postcard of version 1"),
        ("lane", 4, "has a postcard of another lane than 3"),
        ("flow", 99, "has a record of a flow that is not in lane 3"),
        ("flow", 104, "has a record of a flow that is not in lane 3"),
    ],
)
def test_foreign_records_are_refused(
    tmp_path: Path, raw: NDArray[np.void], field: str, value: int, problem: str
) -> None:
    raw[field][7] = value
    raw.tofile(tmp_path / "raw")
    with pytest.raises(TargetError, match=problem):
        list(read_postcards(tmp_path / "raw", CLOCK))


def test_bins_by_hand(tmp_path: Path) -> None:
    # 10 ms bins; flow 5 of lane base 4 is the lane's flow 1. Bin 7 begins at 70 ms.
    raw = np.array([(7, 5, 3000, 2, 1, 1500, 20_000_000_000, 30_000_000, 1, 2),
                    (8, 4, 0, 0, 3, 4500, 0, 0, 0, 0)], BIN)  # fmt: skip
    raw.tofile(tmp_path / "raw")
    assert write_bins(tmp_path, read_bins(tmp_path / "raw", BIN_CLOCK, BIN_NS), marks=True) == 2
    table = read_back(tmp_path, "bins")
    assert {name: column[0] for name, column in table.items()} == {
        "bin_start_ns": 20_000_000, "flow": 1, "departed_bytes": 3000, "departed_packets": 2,
        "dropped_packets": 1, "dropped_bytes": 1500,
        "occupancy_bytes_mean": 2000.0,  # 2e10 byte ns over 1e7 ns
        "qdelay_mean_ns": 15_000_000.0, "marked_packets": 1, "capable_packets": 2,
    }  # fmt: skip
    assert (table["flow"][1], table["qdelay_mean_ns"][1]) == (0, None)


@pytest.mark.parametrize("batch", [7, 10**6])
def test_random_bins_are_written_exactly(tmp_path: Path, batch: int) -> None:
    raw = random_records(BIN)
    raw["flow"] = 4 + raw["flow"] % 2
    raw["bin"] >>= 1  # of a clock that began less than half of its bins ago
    raw["departed_packets"] %= 5  # some bins are without departures
    raw.tofile(tmp_path / "raw")
    bins = read_bins(tmp_path / "raw", BIN_CLOCK, BIN_NS, batch)
    assert write_bins(tmp_path, bins, marks=True) == len(raw)
    table = read_back(tmp_path, "bins")
    assert table["bin_start_ns"] == [n * BIN_NS - 50_000_000 for n in raw["bin"].tolist()]
    assert table["flow"] == [flow - 4 for flow in raw["flow"].tolist()]
    for name in ("departed_bytes", "departed_packets", "dropped_packets", "dropped_bytes"):
        assert table[name] == raw[name].tolist()
    assert table["occupancy_bytes_mean"] == (raw["occupancy_byte_ns"] / float(BIN_NS)).tolist()
    assert table["qdelay_mean_ns"] == [
        np.float64(total) / packets if packets else None
        for total, packets in zip(
            raw["qdelay_sum_ns"].tolist(), raw["departed_packets"].tolist(), strict=True
        )
    ]


@pytest.mark.parametrize("bin_ns", [10**6, 10**7, 999_999_999])
@pytest.mark.parametrize("t0", [2**48 + 3_000_000, 2**32 * 10**6 - 5, 2**60 + 1, 12])
def test_numbers_of_bins_wrap(tmp_path: Path, bin_ns: int, t0: int) -> None:
    numbers = [n for n in range(t0 // bin_ns - 3, t0 // bin_ns + 4) if n >= 0]
    raw = np.zeros(len(numbers), BIN)
    raw["bin"], raw["flow"] = [n % 2**32 for n in numbers], 4
    raw.tofile(tmp_path / "raw")
    clock = LaneClock(lane=0, first_flow=4, flows=2, t0_switch_ns=t0)
    [batch] = read_bins(tmp_path / "raw", clock, bin_ns)
    assert batch.bin_start_ns.tolist() == [n * bin_ns - t0 for n in numbers]


def test_a_foreign_bin_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "raw"
    path.write_bytes(b"\x00" * BIN.itemsize)
    with pytest.raises(TargetError, match="has a record of a flow that is not in lane 0"):
        list(read_bins(path, BIN_CLOCK, BIN_NS))
