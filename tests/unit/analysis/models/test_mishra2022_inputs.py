"""The model with measured values in place of its assumptions, by hand."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.analysis.models.mishra2022 import (
    Inputs,
    NoSolutionError,
    k_desynchronised,
    share_of_bbr,
    share_of_bbr_with,
)


@given(st.floats(1, 100), st.integers(1, 50))
def test_as_assumed_it_is_the_published_model(x: float, cubic: int) -> None:
    assert share_of_bbr_with(x, Inputs()) == pytest.approx(share_of_bbr(x, 1, 0.7))
    k = k_desynchronised(cubic)
    assert share_of_bbr_with(x, Inputs(losing=1 / cubic)) == pytest.approx(share_of_bbr(x, 1, k))


# At X = 3 with K = 14/15, 15 times the quadratic K b^2 + (m + K m - 3 K) b + m (m + s - 3 K):
# full = 5/6: m = (2.5 + 1)/2 - 1 = 0.75; 14 b^2 - 20.25 b - 11.8125 = 0; the queue is 2.5.
# flight = 1.8: m = 4/1.8 - 1 = 11/9; 14 b^2 + (55/3 + 154/9 - 42) b + (11/9)(100/3 - 42) = 0.
# least_share = 0.5: m = 1; 14 b^2 + (15 + 14 - 42) b + (22.5 - 42) = 0.
# keeps = 0.75: K = 1, m = 1; b^2 + (1 + 1 - 3) b + (2 - 3) = 0; the same K by the others of k.
BY_HAND = [
    ({"full": 5 / 6}, (20.25 + sqrt(20.25**2 + 56 * 11.8125)) / 28 / 2.5),
    ({"flight": 1.8}, (59 / 9 + sqrt((59 / 9) ** 2 + 56 * 286 / 27)) / 28 / 3),
    ({"least_share": 0.5}, (13 + sqrt(13**2 + 56 * 19.5)) / 28 / 3),
    ({"keeps": 0.75}, (1 + sqrt(5)) / 2 / 3),
    ({"losing": 5 / 6}, (1 + sqrt(5)) / 2 / 3),
    ({"largest": 15 / 14}, (1 + sqrt(5)) / 2 / 3),
    ({"kept": 15 / 14}, (1 + sqrt(5)) / 2 / 3),
]


@pytest.mark.parametrize(("inputs", "share"), BY_HAND)
def test_one_value_at_a_time(inputs: dict[str, float], share: float) -> None:
    assert share_of_bbr_with(3, Inputs(**inputs)) == pytest.approx(share)


@given(st.floats(0.9, 1.1))
def test_what_meets_in_one_product_is_the_same(ratio: float) -> None:
    # All scale R+ in (7) against R + Q, or one b_cmin against the other.
    expected = share_of_bbr_with(5, Inputs(flight=2 * ratio))
    for same in ({"rtt_plus": ratio}, {"delay": 1 / ratio}):
        assert share_of_bbr_with(5, Inputs(**same)) == pytest.approx(expected)
    # (10): 6 = 2 (1 + m) as assumed; a queue of 5 that is ratio (2 m + 1).
    least = (5 / ratio - 1) / 2
    assert share_of_bbr_with(5, Inputs(queue=ratio)) == pytest.approx(
        share_of_bbr_with(5, Inputs(seen=2 / least))
    )


@pytest.mark.parametrize(
    ("inputs", "why", "edge"),
    [
        ({"flight": 1.0}, "more than it keeps", 0),
        ({"flight": 7.0}, "below 0", 1),
        ({"full": 2 / 3}, "more than the whole queue", 1),
    ],
)
def test_without_a_solution_it_says_why(inputs: dict[str, float], why: str, edge: float) -> None:
    with pytest.raises(NoSolutionError, match=why) as caught:
        share_of_bbr_with(3, replace(Inputs(), **inputs))
    assert caught.value.edge == edge


def test_the_edge_is_where_the_share_ends() -> None:
    # CUBIC's least is what it keeps at m + 1 = 2.8; (7) is 4 = flight (1 + m): BBR has nothing.
    assert share_of_bbr_with(3, Inputs(flight=4 / 2.8 + 1e-9)) == pytest.approx(0, abs=1e-6)


ANY = st.just(0.0) | st.floats(1e-6, 3)


@given(
    st.floats(1, 100),
    st.builds(
        Inputs, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, st.floats(0, 1), st.floats(0, 1), ANY
    ),
)
def test_whatever_was_measured_there_is_a_share_or_a_reason(x: float, inputs: Inputs) -> None:
    try:
        assert 0 <= share_of_bbr_with(x, inputs) <= 1
    except NoSolutionError as error:
        assert error.edge in (0, 1)


def test_a_queue_that_cubic_leaves_empty_in_every_window_of_bbr() -> None:
    # (9) with b_cmin = 0: R + Q = 2 R+ = 2 R has no room for the queue of 4 BDP.
    with pytest.raises(NoSolutionError, match="would not be 0") as caught:
        share_of_bbr_with(4, Inputs(seen=0.0))
    assert caught.value.edge == 0
