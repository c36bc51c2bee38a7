# SPDX-License-Identifier: Apache-2.0
"""The core placed and routed on ECP5 chips: about what the README tells, and 125 MHz."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.support.programs import needs_program

FPGA = Path(__file__).resolve().parents[3] / "hosts" / "fpga"


def load_script() -> ModuleType:
    """hosts/fpga/place.py, which is no package."""
    spec = importlib.util.spec_from_file_location("place", FPGA / "place.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules["place"] = script
    spec.loader.exec_module(script)
    return script


place = load_script()


def row(table: str, name: str) -> list[float]:
    """A row of a table, a number for each chip."""
    found = next(line for line in table.splitlines() if line.startswith(f"| {name}"))
    return [float(cell.replace(",", "")) for cell in found.split("|")[2:-1]]


def test_the_step_in_the_table_is_the_period_of_its_clock() -> None:
    table = place.committed()
    assert row(table, "step") == [round(1000 / mhz, 2) for mhz in row(table, "Fmax")]


@pytest.mark.pnr
@pytest.mark.timeout(1800)
@needs_program("yosys")
def test_the_table_is_about_what_comes_out() -> None:
    """A placement that is only started differently moves the clock by some per cent."""
    placer = place.find_placer()
    if placer is None:
        pytest.skip("needs nextpnr-ecp5: `make test-pnr` installs YoWASP's")
    placed, told = place.run(placer), place.committed()
    found = place.table(place.versions(placer), placed)
    assert placed[place.CHIPS[0]].fmax_mhz >= 125
    assert row(found, "Fmax") == pytest.approx(row(told, "Fmax"), rel=0.2), found
    for kind in place.CELLS:
        assert row(found, kind) == pytest.approx(row(told, kind), rel=0.05), found


def test_a_table_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = tmp_path / "README.md"
    shutil.copy(FPGA / "README.md", readme)
    monkeypatch.setattr(place, "README", readme)
    chip = place.CHIPS[0]
    cells = dict.fromkeys(place.CELLS, 1234)
    text = place.table("Yosys 1, nextpnr 2", {chip: place.Placed(100.0, cells)})
    place.write(text)
    assert place.committed() == text
    assert "| step of a stamp at that clock, ns | 10.00 |" in text
    assert "| flip-flop | 1,234 |" in text
    parts = (FPGA / "README.md").read_text().split(place.BEGIN)
    assert readme.read_text().startswith(parts[0])
    assert readme.read_text().endswith(parts[1].split(place.END)[1])
