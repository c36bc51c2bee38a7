"""Core and board placed and routed on ECP5 chips: about what the README tells, and fast enough."""

import shutil
from pathlib import Path

import pytest
from tests.rtl.script import FPGA, load_script
from tests.support.programs import needs_program

place = load_script("place")


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


@pytest.mark.pnr
@pytest.mark.timeout(1800)
@needs_program("yosys")
def test_the_board_reaches_its_clocks(tmp_path: Path) -> None:
    """nextpnr refuses where one is not reached; ecppack's bitstream names the board's chip.

    Another seed moves the core's clock, of which little is asked, by a seventh.
    """
    placer, packer = place.find_placer(), place.find(place.PACKERS)
    if placer is None or packer is None:
        pytest.skip("needs nextpnr-ecp5 and ecppack: `make test-pnr` installs YoWASP's")
    pytest.importorskip("liteeth", reason="needs LiteEth: `make venv`")
    load_script("mac")
    board = place.build_board(placer, packer, tmp_path)
    assert all(board.fmax_mhz[name] >= asked for name, asked in board.asked_mhz.items())
    found, told = place.board_table("", board), place.committed(place.BOARD_BEGIN)
    for clock in place.BOARD_CLOCKS:
        assert row(found, clock) == pytest.approx(row(told, clock), rel=0.25), found
    for kind in place.CELLS:
        assert row(found, kind) == pytest.approx(row(told, kind), rel=0.05), found
    bits = (tmp_path / place.BITSTREAM.name).read_bytes()
    assert bits.startswith(b"\xff\x00Part: LFE5U-25F-6CABGA381\x00")
    assert len(bits) < 2 << 20, "the board's flash has 2 MiB"


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
    assert readme.read_text().endswith(parts[1].split(place.END, 1)[1])
