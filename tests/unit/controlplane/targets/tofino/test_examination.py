"""`nashbed doctor --testbed`: what a reachable switch is asked, and that it is left as it was."""

import json
from copy import deepcopy
from pathlib import Path

import pytest
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.targets.tofino.client import BfRtClient
from nashbed.controlplane.targets.tofino.examination import LAST_LANE, START, examine_switch
from tests.fakes.bfrt import FakeBfRt
from tests.support.tofino import artefact, bed_text, settings

NAMES = ["server", "program", "tables", "chip", "port senders", "port receivers",
         "port telemetry", "write and undo"]  # fmt: skip


def examined(server: FakeBfRt, chip: str = "") -> dict[str, tuple[bool, str]]:
    described = settings(chip or server.chip, server.address)
    client = BfRtClient(described.grpc, 0, server.p4_name, timeout_s=60.0)
    found = examine_switch(described, artefact(chip or server.chip), client)
    assert all(finding.ok or finding.remedy for finding in found)
    return {f.name.removeprefix("switch: "): (f.ok, f.detail) for f in found}


def faults(server: FakeBfRt) -> dict[str, str]:
    return {name: detail for name, (ok, detail) in examined(server).items() if not ok}


def test_a_switch_that_is_ready(server: FakeBfRt) -> None:
    before = deepcopy(server.entries)
    found = examined(server)
    assert list(found) == NAMES
    assert all(ok for ok, _ in found.values())
    assert "286720 cells of 80 B" in found["chip"][1] or server.chip == "tofino2"
    assert found["port senders"][1].startswith("128 is not there: a run adds it")
    assert "schema 1.0.0" in found["program"][1]
    assert [done.verb for done in server.done] == ["INSERT", "DELETE"]
    assert server.entries == before


def test_what_a_killed_run_left_is_put_back(server: FakeBfRt) -> None:
    table = server.named("BottleneckEgress.limits")
    server.put(table, {"limit_cells": 7}, lane=LAST_LANE)
    stored = server.entry(table, lane=LAST_LANE)
    assert stored is not None
    stored.action = "BottleneckEgress.set_limit"
    assert faults(server) == {}
    assert [done.verb for done in server.done] == ["MODIFY", "MODIFY"]
    assert stored.data == {"limit_cells": 7}


@pytest.mark.parametrize(
    ("there", "up", "problem"),
    [
        ({"$SPEED": "BF_SPEED_25G", "$PORT_ENABLE": True}, True, ""),
        ({"$SPEED": "BF_SPEED_25G", "$PORT_ENABLE": True}, False, "136 has no link"),
        ({"$SPEED": "BF_SPEED_25G", "$PORT_ENABLE": False}, True, "136 is disabled"),
        ({"$SPEED": "BF_SPEED_10G"}, True, "136 has BF_SPEED_10G, the testbed says 25gbit"),
    ],
)
def test_ports(server: FakeBfRt, there: dict[str, object], up: bool, problem: str) -> None:
    server.put("$PORT", there, **{"$DEV_PORT": 136})
    server.link_up = up
    assert faults(server) == ({"port receivers": problem} if problem else {})


def test_a_table_that_is_missing(server: FakeBfRt) -> None:
    fixed = json.loads(server.fixed)
    name = f"{server.prefix}.tm.queue.buffer"
    fixed["tables"] = [table for table in fixed["tables"] if table["name"] != name]
    server.fixed = json.dumps(fixed).encode()
    assert faults(server) == {"tables": f"BfRt: 0 tables are called {name}"}
    assert server.done == []


def test_a_choice_that_is_missing(server: FakeBfRt) -> None:
    server.fixed = server.fixed.replace(b'"MIN_ERROR"', b'"NEAREST"')
    assert "'MIN_ERROR' is not one of UPPER, LOWER, NEAREST" in faults(server)["tables"]


def test_another_chip(server: FakeBfRt) -> None:
    server.put(f"{server.prefix}.tm.cfg", {"cell_size_bytes": 64})
    assert "cells of 64 B; " in faults(server)["chip"]


def test_a_write_that_the_switch_refuses(server: FakeBfRt) -> None:
    server.refuse = lambda verb, table: "full" if verb == "INSERT" else None
    assert "add BottleneckEgress.limits" in faults(server)["write and undo"]


def test_an_undo_that_the_switch_refuses(server: FakeBfRt) -> None:
    server.refuse = lambda verb, table: "stuck" if verb == "DELETE" else None
    assert "leaving the switch as it was found" in faults(server)["write and undo"]


def bed(tmp_path: Path, address: str, chip: str) -> str:
    path = tmp_path / "lab.yaml"
    path.write_text(bed_text(address, chip))
    return str(path)


def test_the_command(server: FakeBfRt, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bed(tmp_path, server.address, server.chip)
    assert run(["doctor", "--testbed", path]) == 0
    assert "ok      switch: write and undo" in capsys.readouterr().out
    server.link_up = False
    server.put("$PORT", {"$SPEED": "BF_SPEED_25G"}, **{"$DEV_PORT": 136})
    assert run(["doctor", "--testbed", path]) == 3
    assert "MISSING switch: port receivers: 136 has no link" in capsys.readouterr().out
    assert run(["doctor", "--testbed", path, "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_nobody_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nashbed.controlplane.targets.tofino.client.TIMEOUT_S", 0.3)
    assert run(["doctor", "--testbed", bed(tmp_path, "127.0.0.1:1", "tofino1")]) == 3
    out = capsys.readouterr().out
    assert "no BfRt server answers within 0.3 s" in out
    assert out.count("switch: ") == 1
    assert out.endswith(f"\n          {START}\n")


def test_a_testbed_without_a_switch_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--testbed", "embedded"]) == 2
    assert "target dpdk has no switch to ask" in capsys.readouterr().err
