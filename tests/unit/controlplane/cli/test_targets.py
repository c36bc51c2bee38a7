"""The tables of targets and of evidence: they have what the data say."""

import json

import pytest
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.cli.targets import capability_rows, evidence_text
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
    assert evidence_text((row,)).splitlines() == [
        "it runs", "  nearest real thing it has met: a fake", "  what that proves: its calls",
        "  what stays unproven: all else",
    ]  # fmt: skip


def test_every_target_is_shipped_with_a_testbed() -> None:
    assert [each.target for each in targets()] == list(TARGETS)


def test_differences_are_told() -> None:
    cells = dict(capability_rows([fake.capabilities()]))
    assert cells["target"] == "fake"
    assert (cells["highest rate"], cells["largest buffer"]) == ("1gbit", "10 MB")
    assert cells["departure times"] == "as seen"


def test_what_a_tofino_can_for_one_bottleneck() -> None:
    (_, *names), *rows = capability_rows(targets())
    cells = {what: dict(zip(names, told, strict=True)) for what, *told in rows}
    assert cells["several queues"]["bmv2"] == "no"
    assert cells["several queues"]["tofino"] == (
        "up to 7: drr, strict_priority, complete_sharing, complete_partitioning, static, "
        "dynamic_threshold; one bottleneck has the port alone (capacity.lanes: 1)"
    )


def test_the_command_shows_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["targets"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 100
    assert "several queues\n  dpdk, virtual: up to 8: drr, strict_priority, complete_sh" in out
    assert "\ntime\n  dpdk, bmv2, tofino: real\n  virtual: virtual\n" in out
    assert out.endswith(f"\n\n{evidence_text()}\n")
    assert run(["targets", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["targets"]
    assert [each["target"] for each in told] == list(TARGETS)
