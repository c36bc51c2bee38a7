# SPDX-License-Identifier: Apache-2.0
"""clock_crossing: every beat once and in order, whichever clock is the faster."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rtl.simulate import BOARD, simulate


@pytest.mark.slow
def test_clock_crossing(tmp_path: Path) -> None:
    checks = "tests.rtl.clock_crossing.checks"
    simulate("clock_crossing", checks, tmp_path / "sim", {"DEPTH": 16, "WIDTH": 24}, BOARD)
