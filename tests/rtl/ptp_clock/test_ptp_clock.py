# SPDX-License-Identifier: Apache-2.0
"""ptp_clock: exact periods, wraps, steering and steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rtl.simulate import simulate

pytestmark = pytest.mark.slow


def test_ptp_clock(tmp_path: Path) -> None:
    parameters = {"PERIOD_NS": 4, "PERIOD_FNS": 0x1234}
    simulate("ptp_clock", "tests.rtl.ptp_clock.checks", tmp_path / "sim", parameters)
