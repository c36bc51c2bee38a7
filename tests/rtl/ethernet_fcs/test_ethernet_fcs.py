# SPDX-License-Identifier: Apache-2.0
"""ethernet_fcs: the CRC of frames of every length, in streams of both widths."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rtl.simulate import SHORT_AND_FULL, simulate


@pytest.mark.slow
@SHORT_AND_FULL
@pytest.mark.parametrize("width", [64, 512])
def test_ethernet_fcs(tmp_path: Path, width: int, full: bool) -> None:
    checks = "tests.rtl.ethernet_fcs.checks"
    simulate("ethernet_fcs", checks, tmp_path / "sim", {"DATA_WIDTH": width}, full=full)
