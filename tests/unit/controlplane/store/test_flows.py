"""The table of flows: what was planned and what both sides reported, exactly."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from nashbed.controlplane.plan.flows import TrialFlow
from nashbed.controlplane.store.flows import write_flows
from tests.unit.controlplane.store.random_records import read_back

FLOWS = 50
SENDER = ("start_ns", "end_ns", "bytes_sent", "bytes_retrans", "total_retrans")
SINK = ("first_byte_ns", "last_byte_ns")


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
    sender: dict[int, dict[str, Any]] = {
        n: {"cc_applied": rng.choice(["cubic", "bbr"])} | {k: rng.randrange(2**63) for k in SENDER}
        for n in range(FLOWS)
    }
    sink: dict[int, dict[str, Any]] = {
        n: {"bytes": rng.randrange(2**63)}
        | {k: rng.choice([None, rng.randrange(2**63)]) for k in SINK}
        for n in range(FLOWS)
    }
    assert write_flows(tmp_path, flows, sender, sink) == FLOWS
    table = read_back(tmp_path, "flows")
    assert table["flow"] == list(range(FLOWS))
    for name in ("group", "group_name", "cc", "base_rtt_ns"):
        assert table[name] == [getattr(flow, name) for flow in flows]
    for name in ("cc_applied", *SENDER):
        assert table[name] == [sender[n][name] for n in range(FLOWS)]
    for name, reported in (("sink_bytes", "bytes"), *zip(SINK, SINK, strict=True)):
        assert table[name] == [sink[n][reported] for n in range(FLOWS)]


def test_times_of_flows_that_nothing_arrived_from_are_null(tmp_path: Path) -> None:
    flow = TrialFlow(0, 0, "main", "cubic", 1, "", "", 0, 0)
    sender = {0: {"cc_applied": "cubic"} | dict.fromkeys(SENDER, 1)}
    sink = {0: {"bytes": 0} | dict.fromkeys(SINK, None)}
    write_flows(tmp_path, (flow,), sender, sink)
    table = read_back(tmp_path, "flows")
    assert (table["first_byte_ns"], table["last_byte_ns"]) == ([None], [None])
