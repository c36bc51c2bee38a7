"""TCP_INFO samples: the C sender's golden bytes, and random records exactly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.contract.records import FLOW_SAMPLE
from nashbed.controlplane.store.tables import read_flow_samples, write_flow_samples
from tests.unit.controlplane.store.random_records import random_records, read_back

GOLDEN = Path(__file__).resolve().parents[3] / "flows" / "golden"
GAINS = ("bbr_pacing_gain", "bbr_cwnd_gain")
T0_NS = 1000


def test_golden_samples_of_the_c_sender(tmp_path: Path) -> None:
    rows = write_flow_samples(tmp_path, read_flow_samples(GOLDEN / "flow_samples.bin", T0_NS))
    table = read_back(tmp_path, "flow_samples")
    golden = json.loads((GOLDEN / "golden.json").read_text())["flow_samples.bin"]
    assert rows == len(golden)
    for row, sample in enumerate(golden):
        assert table["t_ns"][row] == sample["t_ns"] - T0_NS
        assert table["bytes_sent"][row] == sample["bytes_sent"]
        gain = sample["bbr_pacing_gain"] / 256 if sample["has_bbr"] else None
        assert table["bbr_pacing_gain"][row] == gain
        assert (table["bbr_bw_bps"][row] is None) == (sample["has_bbr"] == 0)


def test_random_samples_are_written_exactly(tmp_path: Path) -> None:
    raw = random_records(FLOW_SAMPLE)
    raw["has_bbr"] %= 2
    raw["bbr_mode"][::3] = 0
    raw["t_ns"] >>= 1  # far from the limit of what 64 bits hold
    raw.tofile(tmp_path / "raw")
    assert write_flow_samples(tmp_path, read_flow_samples(tmp_path / "raw", T0_NS)) == len(raw)
    table = read_back(tmp_path, "flow_samples")
    has_bbr = raw["has_bbr"].tolist()
    for name in FLOW_SAMPLE.names or ():
        expected = raw[name].tolist()
        if name == "t_ns":
            expected = [time - T0_NS for time in expected]
        elif name in GAINS:
            expected = [value / 256 for value in expected]
        if name.startswith("bbr_"):
            expected = [v if has else None for v, has in zip(expected, has_bbr, strict=True)]
        if name == "bbr_mode":
            expected = [value or None for value in expected]
        assert table[name] == expected, name


def test_missing_and_cut_off_files(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="the flow generator did not write this file"):
        read_flow_samples(tmp_path / "raw", 0)
    (tmp_path / "raw").write_bytes(b"\x00" * 177)
    with pytest.raises(HostError, match="ends in the middle of a record"):
        read_flow_samples(tmp_path / "raw", 0)
