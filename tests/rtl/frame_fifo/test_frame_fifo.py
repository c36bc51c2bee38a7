# SPDX-License-Identifier: Apache-2.0
"""frame_fifo: holds back, or drops whole frames."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rtl.simulate import SHORT_AND_FULL, simulate


@pytest.mark.slow
@SHORT_AND_FULL
@pytest.mark.parametrize("drop", [0, 1])
def test_frame_fifo(tmp_path: Path, drop: int, full: bool) -> None:
    parameters = {"WIDTH": 32, "DEPTH": 16, "DROP_WHEN_FULL": drop}
    checks = "tests.rtl.frame_fifo.checks"
    simulate("frame_fifo", checks, tmp_path / "sim", parameters, full=full)
