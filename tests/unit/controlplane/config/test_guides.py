"""Scenarios that the documentation shows are ones that nashbed reads."""

import re
import textwrap
from pathlib import Path

import pytest
from nashbed.controlplane.config.load import parse_scenario

ROOT = Path(__file__).resolve().parents[4]
BLOCK = re.compile(r"^( *)```yaml\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
PLAIN = (ROOT / "configs" / "scenarios" / "quickstart.yaml").read_text()


def shown() -> dict[str, str]:
    """Place -> block of YAML."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {
        f"{page.relative_to(ROOT)}:{found.start()}": textwrap.dedent(found[2])
        for page in pages
        for found in BLOCK.finditer(page.read_text())
    }


SCENARIOS = {place: text for place, text in shown().items() if "\nstrategies:" in text}
PARTS = {
    place: text for place, text in shown().items() if re.match(r"(acceptance|reference):", text)
}


def test_there_are_some() -> None:
    assert len(SCENARIOS) >= 5
    assert len(PARTS) == 5


@pytest.mark.parametrize("place", SCENARIOS)
def test_a_scenario_that_is_shown_is_read(place: str) -> None:
    assert parse_scenario(SCENARIOS[place], place).model.strategies


@pytest.mark.parametrize("place", PARTS)
def test_a_part_that_is_shown_is_read_within_a_scenario(place: str) -> None:
    key = PARTS[place].partition(":")[0]
    without = re.sub(rf"(?ms)^{key}:.*?(?=^\w|\Z)", "", PLAIN)
    ten = re.sub(r"count: \d+", "count: 10", without)
    for group in set(re.findall(r"group: (\w+)", PARTS[place])):
        media = f"{{name: {group}, count: 1, base_rtt: 40ms, udp: {{rate: 1mbit, packet: 200B}}}}"
        ten = ten.replace("strategies:", f"  - {media}\nstrategies:")
    assert getattr(parse_scenario(f"{ten}\n{PARTS[place]}", place).model, key)
