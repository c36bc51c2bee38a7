"""The table of targets: the README has what the capability data say."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.controlplane.cli.targets import (
    BEGIN,
    END,
    capability_table,
    shipped_capabilities,
    write_into,
)
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.targets.registry import TARGETS
from tests.fakes import switch as fake

ROOT = Path(__file__).resolve().parents[4]


def test_the_readme_has_the_table_of_today() -> None:
    table = (ROOT / "README.md").read_text().partition(BEGIN)[2].partition(END)[0]
    assert table.strip() == capability_table(shipped_capabilities()), "run `make targets`"


def test_every_target_is_shipped_with_a_testbed() -> None:
    assert [each.target for each in shipped_capabilities()] == list(TARGETS)


def test_differences_are_told() -> None:
    head, _, row = capability_table([fake.capabilities()]).splitlines()
    cells = dict(zip(head.strip("| ").split(" | "), row.strip("| ").split(" | "), strict=True))
    assert cells["target"] == "`fake`"
    assert (cells["highest rate"], cells["largest buffer"]) == ("1gbit", "10 MB")
    assert cells["departure times"] == "as seen"
    assert cells["postcards"] == "all, sample"


def test_only_the_text_between_the_markers_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"a\n{BEGIN}\nold\n{END}\nb\n")
    for _ in range(2):
        write_into(path, "| new |")
        assert path.read_text() == f"a\n{BEGIN}\n| new |\n{END}\nb\n"
    path.write_text("nothing here\n")
    with pytest.raises(ConfigError, match=r"README.md: has no lines"):
        write_into(path, "| new |")
