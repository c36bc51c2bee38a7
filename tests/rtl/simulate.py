"""Run a module's cocotb checks in Icarus Verilog; skip, with the reason, where it is not here."""

from pathlib import Path

import pytest
from tests.support.programs import need_program

ROOT = Path(__file__).resolve().parents[2]
RTL = ROOT / "hosts" / "fpga" / "rtl"
BOARD = tuple(sorted((RTL / "board").glob("*.v")))
"""What is needed besides the core for a board."""
SEED = 1

SHORT_AND_FULL = pytest.mark.parametrize(
    "full", [False, pytest.param(True, marks=pytest.mark.long)], ids=["short", "full"]
)
"""A test's simulation in both extents: `tests/rtl/streams.py` says what FULL is."""


def need_icarus() -> None:
    """Skip where the simulator or cocotb is missing."""
    need_program("iverilog")
    pytest.importorskip("cocotb_tools.runner", reason="needs cocotb: `make venv`")
    if pytest.importorskip("find_libpython").find_libpython() is None:
        pytest.skip("needs Python as a library: `apt install libpython3-dev`")


def simulate(
    module: str,
    checks: str,
    folder: Path,
    parameters: dict[str, int] | None = None,
    extra_sources: tuple[Path, ...] = (),
    environment: dict[str, str] | None = None,
    *,
    full: bool = False,
) -> None:
    """Build a module and run the checks on it; every one must pass, and one must have run.

    Args:
        module: The top level.
        checks: The Python module with the cocotb tests, as it is imported from the root.
        parameters: Of the top level.
        extra_sources: Verilog besides hosts/fpga/rtl.
        environment: Given to the checks.
        full: Whether the checks are long proofs.
    """
    need_icarus()
    from cocotb_tools.runner import get_results, get_runner

    runner = get_runner("icarus")
    runner.build(
        sources=[*sorted(RTL.glob("*.v")), *extra_sources],
        includes=[RTL],
        hdl_toplevel=module,
        build_dir=folder,
        build_args=["-g2005", "-Wall", "-Wno-timescale"],
        parameters=parameters or {},
        log_file=folder.with_suffix(".build.log"),
    )
    warnings = folder.with_suffix(".build.log").read_text()
    assert "warning" not in warnings, warnings
    log = folder / "test.log"
    try:
        results = runner.test(
            test_module=checks,
            hdl_toplevel=module,
            test_dir=folder,
            seed=SEED,
            log_file=log,
            extra_env={
                "PYTHONPATH": str(ROOT),
                "NASHBED_RTL_FULL": "1" if full else "",
                **(environment or {}),
            },
        )
    except SystemExit:
        pytest.fail(log.read_text(), pytrace=False)
    ran, failed = get_results(results)
    assert ran > 0, log.read_text()
    assert failed == 0, log.read_text()
