"""Statistics by hand: straight lines, Welch's test, Holm's adjustment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.analysis.metrics.statistics import holm, least_squares, welch
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


def test_welch() -> None:
    # (1, 2, 3) and (4, 6): means 2 and 5, s^2/n = 1/3 and 1; s = sqrt(4/3) = 1.1547;
    # v = (4/3)^2 / ((1/3)^2/2 + 1/1) = 1.684; t = 2.598; by tables of Student's t: p = 0.145.
    found = welch([1, 2, 3, float("nan")], [4, 6])
    assert found is not None
    assert found.difference == 3
    assert found.p == pytest.approx(0.145, abs=0.003)
    assert found.half_width > 3  # so the interval holds 0, as p > 0.05 says
    assert welch([1], [1, 2]) is None
    same, other = welch([2, 2], [2, 2]), welch([2, 2], [3, 3])
    assert same is not None
    assert other is not None
    # Nothing varies, so nothing says what chance does: no p, whatever the difference.
    assert (same.difference, same.p, same.half_width) == (0.0, None, None)
    assert (other.difference, other.p, other.half_width) == (1.0, None, None)
    # With spread on one side there is a test: (2, 2) against (3, 4), v = 1, t = 3, p = 0.205.
    one = welch([2, 2], [3, 4])
    assert one is not None
    assert one.p == pytest.approx(0.205, abs=0.001)


def test_holm() -> None:
    # Sorted 0.01, 0.02, 0.04 times 3, 2, 1: 0.03, 0.04, 0.04 (never falling).
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
