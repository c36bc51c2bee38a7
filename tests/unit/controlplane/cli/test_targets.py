"""The tables of targets and of evidence: the README has what the data say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nashbed.controlplane.cli.documents import filled
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.cli.targets import (
    EVIDENCE_MARKERS,
    MARKERS,
    capability_table,
    evidence_table,
    shipped_capabilities,
)
from nashbed.controlplane.targets.evidence import EVIDENCE, Evidence
from nashbed.controlplane.targets.registry import TARGETS
from tests.fakes import switch as fake

ROOT = Path(__file__).resolve().parents[4]


def test_the_readme_has_the_table_of_today() -> None:
    text, table = (ROOT / "README.md").read_text(), capability_table(shipped_capabilities())
    assert table in text, "run `make targets`"
    assert filled(text, MARKERS, lambda _: table) == text


def test_the_readme_has_the_evidence_of_today() -> None:
    text, table = (ROOT / "README.md").read_text(), evidence_table()
    assert table in text, "run `make targets`"
    assert filled(text, EVIDENCE_MARKERS, lambda _: table) == text


def test_every_claim_says_what_it_met_and_what_stays_unproven() -> None:
    for row in EVIDENCE:
        for cell in (row.claim, row.met, row.proves, row.unproven):
            assert cell
            assert "|" not in cell
    row = Evidence(claim="it runs", met="a fake", proves="its calls", unproven="all else")
    assert evidence_table((row,)).splitlines()[2] == "| it runs | a fake | its calls | all else |"


def test_every_target_is_shipped_with_a_testbed() -> None:
    assert [each.target for each in shipped_capabilities()] == list(TARGETS)


def test_differences_are_told() -> None:
    head, _, row = capability_table([fake.capabilities()]).splitlines()
    cells = dict(zip(head.strip("| ").split(" | "), row.strip("| ").split(" | "), strict=True))
    assert cells["target"] == "`fake`"
    assert (cells["highest rate"], cells["largest buffer"]) == ("1gbit", "10 MB")
    assert cells["departure times"] == "as seen"
    assert cells["postcards"] == "all, sample"


def test_the_command_shows_and_writes_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    lines = ["before", MARKERS.begin, "old", MARKERS.end, "between"]
    lines += [EVIDENCE_MARKERS.begin, "old", EVIDENCE_MARKERS.end, "after", ""]
    page.write_text("\n".join(lines))
    assert run(["targets", "--into", str(page)]) == 0
    table, evidence = capability_table(shipped_capabilities()), evidence_table()
    assert capsys.readouterr().out.strip() == f"{table}\n\n{evidence}"
    lines[2], lines[6] = table, evidence
    assert page.read_text() == "\n".join(lines)
    assert run(["targets", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["targets"]
    assert [each["target"] for each in told] == list(TARGETS)
