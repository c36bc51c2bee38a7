# SPDX-License-Identifier: Apache-2.0
"""second_fraction: nanoseconds to 2^-40 s without an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rtl.simulate import simulate

DIVISOR = 5**9
LARGEST = 10**9 * 2**16 - 1


def test_the_reciprocal_is_exact_for_every_time() -> None:
    """Granlund and Montgomery's condition, for the constants in the source."""
    reciprocal = 0x112E0BE826D694B3
    assert reciprocal == -(-(2**81) // DIVISOR)
    assert LARGEST * (reciprocal * DIVISOR - 2**81) < 2**66


@pytest.mark.slow
def test_second_fraction(tmp_path: Path) -> None:
    simulate("second_fraction", "tests.rtl.second_fraction.checks", tmp_path / "sim")
