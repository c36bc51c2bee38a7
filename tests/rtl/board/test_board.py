"""top_ecp5: from RGMII pins to RGMII pins, with the MAC that LiteEth writes."""

from pathlib import Path

import pytest
from tests.rtl.script import load_script
from tests.rtl.simulate import BOARD, SHORT_AND_FULL, simulate

HERE = Path(__file__).parent


def simulate_board(
    checks: str, folder: Path, parameters: dict[str, int] | None = None, *, full: bool = True
) -> None:
    """Generate the MAC, with a serial line as fast as the checks', and run them."""
    pytest.importorskip("liteeth", reason="needs LiteEth: `make venv`")
    from tests.rtl.board.bench import BAUD

    made = load_script("mac").write(folder, BAUD)
    sources = (*BOARD, HERE / "sockets.v", HERE / "primitives.v", *made)
    simulate("sockets", checks, folder / "sim", parameters, sources, full=full)


@pytest.mark.slow
@SHORT_AND_FULL
def test_frames_from_pins_to_pins(tmp_path: Path, full: bool) -> None:
    simulate_board("tests.rtl.board.checks", tmp_path, full=full)


@pytest.mark.long
def test_an_overload(tmp_path: Path) -> None:
    simulate_board("tests.rtl.board.overload", tmp_path, {"FIFO_BYTES": 2048})
