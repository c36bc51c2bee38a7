"""Every module by the checks in its folder, which say what it must do."""

from pathlib import Path

import pytest
from tests.rtl.simulate import BOARD, SHORT_AND_FULL, simulate

HERE = Path(__file__).parent
LARGEST_NS = 10**9 * 2**16 - 1


@pytest.mark.slow
@SHORT_AND_FULL
@pytest.mark.parametrize(
    ("module", "parameters"),
    [
        *(
            (name, {"DATA_WIDTH": bits})
            for name in ("axis_append", "ethernet_fcs")
            for bits in (64, 512)
        ),
        *(("frame_fifo", {"WIDTH": 32, "DEPTH": 16, "DROP_WHEN_FULL": drop}) for drop in (0, 1)),
        ("clock_crossing", {"DEPTH": 16, "WIDTH": 24}),
    ],
)
def test_streams(tmp_path: Path, module: str, parameters: dict[str, int], full: bool) -> None:
    checks = f"tests.rtl.{module}.checks"
    simulate(module, checks, tmp_path / "sim", parameters, BOARD, full=full)


@pytest.mark.slow
@SHORT_AND_FULL
def test_mac_adapter(tmp_path: Path, full: bool) -> None:
    """mac_rx and mac_tx, one behind the other."""
    checks, sources = "tests.rtl.mac_adapter.checks", (*BOARD, HERE / "mac_adapter/both_ways.v")
    simulate("both_ways", checks, tmp_path / "sim", extra_sources=sources, full=full)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "parameters"),
    [("ptp_clock", {"PERIOD_NS": 4, "PERIOD_FNS": 0x1234}), ("second_fraction", {})],
)
def test_clocks(tmp_path: Path, module: str, parameters: dict[str, int]) -> None:
    simulate(module, f"tests.rtl.{module}.checks", tmp_path / "sim", parameters)


def test_second_fractions_reciprocal_is_exact_for_every_time() -> None:
    """Granlund and Montgomery's condition, for the constants in the source."""
    reciprocal, divisor = 0x112E0BE826D694B3, 5**9
    assert reciprocal == -(-(2**81) // divisor)
    assert LARGEST_NS * (reciprocal * divisor - 2**81) < 2**66


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "drop", "full"),
    [
        (64, 0, False),
        (512, 1, False),
        *(
            pytest.param(width, drop, True, marks=pytest.mark.long)
            for width in (64, 512)
            for drop in (0, 1)
        ),
    ],
)
def test_timestamp_port(tmp_path: Path, width: int, drop: int, full: bool) -> None:
    parameters = {"DATA_WIDTH": width, "DROP_WHEN_FULL": drop, "DEVICE": 0x5A, "PORT": 7}
    checks = "tests.rtl.timestamp_port.checks"
    simulate("timestamp_port", checks, tmp_path / "sim", parameters, full=full)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "full"),
    [(64, False), *(pytest.param(width, True, marks=pytest.mark.long) for width in (64, 512))],
)
def test_timestamper(tmp_path: Path, width: int, full: bool) -> None:
    checks, ports = "tests.rtl.timestamper.checks", (HERE / "timestamper/two_ports.v",)
    simulate("two_ports", checks, tmp_path / "sim", {"DATA_WIDTH": width}, ports, full=full)
