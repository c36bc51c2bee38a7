"""Tables in documents: made anew between their markers, and nothing else is touched."""

from pathlib import Path

import pytest
from nashbed.controlplane.cli.documents import Markers, write_tables
from nashbed.controlplane.contract.errors import ConfigError, HostError

MARKERS = Markers(r"<!-- about (?P<what>\w+) -->", "<!-- end -->")


def test_each_table_is_made_by_its_own_marker(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(
        "a\n<!-- about x -->\nold\n\n<!-- end -->\nb\n<!-- about y -->\n<!-- end -->\nc"
    )
    for _ in range(2):
        write_tables(path, MARKERS, lambda marker: f"| {marker['what']} |\n")
        assert path.read_text() == (
            "a\n<!-- about x -->\n| x |\n<!-- end -->\nb\n<!-- about y -->\n| y |\n<!-- end -->\nc"
        )


def test_a_document_without_markers_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    for text in (
        "nothing here\n",
        "<!-- about x -->\nno end\n",
        "`<!-- about x -->`\n<!-- end -->\n",
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=r"README.md: has no lines"):
            write_tables(path, MARKERS, lambda _: "| new |")
        assert path.read_text() == text


def test_a_document_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"none.md: No such file"):
        write_tables(tmp_path / "none.md", MARKERS, lambda _: "")
