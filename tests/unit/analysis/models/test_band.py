"""The predicted equilibria."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.analysis.models import MODELS, Competition, cubic_against
from nashbed.analysis.models.band import equilibrium_band, predicted_table

BDP = 500_000  # 100 Mbit/s x 40 ms / 8


def asked(bdp: float, flows: int = 10) -> Competition:
    return cubic_against(100e6, 0.04, bdp * BDP, flows, 0)


def test_by_hand_at_three_bdp() -> None:
    # Synchronised: BBR has half of the link in every mix (see test_mishra2022), so it has its
    # fair share with 5 of 10. A flow's throughput is 50/N_b and 50/N_c Mbit/s: at 5 and 5 all
    # get 10, a switch gives 50/6 < 10 either way: the one equilibrium of this bound.
    # De-synchronised: at 4 CUBIC flows k = 3.7/4, a = k 4/3 = 1.2333333 in
    # a b^2 + (1 - 2a) b + 2 - 3a = 0: b = (1.4666667 +
    # sqrt(2.1511111 + 8.3866667))/2.4666667 = 1.910620, share 0.636873 > 6/10; at 3 CUBIC flows
    # k = 0.9, a = 1.2: b = (1.4 + sqrt(1.96 + 7.68))/2.4 = 1.877015, share 0.625672 < 7/10.
    # So BBR leads with 6 and trails with 7: the lines cross between.
    band = equilibrium_band(asked(3))
    assert band.synchronised_bbr == pytest.approx(5.0)
    assert 6 < band.desynchronised_bbr < 7
    # From 6: the next BBR flow would get 0.625672/7 = 0.0894, a CUBIC flow has
    # (1 - 0.636873)/4 = 0.0908: nobody gains. From 7: a BBR flow has 0.0894, switching gives
    # 0.0908: it gains. So 6.
    assert band.equilibrium_mixes_bbr == (5, 6)
    assert band.middle == 6


def test_at_one_bdp_everybody_runs_bbr() -> None:
    band = equilibrium_band(asked(1))
    assert (band.synchronised_bbr, band.desynchronised_bbr) == (10, 10)
    assert band.equilibrium_mixes_bbr == (10,)


@pytest.mark.parametrize(
    ("question", "why"), [(asked(0.5), "below 1 BDP"), (asked(3, 1), "nobody")]
)
def test_no_band_outside_the_model(question: Competition, why: str) -> None:
    band = equilibrium_band(question)
    assert (band.synchronised_bbr, band.desynchronised_bbr, band.middle) == (None, None, None)
    assert band.equilibrium_mixes_bbr == ()
    assert why in band.reasons[0]


@settings(max_examples=40, deadline=None)
@given(st.floats(1, 100), st.integers(2, 60))
def test_the_band_is_in_order_and_holds_its_mixes(bdp: float, flows: int) -> None:
    band = equilibrium_band(asked(bdp, flows))
    low, high = band.synchronised_bbr, band.desynchronised_bbr
    assert 0 < low <= high + 1e-9 <= flows + 1e-9
    assert all(low - 1 <= k <= high + 1 for k in band.equilibrium_mixes_bbr)
    assert band.equilibrium_mixes_bbr


def test_the_predicted_game_has_every_mix() -> None:
    table = predicted_table(MODELS["mishra-synchronised"], asked(3))
    means = table.means
    assert len(means) == 11
    assert means[(10, 0),][0, 0] == means[(0, 10),][0, 1] == pytest.approx(10e6)
    assert predicted_table(MODELS["mishra-synchronised"], asked(0.5)).samples == {}
