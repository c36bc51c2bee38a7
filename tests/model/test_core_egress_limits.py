# SPDX-License-Identifier: Apache-2.0
"""P4's egress at the ends of its ranges: hosts/dpdk/test/egress_limits.c."""

from __future__ import annotations

import subprocess

import pytest
from tests.support.replay import BUILD, NATIVE, PIPELINES, SPEC, need_pipeline

PROGRAM = BUILD / "hosts" / "dpdk" / "test" / "test-egress-limits"


@pytest.mark.dataplane
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_last_lane_last_flow_and_wrapping_numbers(pipeline: str) -> None:
    need_pipeline(pipeline)
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built: run `make build`")
    command = [PROGRAM, SPEC, *([NATIVE] if pipeline == "native" else [])]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (run.returncode, run.stderr) == (0, "")
