# SPDX-License-Identifier: Apache-2.0
"""mac_rx and mac_tx: frames of every length between a MAC's bytes and the core's beats."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rtl.simulate import BOARD, SHORT_AND_FULL, simulate

WRAPPER = Path(__file__).parent / "both_ways.v"


@pytest.mark.slow
@SHORT_AND_FULL
def test_mac_adapter(tmp_path: Path, full: bool) -> None:
    checks, sources = "tests.rtl.mac_adapter.checks", (*BOARD, WRAPPER)
    simulate("both_ways", checks, tmp_path / "sim", extra_sources=sources, full=full)
