"""Goodput: the C sink's golden bytes, and random records exactly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.contract.records import GOODPUT
from nashbed.controlplane.store.tables import read_goodput, write_goodput
from tests.unit.controlplane.store.random_records import random_records, read_back

GOLDEN = Path(__file__).resolve().parents[3] / "flows" / "golden"


def test_golden_goodput_of_the_c_sink(tmp_path: Path) -> None:
    write_goodput(tmp_path, read_goodput(GOLDEN / "goodput.bin", t0_ns=0))
    golden = json.loads((GOLDEN / "golden.json").read_text())["goodput.bin"]
    keys = ("t_ns", "flow", "bytes")
    assert read_back(tmp_path, "goodput") == {key: [g[key] for g in golden] for key in keys}


def test_random_goodput_is_written_exactly(tmp_path: Path) -> None:
    raw = random_records(GOODPUT)
    raw["t_ns"] >>= 1  # far from the limit of what 64 bits hold
    raw.tofile(tmp_path / "raw")
    assert write_goodput(tmp_path, read_goodput(tmp_path / "raw", t0_ns=1000)) == len(raw)
    assert read_back(tmp_path, "goodput") == {
        "t_ns": [time - 1000 for time in raw["t_ns"].tolist()],
        "flow": raw["flow"].tolist(),
        "bytes": raw["bytes"].tolist(),
    }


def test_missing_and_cut_off_files(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="the flow generator did not write this file"):
        read_goodput(tmp_path / "goodput.bin", 0)
    (tmp_path / "goodput.bin").write_bytes(b"\x00" * 25)
    with pytest.raises(HostError, match="ends in the middle of a record"):
        read_goodput(tmp_path / "goodput.bin", 0)
