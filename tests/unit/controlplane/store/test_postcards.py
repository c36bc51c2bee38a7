"""Postcards: from raw records to the table, exactly; records that are not this lane's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nashbed.controlplane.contract.errors import TargetError
from nashbed.controlplane.contract.records import POSTCARD, join_u48
from nashbed.controlplane.store.postcards import read_postcards, write_postcards
from nashbed.controlplane.store.raw_files import LaneClock
from numpy.typing import NDArray
from tests.unit.controlplane.store.random_records import random_records, read_back

CLOCK = LaneClock(lane=3, first_flow=100, flows=4, t0_switch_ns=10**9)
SAME = ("packet_bytes", "payload_bytes", "tcp_seq", "tcp_flags", "queue_bytes")


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
    assert write_postcards(tmp_path, batches) == len(raw)
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


def test_no_postcards_are_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "raw").touch()
    assert write_postcards(tmp_path, read_postcards(tmp_path / "raw", CLOCK)) == 0
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


def test_a_cut_off_file_is_refused(tmp_path: Path, raw: NDArray[np.void]) -> None:
    (tmp_path / "raw").write_bytes(raw.tobytes()[:-1])
    with pytest.raises(TargetError, match="ends in the middle of a record"):
        list(read_postcards(tmp_path / "raw", CLOCK))
    with pytest.raises(TargetError, match="the data plane did not write this file"):
        list(read_postcards(tmp_path / "none", CLOCK))
