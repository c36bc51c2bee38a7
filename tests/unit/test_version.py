"""One version, wherever it is written; formats of run directories have numbers of their own."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
CITATION = YAML(typ="safe").load(ROOT / "CITATION.cff")
PLACES = {
    "hosts/meson.build": r"^  version: '(.*)',$",
    "analysis/models/fluid/core/meson.build": r"^  version: '(.*)',$",
    "CONTRIBUTING.md": r"`git tag -s v(\S+) -m",
}


def test_it_is_semantic() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)


@pytest.mark.parametrize("place", PLACES)
def test_it_is_the_same(place: str) -> None:
    assert re.findall(PLACES[place], (ROOT / place).read_text(), re.MULTILINE) == [VERSION]


def test_it_is_cited_with_the_date_of_its_changes() -> None:
    """What is not released yet may stand above."""
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert released[0] == f"{CITATION['version']} - {CITATION['date-released']}"
    assert CITATION["version"] == VERSION


def test_the_environment_has_it() -> None:
    """A run's manifest names the version that is installed."""
    assert version("nashbed") == VERSION, "run `make venv`"
