"""Raw files -> tables: golden C bytes, bins by hand, the replay's conversion."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.contract.errors import HostError, TargetError
from nashbed.controlplane.contract.records import BIN
from nashbed.controlplane.store.raw_records import LaneClock
from nashbed.controlplane.store.tables import TABLES
from nashbed.controlplane.store.trial_tables import (
    collect_bins,
    collect_counters,
    collect_flow_samples,
    collect_goodput,
)

GOLDEN = Path(__file__).resolve().parents[3] / "flows" / "golden"


def test_golden_samples_of_the_c_sender(tmp_path: Path) -> None:
    collect_flow_samples(GOLDEN / "flow_samples.bin", tmp_path, t0_ns=1000)
    rows = pq.read_table(tmp_path / "flow_samples.parquet").to_pylist()
    wanted = json.loads((GOLDEN / "golden.json").read_text())["flow_samples.bin"]
    assert len(rows) == len(wanted)
    for row, want in zip(rows, wanted, strict=True):
        assert row["t_ns"] == want["t_ns"] - 1000
        assert row["bytes_sent"] == want["bytes_sent"]
        gain = want["bbr_pacing_gain"] / 256 if want["has_bbr"] else None
        assert row["bbr_pacing_gain"] == gain
        assert (row["bbr_bw_bps"] is None) == (want["has_bbr"] == 0)


def test_golden_goodput_of_the_c_sink(tmp_path: Path) -> None:
    collect_goodput(GOLDEN / "goodput.bin", tmp_path, t0_ns=0)
    rows = pq.read_table(tmp_path / "goodput.parquet").to_pylist()
    wanted = json.loads((GOLDEN / "golden.json").read_text())["goodput.bin"]
    keys = ("t_ns", "flow", "bytes")
    assert rows == [{key: want[key] for key in keys} for want in wanted]


def test_bins_by_hand(tmp_path: Path) -> None:
    # 10 ms bins; flow 5 of lane base 4 is the lane's flow 1. Bin 7 begins at 70 ms.
    raw = np.array([(7, 5, 3000, 2, 1, 1500, 20_000_000_000, 30_000_000),
                    (8, 4, 0, 0, 3, 4500, 0, 0)], BIN)  # fmt: skip
    raw.tofile(tmp_path / "raw")
    clock = LaneClock(lane=0, first_flow=4, flows=2, t0_switch_ns=50_000_000)
    assert collect_bins(tmp_path / "raw", tmp_path, clock, 10**7, lambda b: None) == 2
    first, second = pq.read_table(tmp_path / "bins.parquet").to_pylist()
    assert first == {
        "bin_start_ns": 20_000_000, "flow": 1, "departed_bytes": 3000, "departed_packets": 2,
        "dropped_packets": 1, "dropped_bytes": 1500,
        "occupancy_bytes_mean": 2000.0,  # 2e10 byte ns over 1e7 ns
        "qdelay_mean_ns": 15_000_000.0,
    }  # fmt: skip
    assert (second["flow"], second["qdelay_mean_ns"]) == (0, None)


def test_counters(tmp_path: Path) -> None:
    names = [name for name in TABLES["counters"].names if name != "flow"]
    collect_counters(tmp_path, {name: [1, 2**63] for name in names})
    table = pq.read_table(tmp_path / "counters.parquet")
    assert table.schema.equals(TABLES["counters"])
    assert table["arrived_bytes"].to_pylist() == [1, 2**63]


def test_missing_and_cut_off_files(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="wrote no such file"):
        collect_goodput(tmp_path / "goodput.bin", tmp_path, 0)
    (tmp_path / "goodput.bin").write_bytes(b"\x00" * 25)
    with pytest.raises(HostError, match="ends in the middle of a record"):
        collect_goodput(tmp_path / "goodput.bin", tmp_path, 0)
    (tmp_path / "raw").write_bytes(b"\x00" * 49)
    with pytest.raises(TargetError, match="ends in the middle of a record"):
        collect_bins(tmp_path / "raw", tmp_path, LaneClock(0, 0, 1, 0), 10**7, lambda b: None)
