"""Percentiles of lateness against the sorted values: never below, at most a bin above."""

import math

from hypothesis import given
from hypothesis import strategies as st
from tests.model.core import Lateness

STEPS = 16
"""Linear steps per octave: a value is known to 1/16 of itself."""

VALUES = st.one_of(st.integers(0, 40), st.integers(0, 10**6), st.integers(0, 2**42))


@given(st.lists(VALUES, min_size=1, max_size=300), st.integers(1, 1000))
def test_percentiles_are_right_to_a_bin(values: list[int], per_mille: int) -> None:
    lateness = Lateness()
    for value in values:
        lateness.add(value)
    exact = sorted(values)[math.ceil(len(values) * per_mille / 1000) - 1]
    told = lateness.percentile(per_mille)
    assert exact <= told <= exact * (1 + 1 / STEPS)
    assert told <= max(values)


def test_no_frame_no_lateness() -> None:
    assert Lateness().percentile(999) == 0


def test_hours_of_lateness_do_not_break_it() -> None:
    lateness = Lateness()
    for exponent in range(64):
        lateness.add(2**exponent)
    assert lateness.percentile(1) == 1
    assert lateness.percentile(1000) > 2**42
