# SPDX-License-Identifier: Apache-2.0
"""timestamp_port: the trailer of every frame, to the cycle."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rtl.simulate import simulate


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "drop"),
    [
        (64, 0),
        (512, 1),
        pytest.param(64, 1, marks=pytest.mark.long),
        pytest.param(512, 0, marks=pytest.mark.long),
    ],
)
def test_timestamp_port(tmp_path: Path, width: int, drop: int) -> None:
    parameters = {"DATA_WIDTH": width, "DROP_WHEN_FULL": drop, "DEVICE": 0x5A, "PORT": 7}
    simulate("timestamp_port", "tests.rtl.timestamp_port.checks", tmp_path / "sim", parameters)
