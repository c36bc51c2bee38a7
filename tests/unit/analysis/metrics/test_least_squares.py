"""A line by hand, and against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.analysis.metrics.least_squares import least_squares
from scipy import stats


def test_by_hand() -> None:
    # y = 1 + 2 x exactly; then a flat line, which explains nothing.
    assert least_squares(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0])) == (2, 1, 1)
    assert least_squares(np.array([0.0, 1.0, 2.0]), np.array([4.0, 4.0, 4.0])) == (0, 4, 0)


@given(st.integers(0, 10**6), st.integers(3, 50))
def test_against_scipy(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(5, 2, n), rng.normal(0, 1, n)
    line, expected = least_squares(x, y), stats.linregress(x, y)
    assert line.slope == pytest.approx(expected.slope, rel=1e-6, abs=1e-9)
    assert line.intercept == pytest.approx(expected.intercept, rel=1e-6, abs=1e-9)
    assert line.r2 == pytest.approx(expected.rvalue**2, rel=1e-6, abs=1e-9)
