"""The tables of targets and of evidence: they have what the data say."""

from __future__ import annotations

import json

import pytest
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.cli.targets import capability_table, evidence_table
from nashbed.controlplane.targets.evidence import EVIDENCE, Evidence
from nashbed.controlplane.targets.registry import TARGETS
from nashbed.testbeds import targets
from tests.fakes import switch as fake


def test_every_claim_says_what_it_met_and_what_stays_unproven() -> None:
    for row in EVIDENCE:
        for cell in (row.claim, row.met, row.proves, row.unproven):
            assert cell
            assert "|" not in cell
    row = Evidence(claim="it runs", met="a fake", proves="its calls", unproven="all else")
    assert evidence_table((row,)).splitlines()[2] == "| it runs | a fake | its calls | all else |"


def test_every_target_is_shipped_with_a_testbed() -> None:
    assert [each.target for each in targets()] == list(TARGETS)


def test_differences_are_told() -> None:
    head, _, row = capability_table([fake.capabilities()]).splitlines()
    cells = dict(zip(head.strip("| ").split(" | "), row.strip("| ").split(" | "), strict=True))
    assert cells["target"] == "`fake`"
    assert (cells["highest rate"], cells["largest buffer"]) == ("1gbit", "10 MB")
    assert cells["departure times"] == "as seen"


def test_the_command_shows_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["targets"]) == 0
    table, evidence = capability_table(targets()), evidence_table()
    assert capsys.readouterr().out.strip() == f"{table}\n\n{evidence}"
    assert run(["targets", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["targets"]
    assert [each["target"] for each in told] == list(TARGETS)
