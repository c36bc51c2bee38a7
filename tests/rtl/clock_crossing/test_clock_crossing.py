# SPDX-License-Identifier: Apache-2.0
"""clock_crossing: every beat once and in order, whichever clock is the faster."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rtl.simulate import BOARD, SHORT_AND_FULL, simulate


@pytest.mark.slow
@SHORT_AND_FULL
def test_clock_crossing(tmp_path: Path, full: bool) -> None:
    checks = "tests.rtl.clock_crossing.checks"
    parameters = {"DEPTH": 16, "WIDTH": 24}
    simulate("clock_crossing", checks, tmp_path / "sim", parameters, BOARD, full=full)
