"""qlog files: valid by the drafts' schema, as cddl-verifier judges, and equal to the tables."""

import json
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cddl_verifier import Validator
from nashbed.analysis.traces import Selection
from nashbed.analysis.traces.qlog import DROPPED, ECN_STATE, MARKED, METRICS, STATE, write_qlog
from nashbed.controlplane.contract.records import KIND_DROPPED, MARK_CAPABLE, MARK_CE
from nashbed.controlplane.contract.shared import DROP_REASONS

SCHEMA = Validator(Path(__file__).with_name("qlog.cddl"))
ROOTS = {"": "LogFileSeq", METRICS: "MetricsEvent", STATE: "StateEvent", DROPPED: "DroppedEvent",
         ECN_STATE: "EcnStateEvent", MARKED: "DatagramsEvent"}  # fmt: skip
"""Name of an event, empty: the head -> its type."""


def texts(path: Path) -> list[dict[str, Any]]:
    """The JSON texts of a sequence, by RFC 7464: each begins with RS and ends with LF."""
    begin, *parts = path.read_text(encoding="utf-8").split("\x1e")
    assert begin == ""
    assert all(part.endswith("\n") and part.count("\n") == 1 for part in parts)
    return [json.loads(part) for part in parts]


def problems(event: dict[str, Any]) -> list[str]:
    result = SCHEMA.validate(event, root_type=ROOTS[event.get("name", "")])
    assert result.valid == (not result.diagnostics)
    return [f"{each.path_text}: {each.message}" for each in result.diagnostics]


@pytest.fixture(scope="module", params=["whole", "with_bins"])
def exported(request, tmp_path_factory) -> tuple[Selection, Path]:
    chosen = request.getfixturevalue(request.param)
    path = tmp_path_factory.mktemp("qlog") / "trial.qlog"
    counts = write_qlog(chosen, path)
    lines = sum(len(texts(file)) for file in path.iterdir())
    assert counts == {"flows": len(chosen.control), "events": lines - len(chosen.control)}
    return chosen, path


def test_every_text_is_valid(exported: tuple[Selection, Path]) -> None:
    chosen, path = exported
    assert {file.name for file in path.iterdir()} == {f"flow-{n}.sqlog" for n in chosen.control}
    for file in path.iterdir():
        head, *events = texts(file)
        assert problems(head) == []
        assert '"file_schema"' in file.read_text()[:256]
        assert '"serialization_format"' in file.read_text()[:256]
        for event in events:
            assert problems(event) == []


@pytest.mark.parametrize(("event", "key", "wrong"), [
    (METRICS, "congestion_window", -1), (METRICS, "min_rtt", "20ms"), (METRICS, "cwnd", 3),
    (STATE, "new", 1), (DROPPED, "trigger", "bottleneck"), (ECN_STATE, "new", "marked"),
    (MARKED, "ecn", ["ECT"]), (MARKED, "ecn", "CE"), (MARKED, "marks", 1),
])  # fmt: skip
def test_the_validator_refuses_what_is_wrong(event: str, key: str, wrong: Any) -> None:
    needed = {STATE: {"new": "x"}, ECN_STATE: {"new": "capable"}}.get(event, {})
    assert not problems({"time": 1.0, "name": event, "data": needed})
    data = needed | {key: wrong}
    assert problems({"time": 1.0, "name": event, "data": data})


def test_metrics_are_the_samples(exported: tuple[Selection, Path]) -> None:
    """Adding the changes up gives each sample again."""
    chosen, path = exported
    samples = chosen.trial.arrays("flow_samples")
    for flow in chosen.control:
        mine = np.flatnonzero(samples["flow"] == flow)
        at = {round(samples["t_ns"][n] / 1e6, 6): n for n in mine}
        now: dict[str, float] = {}
        seen = dict.fromkeys(at, False)
        changes = {e["time"]: e["data"] for e in texts(path / f"flow-{flow}.sqlog")[1:]
                   if e["name"] == METRICS}  # fmt: skip
        for time, n in at.items():
            now |= changes.get(time, {})
            seen[time] = True
            assert now["congestion_window"] == int(samples["cwnd_pkts"][n]) * int(samples["mss"][n])
            assert now["bytes_in_flight"] == samples["inflight_bytes"][n]
            assert now["smoothed_rtt"] == samples["srtt_us"][n] / 1e3
        assert set(changes) <= set(seen)


def test_drops_are_those_of_the_postcards(whole: Selection, tmp_path: Path) -> None:
    write_qlog(whole, tmp_path / "q")
    cards = whole.trial.arrays("postcards")
    for flow in whole.control:
        lost = np.flatnonzero((cards["kind"] == KIND_DROPPED) & (cards["flow"] == flow))
        events = texts(tmp_path / "q" / f"flow-{flow}.sqlog")[1:]
        found = [e for e in events if e["name"] == DROPPED]
        assert len(found) > 0
        assert [round(e["time"] * 1e6) for e in found] == cards["dequeue_ns"][lost].tolist()
        details = [e["data"]["details"] for e in found]
        assert [d["tcp_seq"] for d in details] == cards["tcp_seq"][lost].tolist()
        assert [d["queue_bytes"] for d in details] == cards["queue_bytes"][lost].tolist()
        assert [d["reason"] for d in details] == [
            DROP_REASONS[m & 15] for m in cards["marks"][lost]
        ]
        times = [e["time"] for e in events]
        assert times == sorted(times)


def test_marks_are_those_of_the_postcards(whole: Selection, tmp_path: Path) -> None:
    """CE of each marked packet when it left; the ECN state once, of a flow that is capable."""
    write_qlog(whole, tmp_path / "q")
    cards = whole.trial.arrays("postcards")
    left = cards["kind"] != KIND_DROPPED
    for flow in whole.control:
        mine = left & (cards["flow"] == flow)
        marked = np.flatnonzero(mine & (cards["marks"] & MARK_CE != 0))
        capable = np.flatnonzero(mine & (cards["marks"] & MARK_CAPABLE != 0))[:1]
        assert (len(marked) > 0) == (len(capable) > 0) == (flow >= 2)
        events = texts(tmp_path / "q" / f"flow-{flow}.sqlog")[1:]
        found = [e for e in events if e["name"] == MARKED]
        assert [round(e["time"] * 1e6) for e in found] == cards["dequeue_ns"][marked].tolist()
        assert all(e["data"]["ecn"] == ["CE"] for e in found)
        sizes = [e["data"]["raw"][0]["length"] for e in found]
        assert sizes == cards["packet_bytes"][marked].tolist()
        states = [(round(e["time"] * 1e6), e["data"]) for e in events if e["name"] == ECN_STATE]
        assert states == [(t, {"new": "capable"}) for t in cards["dequeue_ns"][capable].tolist()]


def test_without_marks_nothing_is_said_of_ecn(unmarked: Selection, tmp_path: Path) -> None:
    write_qlog(unmarked, tmp_path / "q")
    names = {e.get("name") for file in (tmp_path / "q").iterdir() for e in texts(file)}
    assert DROPPED in names
    assert not names & {ECN_STATE, MARKED}


def test_the_head_names_the_flow_and_the_moment(with_bins: Selection, tmp_path: Path) -> None:
    write_qlog(with_bins, tmp_path / "q")
    head = texts(tmp_path / "q" / "flow-1.sqlog")[0]
    assert head["trace"]["title"] == "flow 1 (bbr)"
    assert "no drops" in head["description"]
    wall = head["trace"]["common_fields"]["reference_time"]["wall_clock_time"]
    assert datetime.fromisoformat(wall).timestamp() * 10**9 == with_bins.base_ns


def test_states_follow_one_another(with_bins: Selection, tmp_path: Path) -> None:
    write_qlog(with_bins, tmp_path / "q")
    for flow, control in with_bins.control.items():
        events = texts(tmp_path / "q" / f"flow-{flow}.sqlog")[1:]
        states = [e["data"] for e in events if e["name"] == STATE]
        assert "old" not in states[0]
        assert all(b["old"] == a["new"] != b["new"] for a, b in pairwise(states))
        names = {state["new"] for state in states}
        assert any(name.startswith("ProbeBW") for name in names) == (control == "bbr")
