"""Mishra 2022 by hand, and with measured values in place of its assumptions.

In BDP, with X the buffer, m = (X - 1)/2 and b = b_b, equation 18 times (m + b) is
    m (m + b) + m = k (1 + 1/X)(X - b)(m + b),
a quadratic, and the share of BBR is b / X (equations 19 and 20).
"""

from dataclasses import replace
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.analysis.models import (
    MODELS,
    Competition,
    Model,
    ModelError,
    cubic_against,
    mishra2022,
)
from nashbed.analysis.models.mishra2022 import (
    Inputs,
    NoSolutionError,
    given_k,
    k_desynchronised,
    k_of_synchrony,
    share_of_bbr,
    share_of_bbr_with,
    solve_occupancy,
)

RATE, RTT = 50e6, 0.04
BDP = 250_000  # 50 Mbit/s x 40 ms / 8


def asked(bdp: float, cubic: int = 1, bbr: int = 1) -> Competition:
    return cubic_against(RATE, RTT, bdp * BDP, cubic, bbr)


def form(name: str) -> Model:
    """A form of the model; the one with a given k has that of synchronised flows."""
    return given_k(0.7) if name == "mishra-given-k" else MODELS[name]


# 1 v 1 at 50 Mbit/s, 40 ms, k = 0.7:
# X = 1:  m = 0: 0 = 1.4 (1 - b) b, b = 1: CUBIC leaves nothing in the queue and gets nothing.
# X = 3:  m = 1: 1 + b + 1 = 0.7 (4/3)(3 - b)(1 + b); times 15: 30 + 15 b = 14 (3 + 2 b - b^2),
#         14 b^2 - 13 b - 12 = 0, b = (13 + sqrt(169 + 672))/28 = (13 + 29)/28 = 1.5: half.
# X = 5:  m = 2: 2 (2 + b) + 2 = 0.84 (5 - b)(2 + b): 0.84 b^2 - 0.52 b - 2.4 = 0,
#         b = (0.52 + sqrt(0.2704 + 8.064))/1.68 = (0.52 + 2.886936)/1.68 = 2.027938; /5.
# X = 30: m = 14.5, k (1 + 1/X) = 0.7233333: 224.75 + 14.5 b = 0.7233333 (435 + 15.5 b - b^2),
#         0.7233333 b^2 + 3.2883333 b - 89.9 = 0,
#         b = (-3.2883333 + sqrt(10.813136 + 260.110667))/1.4466667 = 9.104674; /30.
BY_HAND = {1: 1.0, 3: 0.5, 5: 0.4055877, 30: 0.3034891}


@pytest.mark.parametrize(("bdp", "share"), BY_HAND.items())
def test_one_against_one(bdp: float, share: float) -> None:
    found = MODELS["mishra-two-flow"].predict(asked(bdp))
    assert found.status == ("flagged" if bdp == 1 else "valid")
    assert found.share == pytest.approx(share, abs=1e-6)
    assert found.second_per_flow_bps == pytest.approx(share * RATE, abs=50)
    assert found.first_bps == pytest.approx((1 - share) * RATE, abs=50)


@pytest.mark.parametrize("name", [n for n in MODELS if n.startswith("mishra")])
def test_at_1_bdp_all_for_bbr_is_flagged_with_the_reason(name: str) -> None:
    found = form(name).predict(asked(1))
    assert (found.status, found.share) == ("flagged", 1)
    assert "b_cmin = (B - C R)/2 is 0" in found.flags[0]
    assert form(name).predict(asked(1.01)).flags == ()


def test_what_is_inside() -> None:
    # X = 3, b = 1.5: b_cmin = 1 BDP, b_cmax = 3 - 1.5, W = b_cmax (1 + 1/3) = 2 BDP,
    # BBR's RTT+ = R + b_cmin / C = 40 + 40 ms.
    inner = MODELS["mishra-two-flow"].predict(asked(3)).inner
    assert inner["cubic_queue_min_bytes"] == pytest.approx(BDP)
    assert inner["bbr_queue_bytes"] == pytest.approx(1.5 * BDP)
    assert inner["cubic_queue_max_bytes"] == pytest.approx(1.5 * BDP)
    assert inner["cubic_window_bytes"] == pytest.approx(2 * BDP)
    assert inner["bbr_rtt_s"] == pytest.approx(0.08)


def test_many_flows() -> None:
    # 7 CUBIC and 3 BBR flows at X = 3. Synchronised: k = 0.7, so BBR has half as above, a sixth
    # of the link for each. De-synchronised: k = 6.7/7, k (1 + 1/X) = 26.8/21 = a:
    # 2 + b = a (3 + 2 b - b^2); a b^2 + (1 - 2 a) b + 2 - 3 a = 0 with a = 1.2761905:
    # b = (1.5523810 + sqrt(2.4098866 + 9.3344218))/2.5523810 = 1.950876; /3.
    together = MODELS["mishra-synchronised"].predict(asked(3, 7, 3))
    apart = MODELS["mishra-desynchronised"].predict(asked(3, 7, 3))
    assert together.share == pytest.approx(0.5)
    assert together.second_per_flow_bps == pytest.approx(RATE / 6)
    assert together.first_per_flow_bps == pytest.approx(RATE / 14)
    assert apart.share == pytest.approx(0.650292, abs=1e-6)
    assert apart.inner["k"] == pytest.approx(6.7 / 7)


def test_k_between_the_bounds() -> None:
    # Half of the flows lose: k = 1 - 0.3/2. All of them, and one of seven: the two bounds.
    assert k_of_synchrony(0.5) == pytest.approx(0.85)
    assert k_of_synchrony(1) == pytest.approx(mishra2022.k_synchronised())
    assert k_of_synchrony(1 / 7) == pytest.approx(k_desynchronised(7))
    shares = [given_k(k).predict(asked(3, 7, 3)).share for k in (0.7, 0.85, 6.7 / 7)]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(0.5)
    assert shares[2] == pytest.approx(0.650292, abs=1e-6)


@given(st.floats(1.001, 100), st.floats(0.51, 1))
def test_the_root_solves_equation_18_as_printed(x: float, k: float) -> None:
    size, cr = x * BDP, BDP
    held = solve_occupancy(size, cr, k)
    least, b = held.cubic_min, held.bbr
    assert least == pytest.approx((size - cr) / 2)
    left = least + least * cr / (least + b)
    right = k * (size - b + (size - b) * cr / size)
    assert left == pytest.approx(right, rel=1e-6, abs=BDP * 1e-6)
    # The quadratic's larger root, the smaller one being negative.
    m, a = (x - 1) / 2, k * (1 + 1 / x)
    linear = m - a * (x - m)
    constant = m * m + m - a * x * m
    root = (-linear + sqrt(linear**2 - 4 * a * constant)) / (2 * a)
    assert b / BDP == pytest.approx(root, rel=1e-6, abs=1e-6)


@given(st.floats(1.01, 99), st.floats(0.55, 0.99))
def test_shares_move_as_the_paper_says(x: float, k: float) -> None:
    here = share_of_bbr(x * BDP, BDP, k)
    assert 0 < here <= 1
    assert share_of_bbr((x + 0.5) * BDP, BDP, k) < here  # deeper buffers: less for BBR
    assert share_of_bbr(x * BDP, BDP, k + 0.01) > here  # CUBIC cuts less: more for BBR


@pytest.mark.parametrize("name", [n for n in MODELS if n.startswith("mishra")])
@pytest.mark.parametrize(("bdp", "why"), [(0.5, "below 1 BDP"), (150, "beyond about 100 BDP")])
def test_outside_its_validity_there_is_no_number(name: str, bdp: float, why: str) -> None:
    found = form(name).predict(asked(bdp))
    assert (found.status, found.share, found.second_bps) == ("refused", None, None)
    assert found.first_per_flow_bps is None
    assert any(why in reason for reason in found.refusals)


def test_two_flow_is_for_two_flows() -> None:
    found = MODELS["mishra-two-flow"].predict(asked(3, 2, 1))
    assert found.status == "refused"
    assert "2 CUBIC and 1 BBR flows: this form is for one of each" in found.refusals


@pytest.mark.parametrize("k", [None, 0.6, 0.99])
def test_a_k_outside_its_bounds_is_refused(k: float | None) -> None:
    assert given_k(k).predict(asked(3, 7, 3)).status == "refused"


def test_one_cca_alone_is_flagged() -> None:
    for cubic, bbr, share in ((5, 0, 0.0), (0, 5, 1.0)):
        for name in ("mishra-synchronised", "mishra-desynchronised", "ware"):
            found = MODELS[name].predict(asked(3, cubic, bbr))
            assert (found.status, found.share) == ("flagged", share)
    assert found.second_per_flow_bps == RATE / 5
    assert found.first_per_flow_bps is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate_bps": 0}, {"base_rtt_s": -1}, {"buffer_bytes": float("nan")}, {"cubic": -1},
        {"cubic": 0, "others": 0}, {"duration_s": float("inf")},
    ],
)  # fmt: skip
def test_nonsense_is_refused_with_a_reason(wrong) -> None:
    plain = {"rate_bps": RATE, "base_rtt_s": RTT, "buffer_bytes": BDP, "cubic": 1, "others": 1}
    with pytest.raises(ModelError, match="give"):
        cubic_against(**{**plain, **wrong})


@pytest.mark.parametrize(("x", "k"), [(0.9, 0.7), (3, 0.5), (3, 1.1)])
def test_the_solver_refuses_what_has_no_root(x: float, k: float) -> None:
    with pytest.raises(ValueError, match="no solution"):
        solve_occupancy(x * BDP, BDP, k)


def test_other_ccas_than_bbr_are_refused() -> None:
    for name in MODELS:
        if name != "fluid":
            found = form(name).predict(cubic_against(RATE, RTT, 3 * BDP, 1, 1, "vivace"))
            assert found.refusals == ("it is a model of CUBIC and BBR version 1, not of vivace",)


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
INPUTS_BY_HAND = [
    ({"full": 5 / 6}, (20.25 + sqrt(20.25**2 + 56 * 11.8125)) / 28 / 2.5),
    ({"flight": 1.8}, (59 / 9 + sqrt((59 / 9) ** 2 + 56 * 286 / 27)) / 28 / 3),
    ({"least_share": 0.5}, (13 + sqrt(13**2 + 56 * 19.5)) / 28 / 3),
    ({"keeps": 0.75}, (1 + sqrt(5)) / 2 / 3),
    ({"losing": 5 / 6}, (1 + sqrt(5)) / 2 / 3),
    ({"largest": 15 / 14}, (1 + sqrt(5)) / 2 / 3),
    ({"kept": 15 / 14}, (1 + sqrt(5)) / 2 / 3),
]


@pytest.mark.parametrize(("inputs", "share"), INPUTS_BY_HAND)
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
