"""The table of flows: what was planned and what both sides reported, exactly."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.messages import SenderFlowReport, SinkFlowReport
from nashbed.controlplane.plan.attempt import TrialFlow
from nashbed.controlplane.store.tables import write_flows
from tests.unit.controlplane.store.random_records import read_back

FLOWS = 50
SENDER = ("start_ns", "end_ns", "bytes_sent", "bytes_retrans", "total_retrans")
SINK = ("first_byte_ns", "last_byte_ns")


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
