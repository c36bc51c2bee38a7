# SPDX-License-Identifier: Apache-2.0
"""BBR's history of what was in flight, against the truth: hosts/cc/test compares."""

from __future__ import annotations

import subprocess

import pytest
from tests.support.cc_sim import CC

PROGRAM = CC / "test" / "test-bbr-history"


@pytest.mark.skipif(not PROGRAM.is_file(), reason="needs hosts/cc/test: run `make build`")
def test_its_answers_are_within_one_percent() -> None:
    done = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 5  # paths
