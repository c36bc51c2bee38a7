"""Raw files of the data plane and of the flow generator: whole records, times across the wrap."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.contract.errors import HostError, TargetError
from nashbed.controlplane.contract.records import BIN, GOODPUT, POSTCARD
from nashbed.controlplane.store.raw_files import (
    read_generator_file,
    read_telemetry,
    relative_u48,
)


@pytest.mark.parametrize("batch", [1, 3, 10, 1000])
def test_batches_are_the_file(tmp_path: Path, batch: int) -> None:
    records = np.frombuffer(np.random.default_rng(1).bytes(10 * BIN.itemsize), BIN)
    records.tofile(tmp_path / "raw")
    batches = list(read_telemetry(tmp_path / "raw", BIN, batch))
    assert [len(b) for b in batches[:-1]] == [batch] * (len(batches) - 1)
    assert np.concatenate(batches).tobytes() == records.tobytes()


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    (tmp_path / "raw").touch()
    assert list(read_telemetry(tmp_path / "raw", BIN)) == []
    assert len(read_generator_file(tmp_path / "raw", GOODPUT)) == 0


def test_missing_and_cut_off_files(tmp_path: Path) -> None:
    path = tmp_path / "raw"
    with pytest.raises(TargetError, match="raw: the data plane did not write this file"):
        list(read_telemetry(path, BIN))
    with pytest.raises(HostError, match="raw: the flow generator did not write this file"):
        read_generator_file(path, GOODPUT)
    path.write_bytes(b"\x00" * 25)
    with pytest.raises(TargetError, match=r"ends in the middle of a record \(25 bytes\)"):
        list(read_telemetry(path, BIN))
    with pytest.raises(HostError, match=r"ends in the middle of a record \(25 bytes\)"):
        read_generator_file(path, GOODPUT)


@given(st.integers(0, 2**60), st.lists(st.integers(-(2**46), 2**46), min_size=1, max_size=20))
def test_times_are_right_across_the_wrap(origin: int, distances: list[int]) -> None:
    absolute = np.array([(origin + d) % 2**48 for d in distances], np.int64)
    found = relative_u48(absolute >> 32, absolute & 0xFFFFFFFF, origin)
    assert found.tolist() == distances


def test_the_record_is_forty_bytes_big_endian() -> None:
    # version 1, departed, lane 2, flow 3, 1514 bytes, queue 5, enqueue 6, dequeue 7, seq 8,
    # number 9, payload 10, flags 0x12
    text = "0100000200000003000005ea00000005000000000006000000000007"
    text += "0000000800000009000a1200"
    (card,) = np.frombuffer(bytes.fromhex(text), POSTCARD)
    assert card.tolist() == (1, 0, 2, 3, 1514, 5, 0, 6, 0, 7, 8, 9, 10, 0x12, 0)
