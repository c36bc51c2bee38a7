"""A trial with a flow of datagrams in every format: UDP, no sequence numbers, no repetitions."""

import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.traces import Selection
from nashbed.analysis.traces.headers import Frames
from nashbed.analysis.traces.int_xd import write_int_xd
from nashbed.analysis.traces.pcapng import write_pcapng
from nashbed.analysis.traces.perfetto import write_perfetto
from nashbed.analysis.traces.qlog import DROPPED, write_qlog
from nashbed.controlplane.contract.applications import DATAGRAM_HEADERS_BYTES, UDP
from nashbed.controlplane.contract.records import KIND_DROPPED
from nashbed.controlplane.store.finished_run import open_run
from nashbed.controlplane.store.sealed_trial import open_trial
from scapy.layers import inet
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgReader
from tests.support.programs import need_program
from tests.support.synthetic_run import SCENARIO, RunWriter, write_table
from tests.support.tshark import tshark
from tests.unit.analysis.traces.test_int_xd import IntReport
from tests.unit.analysis.traces.test_perfetto import read
from tests.unit.analysis.traces.test_qlog import texts

CALL = 3
"""The flow that is one of datagrams."""


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> Selection:
    raw = {**SCENARIO, "bottleneck": {"rate": "10mbit", "buffer": "1bdp"}, "duration": "1500ms"}
    writer = RunWriter(tmp_path_factory.mktemp("datagrams") / "run", raw)
    trial = writer.add(writer.settings()[0], (2,))
    _replace_by_datagrams(trial)
    return Selection(open_run(writer.finish()).valid_trials[0])


def _replace_by_datagrams(trial: Path) -> None:
    """As a trial has them: TCP's columns are 0, and all else of a frame is UDP's payload."""
    sealed = open_trial(trial)
    cards, flows = sealed.arrays("postcards"), sealed.arrays("flows")
    mine = cards["flow"] == CALL
    payload = np.where(mine, cards["packet_bytes"] - DATAGRAM_HEADERS_BYTES, cards["payload_bytes"])
    tcp = {name: np.where(mine, 0, cards[name]) for name in ("tcp_seq", "tcp_flags")}
    write_table(trial, "postcards", cards | tcp | {"payload_bytes": payload})
    flows["cc"][flows["flow"] == CALL] = UDP
    write_table(trial, "flows", flows)


@pytest.mark.slow
def test_tshark_reads_udp_of_the_right_length(chosen: Selection, tmp_path: Path) -> None:
    need_program("tshark")
    path = tmp_path / "packets.pcapng"
    write_pcapng(chosen, path)
    cards = chosen.trial.arrays("postcards")
    fields = ["ip.proto", "ip.len", "udp.srcport", "udp.dstport", "udp.length", "frame.len",
              "_ws.malformed", "_ws.expert"]  # fmt: skip
    *rows, experts = zip(*(r for r in tshark(path, fields, None, fcs=False) if r[2]), strict=True)
    size = cards["packet_bytes"][cards["flow"] == CALL].astype(int)
    assert len(size) > 100
    expected = [("17", str(n - 14), "10003", "5201", str(n - 34), str(n), "") for n in size]
    assert list(zip(*rows, strict=True)) == expected
    assert all(expert.startswith("Expert Info (Comment/") for expert in experts)


def test_headers_of_both_kinds_in_one_batch(chosen: Selection) -> None:
    cards = chosen.trial.arrays("postcards")
    cards |= {"marks": np.zeros(len(cards["flow"]), np.uint8)}
    frames = Frames(cards, {CALL})
    for flow, kind in ((0, inet.TCP), (CALL, inet.UDP)):
        n = int(np.flatnonzero(cards["flow"] == flow)[0])
        packet = Ether(frames.frame(n))
        assert packet[kind].sport == 10_000 + flow
        assert len(frames.frame(n)) == int(cards["packet_bytes"][n] - cards["payload_bytes"][n])


@pytest.mark.slow
def test_int_reports_carry_udp(chosen: Selection, tmp_path: Path) -> None:
    path = tmp_path / "reports.pcapng"
    write_int_xd(chosen, path)
    cards = chosen.trial.arrays("postcards")
    with PcapNgReader(str(path)) as packets:
        reports = [outer[IntReport] for outer in packets]
    for n in np.flatnonzero(cards["flow"] == CALL):
        report, udp = reports[n], bytes(reports[n].payload)[20:]
        assert report.payload.proto == 17
        assert report.report_length == 2 + report.md_length + (20 + 8) // 4
        assert udp == struct.pack(">HHHH", 10_003, 5201, cards["payload_bytes"][n] + 8, 0)


def test_a_datagram_is_never_a_retransmission(chosen: Selection, tmp_path: Path) -> None:
    path = tmp_path / "trial.pftrace"
    write_perfetto(chosen, path)
    cards = chosen.trial.arrays("postcards")
    told = read(path, chosen.base_ns).instants[f"flow {CALL} (udp)", "packets"]
    dropped = int(((cards["flow"] == CALL) & (cards["kind"] == KIND_DROPPED)).sum())
    assert Counter(name for _, name, _ in told) == {"drop": dropped}
    assert dropped > 0
    assert not any("tcp_seq" in fields for *_, fields in told)


def test_qlog_says_what_the_flow_is(chosen: Selection, tmp_path: Path) -> None:
    write_qlog(chosen, tmp_path / "trial.qlog")
    head, *events = texts(tmp_path / "trial.qlog" / f"flow-{CALL}.sqlog")
    assert head["description"].startswith("A flow of UDP datagrams, without any congestion control")
    drops = [event["data"]["details"] for event in events if event["name"] == DROPPED]
    assert drops
    assert not any("tcp_seq" in details for details in drops)
    tcp, *_ = texts(tmp_path / "trial.qlog" / "flow-0.sqlog")
    assert tcp["description"].startswith("A TCP flow")
