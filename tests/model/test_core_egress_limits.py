"""P4's egress at the ends of its ranges, and of marked packets: two programs of hosts/dpdk/test."""

import subprocess

import pytest
from tests.support.replay import BUILD, NATIVE, PIPELINES, SPEC, need_pipeline

PROGRAMS = BUILD / "hosts" / "dpdk" / "test"


@pytest.mark.dataplane
@pytest.mark.parametrize("name", ["test-egress-limits", "test-marks"])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_last_lane_last_flow_wrapping_numbers_and_every_checksum(name: str, pipeline: str) -> None:
    need_pipeline(pipeline)
    program = PROGRAMS / name
    if not program.exists():
        pytest.skip(f"{program} is not built: run `make test-build`")
    command = [program, SPEC, *([NATIVE] if pipeline == "native" else [])]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (run.returncode, run.stderr) == (0, "")
