"""The RTL synthesises: no latch, no undriven wire, and about the cells that the README tells."""

import re
import subprocess

import pytest
from tests.rtl.script import FPGA, load_script
from tests.support.programs import needs_program


def counts_in_readme(width: int, yosys: str) -> dict[str, int]:
    """The table of hosts/fpga/README.md, of this Yosys; skips where it has no column."""
    size = (FPGA / "README.md").read_text().split("\n## Size\n")[1]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in size.splitlines()
        if re.match(r"\| (cells|LUT|flip-flop|shift|carry|wide|block|multiplier)", line)
    ]
    name = f"{width} bit, {yosys}"
    if name not in rows[0]:
        pytest.skip(f"hosts/fpga/README.md has no cells of Yosys {yosys}")
    column = rows[0].index(name)
    return {row[0]: int(row[column].replace(",", "")) for row in rows[1:]}


@pytest.mark.long
@needs_program("yosys")
def test_the_cells_are_those_of_the_readme() -> None:
    """Another version of Yosys maps differently: each has its column, 15 % and a few cells are
    allowed."""
    said = subprocess.run(["yosys", "-V"], capture_output=True, text=True, check=True).stdout
    yosys = said.split()[1]
    found, told = load_script("synthesise").synthesise(64, 1), counts_in_readme(64, yosys)
    assert told.keys() == found.keys()
    for kind, count in told.items():
        assert abs(found[kind] - count) <= 0.15 * count + 20, kind
