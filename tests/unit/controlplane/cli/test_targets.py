"""The table of targets: the README has what the capability data say."""

from __future__ import annotations

from pathlib import Path

from nashbed.controlplane.cli.documents import filled
from nashbed.controlplane.cli.targets import MARKERS, capability_table, shipped_capabilities
from nashbed.controlplane.targets.registry import TARGETS
from tests.fakes import switch as fake

ROOT = Path(__file__).resolve().parents[4]


def test_the_readme_has_the_table_of_today() -> None:
    text, table = (ROOT / "README.md").read_text(), capability_table(shipped_capabilities())
    assert table in text, "run `make targets`"
    assert filled(text, MARKERS, lambda _: table) == text


def test_every_target_is_shipped_with_a_testbed() -> None:
    assert [each.target for each in shipped_capabilities()] == list(TARGETS)


def test_differences_are_told() -> None:
    head, _, row = capability_table([fake.capabilities()]).splitlines()
    cells = dict(zip(head.strip("| ").split(" | "), row.strip("| ").split(" | "), strict=True))
    assert cells["target"] == "`fake`"
    assert (cells["highest rate"], cells["largest buffer"]) == ("1gbit", "10 MB")
    assert cells["departure times"] == "as seen"
    assert cells["postcards"] == "all, sample"
