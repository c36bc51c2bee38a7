# SPDX-License-Identifier: Apache-2.0
"""timestamp_port: the trailer of every frame, to the cycle."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rtl.simulate import simulate


@pytest.mark.slow
@pytest.mark.parametrize("drop", [0, 1])
@pytest.mark.parametrize("width", [64, 512])
def test_timestamp_port(tmp_path: Path, width: int, drop: int) -> None:
    parameters = {"DATA_WIDTH": width, "DROP_WHEN_FULL": drop, "DEVICE": 0x5A, "PORT": 7}
    simulate("timestamp_port", "tests.rtl.timestamp_port.checks", tmp_path / "sim", parameters)
