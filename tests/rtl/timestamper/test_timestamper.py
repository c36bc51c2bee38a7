# SPDX-License-Identifier: Apache-2.0
"""timestamper: registers, one clock for all ports, times that are a count of clock edges."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rtl.simulate import simulate

WRAPPER = Path(__file__).parent / "two_ports.v"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "full"),
    [(64, False), *(pytest.param(width, True, marks=pytest.mark.long) for width in (64, 512))],
)
def test_timestamper(tmp_path: Path, width: int, full: bool) -> None:
    checks = "tests.rtl.timestamper.checks"
    simulate("two_ports", checks, tmp_path / "sim", {"DATA_WIDTH": width}, (WRAPPER,), full=full)
