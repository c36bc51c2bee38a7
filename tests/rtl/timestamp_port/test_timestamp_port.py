# SPDX-License-Identifier: Apache-2.0
"""timestamp_port: the trailer of every frame, to the cycle."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rtl.simulate import simulate


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "drop", "full"),
    [
        (64, 0, False),
        (512, 1, False),
        *(
            pytest.param(width, drop, True, marks=pytest.mark.long)
            for width in (64, 512)
            for drop in (0, 1)
        ),
    ],
)
def test_timestamp_port(tmp_path: Path, width: int, drop: int, full: bool) -> None:
    parameters = {"DATA_WIDTH": width, "DROP_WHEN_FULL": drop, "DEVICE": 0x5A, "PORT": 7}
    checks = "tests.rtl.timestamp_port.checks"
    simulate("timestamp_port", checks, tmp_path / "sim", parameters, full=full)
