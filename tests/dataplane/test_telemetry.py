"""Postcards on their way to a file, without a data plane: hosts/dpdk/test/telemetry.c."""

import subprocess
from pathlib import Path

import pytest
from tests.support.replay import BUILD

PROGRAM = BUILD / "hosts" / "dpdk" / "test" / "test-telemetry"


@pytest.mark.dataplane
def test_a_stop_loses_nothing_and_waits_for_nobody(tmp_path: Path) -> None:
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built: run `make build`")
    command = [PROGRAM, tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
