"""The tables of a trial: raw records in, Parquet out."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.contract.errors import HostError, TargetError
from nashbed.controlplane.contract.messages.dataplane import FlowRegisters
from nashbed.controlplane.contract.messages.flows import SenderFlowReport, SinkFlowReport
from nashbed.controlplane.contract.records import DISTURBANCE, FLOW_SAMPLE, GOODPUT, PAUSE
from nashbed.controlplane.plan.attempt import TrialFlow
from nashbed.controlplane.store.tables import (
    DISTURBANCES,
    PAUSES,
    TABLES,
    read_disturbances,
    read_flow_samples,
    read_goodput,
    write_counters,
    write_disturbances,
    write_flow_samples,
    write_flows,
    write_goodput,
)
from tests.unit.controlplane.store.random_records import random_records, read_back

FLOWS = 50
SENDER = ("start_ns", "end_ns", "bytes_sent", "bytes_retrans", "total_retrans")
SINK = ("first_byte_ns", "last_byte_ns")
GOLDEN = Path(__file__).resolve().parents[3] / "flows" / "golden"
GAINS = ("bbr_pacing_gain", "bbr_cwnd_gain")
T0_NS = 1000


def sent(**reported: Any) -> SenderFlowReport:
    others = {"bytes_acked": 0, "notsent_bytes": 0, "min_rtt_us": None, "error": None}
    return SenderFlowReport(flow=0, connect_ns=None, handshake_ns=1, **others, **reported)


def read(size: int, **reported: Any) -> SinkFlowReport:
    return SinkFlowReport(flow=0, bytes=size, closed="fin", error=None, **reported)


def test_random_flows_are_written_exactly(tmp_path: Path) -> None:
    rng = random.Random(1)
    flows = tuple(
        TrialFlow(
            index=index, group=rng.randrange(4), group_name=f"group {rng.randrange(4)}",
            cc=rng.choice(["cubic", "bbr"]), base_rtt_ns=rng.randrange(2**40), src="", dst="",
            sport=0, start_ns=0,
        )
        for index in range(FLOWS)
    )  # fmt: skip
    sender = [
        sent(cc_applied=rng.choice(["cubic", "bbr"]), **{k: rng.randrange(2**63) for k in SENDER})
        for _ in range(FLOWS)
    ]
    sink = [
        read(rng.randrange(2**63), **{k: rng.choice([None, rng.randrange(2**63)]) for k in SINK})
        for _ in range(FLOWS)
    ]
    assert write_flows(tmp_path, flows, sender, sink) == FLOWS
    table = read_back(tmp_path, "flows")
    assert table["flow"] == list(range(FLOWS))
    for name in ("group", "group_name", "cc", "base_rtt_ns"):
        assert table[name] == [getattr(flow, name) for flow in flows]
    for name in ("cc_applied", *SENDER):
        assert table[name] == [getattr(report, name) for report in sender]
    for name, reported in (("sink_bytes", "bytes"), *zip(SINK, SINK, strict=True)):
        assert table[name] == [getattr(report, reported) for report in sink]


def test_times_of_flows_that_nothing_arrived_from_are_null(tmp_path: Path) -> None:
    flow = TrialFlow(0, 0, "main", "cubic", 1, "", "", 0, 0)
    sender = sent(cc_applied="cubic", **dict.fromkeys(SENDER, 1))
    sink = read(0, **dict.fromkeys(SINK, None))
    write_flows(tmp_path, (flow,), [sender], [sink])
    table = read_back(tmp_path, "flows")
    assert (table["first_byte_ns"], table["last_byte_ns"]) == ([None], [None])


def test_golden_samples_of_the_c_sender(tmp_path: Path) -> None:
    rows = write_flow_samples(tmp_path, [read_flow_samples(GOLDEN / "flow_samples.bin", T0_NS)])
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
    assert write_flow_samples(tmp_path, [read_flow_samples(tmp_path / "raw", T0_NS)]) == len(raw)
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


def test_golden_goodput_of_the_c_sink(tmp_path: Path) -> None:
    write_goodput(tmp_path, [read_goodput(GOLDEN / "goodput.bin", t0_ns=0)])
    golden = json.loads((GOLDEN / "golden.json").read_text())["goodput.bin"]
    keys = ("t_ns", "flow", "bytes")
    assert read_back(tmp_path, "goodput") == {key: [g[key] for g in golden] for key in keys}


def test_random_goodput_is_written_exactly(tmp_path: Path) -> None:
    raw = random_records(GOODPUT)
    raw["t_ns"] >>= 1  # far from the limit of what 64 bits hold
    raw.tofile(tmp_path / "raw")
    assert write_goodput(tmp_path, [read_goodput(tmp_path / "raw", t0_ns=1000)]) == len(raw)
    assert read_back(tmp_path, "goodput") == {
        "t_ns": [time - 1000 for time in raw["t_ns"].tolist()],
        "flow": raw["flow"].tolist(),
        "bytes": raw["bytes"].tolist(),
    }


def test_missing_and_cut_off_goodput(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="the flow generator did not write this file"):
        read_goodput(tmp_path / "goodput.bin", 0)
    (tmp_path / "goodput.bin").write_bytes(b"\x00" * 25)
    with pytest.raises(HostError, match="ends in the middle of a record"):
        read_goodput(tmp_path / "goodput.bin", 0)


def test_random_counters_are_written_exactly(tmp_path: Path) -> None:
    rng = random.Random(1)
    names = [name for name in TABLES["counters"].names if name != "flow"]
    registers = {
        name: [2**64 - 1, *(rng.randrange(2**64) for _ in range(1, FLOWS))] for name in names
    }
    counted = FlowRegisters.model_validate(registers)
    assert write_counters(tmp_path, counted, marks=True) == FLOWS
    assert read_back(tmp_path, "counters") == {"flow": list(range(FLOWS)), **registers}


def test_times_are_after_t0_and_every_column_is_kept(tmp_path: Path) -> None:
    raw = np.zeros(2, DISTURBANCE)
    for place, name in enumerate(DISTURBANCES.schema.names):
        raw[name] = [1000 + place, 2000 + place]
    raw.tofile(tmp_path / "disturbances.bin")
    (tmp_path / "pauses.bin").touch()
    assert write_disturbances(tmp_path, [read_disturbances(tmp_path, 1500)]) == 2
    columns = pq.read_table(tmp_path / "disturbances.parquet").to_pydict()
    assert list(columns) == DISTURBANCES.schema.names
    assert columns.pop("t_ns") == [-500, 500]
    assert list(columns.values()) == [[1000 + n, 2000 + n] for n in range(1, len(columns) + 1)]


def test_pauses_are_kept(tmp_path: Path) -> None:
    np.array([(10**15 + 5, 2**40), (10**15 + 7, 3)], PAUSE).tofile(tmp_path / "pauses.bin")
    (tmp_path / "disturbances.bin").touch()
    assert write_disturbances(tmp_path, [read_disturbances(tmp_path, 10**15)]) == 2
    assert pq.read_table(tmp_path / "pauses.parquet").to_pydict() == {
        "t_ns": [5, 7], "length_ns": [2**40, 3],
    }  # fmt: skip


def test_a_trial_without_pauses_has_an_empty_table(tmp_path: Path) -> None:
    for name in ("pauses.bin", "disturbances.bin"):
        (tmp_path / name).touch()
    assert write_disturbances(tmp_path, [read_disturbances(tmp_path, 0)]) == 0
    assert pq.read_schema(PAUSES.path(tmp_path)).names == ["t_ns", "length_ns"]


def test_a_file_that_is_missing_or_cut_off_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="did not write this file"):
        read_disturbances(tmp_path, 0)
    (tmp_path / "disturbances.bin").touch()
    (tmp_path / "pauses.bin").write_bytes(bytes(17))
    with pytest.raises(TargetError, match=r"pauses\.bin: ends in the middle of a record"):
        read_disturbances(tmp_path, 0)
