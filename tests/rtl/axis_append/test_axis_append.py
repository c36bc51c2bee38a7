# SPDX-License-Identifier: Apache-2.0
"""axis_append: a tail behind frames of every length."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rtl.simulate import SHORT_AND_FULL, simulate


@pytest.mark.slow
@SHORT_AND_FULL
@pytest.mark.parametrize("width", [64, 512])
def test_axis_append(tmp_path: Path, width: int, full: bool) -> None:
    checks = "tests.rtl.axis_append.checks"
    simulate("axis_append", checks, tmp_path / "sim", {"DATA_WIDTH": width}, full=full)
