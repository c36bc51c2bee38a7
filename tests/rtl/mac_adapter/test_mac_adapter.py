# SPDX-License-Identifier: Apache-2.0
"""mac_rx and mac_tx: frames of every length between a MAC's bytes and the core's beats."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rtl.simulate import BOARD, simulate

WRAPPER = Path(__file__).parent / "both_ways.v"


@pytest.mark.slow
def test_mac_adapter(tmp_path: Path) -> None:
    checks = "tests.rtl.mac_adapter.checks"
    simulate("both_ways", checks, tmp_path / "sim", extra_sources=(*BOARD, WRAPPER))
