"""Where the lead ends: games whose end is known, and sums done the long way."""

import numpy as np
import pytest
from nashbed.analysis.nash.crossing_interval import (
    CONFIDENCE,
    REACH,
    CrossingInterval,
    LeadEnds,
    ends_of_leads,
    fit_lead,
    lead_ends,
    mixes_between,
)
from nashbed.analysis.nash.equilibria import judge_all
from nashbed.analysis.nash.game import two_strategy_table
from nashbed.analysis.nash.headline import headline_of, interval_text
from scipy.special import stdtrit
from tests.unit.analysis.made_games import NAN, table_of

NAMES = ("cubic", "bbr")


def ends(
    lead, flows: int = 50, mixes=None, noise: float = 0.0, trials: int = 1, seed: int = 1
) -> LeadEnds:
    """The ends of a lead by mix; noise of what BBR gets together, in the lead's unit."""
    rng = np.random.default_rng(seed)
    chosen = range(1, flows) if mixes is None else mixes
    spread = {k: noise * flows / (k * (flows - k)) for k in chosen}
    return ends_of_leads({k: lead(k) + spread[k] * rng.normal(size=trials) for k in chosen}, flows)


def test_an_exact_parabola_ends_where_it_does() -> None:
    # The excess (k - 20.3)(k - 80) / 10 is a parabola: nothing is left over.
    found = ends(lambda k: (k - 20.3) * (k - 80) / 10 * 50 / (k * (50 - k)))
    (end,) = found.intervals
    assert end.at == pytest.approx(20.3, abs=1e-6)
    assert end.sure
    assert end.low <= 20.3 <= end.high
    assert end.high - end.low <= 0.11  # two places
    assert (found.mixes, found.trials, found.problem) == (49, 49, "")


def test_one_place_the_long_way() -> None:
    """At mix 25 of 50: weighted least squares and its error, with matrices written out."""
    rng = np.random.default_rng(5)
    k = np.repeat(np.arange(15.0, 36.0), 2)
    y = 0.02 * (25 - k) + rng.normal(0, 0.1, len(k))
    fit = fit_lead(k, y, 50)
    at = int(np.argmin(np.abs(fit.places - 25)))
    assert fit.places[at] == pytest.approx(25)
    u = (k - 25) / (REACH * 50)
    weight = np.clip(1 - np.abs(u) ** 3, 0, None) ** 3
    x = np.stack([np.ones_like(u), u, u**2], axis=1)
    inverse = np.linalg.inv(x.T @ np.diag(weight) @ x)
    row = (inverse @ x.T @ np.diag(weight))[0]
    assert fit.value[at] == pytest.approx(row @ y)
    residual = y - x @ (inverse @ x.T @ (weight * y))
    taken = np.trace(inverse @ x.T @ np.diag(weight**2) @ x)
    variance = (weight * residual**2).sum() / (weight.sum() - taken)
    # The parabola fits (white noise, this seed), so all trials tell the noise.
    assert fit.freedom[at] == pytest.approx(weight.sum() - taken)
    assert fit.error[at] == pytest.approx(np.sqrt(variance * (row**2).sum()))
    quantile = stdtrit(fit.freedom[at], (1 + CONFIDENCE) / 2)
    assert fit.half_width[at] == pytest.approx(quantile * fit.error[at])


def test_a_parabola_that_does_not_fit_widens_the_interval() -> None:
    def width(bend: float) -> float:
        def lead(k: int) -> float:
            return (20.5 - k + bend * (-1) ** k) * 50 / (k * (50 - k))

        found = ends(lead, noise=0.01, trials=10)
        return sum(i.high - i.low for i in found.intervals)

    assert width(0.0) < 0.2
    assert width(1.0) > 0.5  # ten trials of each mix agree, the mixes do not


def test_corners() -> None:
    always = ends(lambda k: 1.0, flows=10, noise=0.01)
    (end,) = always.intervals
    assert (end.low, end.high, end.at) == (10, 10, 10)
    assert interval_text(end, NAMES, 10) == "10 bbr (95 %: no other mix)"
    (end,) = ends(lambda k: -1.0, flows=10, noise=0.01).intervals
    assert (end.low, end.high, end.at) == (0, 0, 0)
    assert interval_text(end, NAMES, 10) == "10 cubic (95 %: no other mix)"


def test_an_interval_may_be_open_to_the_end() -> None:
    # The lead falls to nothing at the last mixes, or is nothing at the first; noise hides its sign
    # there.
    (end,) = ends(lambda k: (49.8 - k) * 50 / (k * (50 - k)), noise=3.0).intervals
    assert (end.at, end.high) == (50, 50)
    assert 30 < end.low < 49
    (end,) = ends(lambda k: (0.2 - k) * 50 / (k * (50 - k)), noise=3.0, seed=2).intervals
    assert (end.low, end.at) == (0, 0)
    assert 1 < end.high < 20


def test_several_ends() -> None:
    def lead(k: int) -> float:
        return np.cos(k / 50 * 3 * np.pi)  # falls at 50/6 and at 5/6 of 50, rises between

    found = ends(lead, noise=0.05)
    assert [i.sure for i in found.intervals] == [True, True]
    places = [i.at for i in found.intervals]
    assert places == pytest.approx([50 / 6, 250 / 6], abs=0.2)
    headline = headline_of([], NAMES, 50, found)
    assert headline.mix.count("95 %: ") == 2
    assert headline.line() == headline.mix
    assert headline.mix.count(" or ") == 1
    assert headline.facts() == []


def test_an_end_that_may_be() -> None:
    """A dip to just below zero within the noise: the end of the line is sure, the dip is not."""

    def lead(k: int) -> float:
        return (8 - 8.3 * np.exp(-(((k - 25) / 8) ** 2))) * 50 / (k * (50 - k))

    found = ends(lead, noise=0.5)
    assert [i.sure for i in found.intervals] == [False, True]
    perhaps, end = found.intervals
    assert 15 < perhaps.low < 25 < perhaps.high < 35
    assert end.at == 50
    headline = headline_of([], NAMES, 50, found, ["3 of 5 mixes not measured"])
    assert (headline.mix, headline.interval) == ("50 bbr", "no other mix")
    sure, maybe, note = headline.facts()
    assert sure == "95 % interval: no other mix."
    assert maybe == f"Perhaps also {headline.perhaps[0]}."
    assert note == "3 of 5 mixes not measured."
    assert headline.line() == (
        f"50 bbr (95 %: no other mix); perhaps also {headline.perhaps[0]}; "
        "3 of 5 mixes not measured"
    )


def test_few_mixes_unevenly_repeated() -> None:
    rng = np.random.default_rng(2)
    counts = {10: 1, 30: 1, 19: 3, 20: 4, 21: 4, 22: 2, 40: 1}
    leads = {k: ((20.4 - k) + rng.normal(0, 1, n)) * 50 / (k * (50 - k)) for k, n in counts.items()}
    found = ends_of_leads(leads, 50)
    (end,) = found.intervals
    assert end.low < 20.4 < end.high
    assert end.high - end.low < 5
    assert (found.mixes, found.trials) == (7, 16)


def test_too_few_mixes_are_said_so() -> None:
    found = ends(lambda k: 20 - k, mixes=(10, 20, 30))
    assert found.intervals == ()
    assert found.problem == "3 mixes with both are too few for an interval (it takes 4)"
    assert found.probability == {}
    # A game of three flows has no more than two mixes of both; without repetitions no noise.
    small = ends(lambda k: 1.5 - k, flows=3)
    assert small.problem == "without repetitions there is no interval"
    repeated = ends(lambda k: 1.5 - k, flows=3, noise=0.02, trials=4)
    (end,) = repeated.intervals
    assert end.low < 1.5 < end.high
    assert end.high - end.low < 0.4


STEEP = {1: 12.5, 3: 13.2, 5: 6.7, 7: 2.3, 9: -7.1}
"""Leads of Vivace over BBR by Vivace's flows of ten: no parabola passes all five."""


def steep(trials: int, noise: float, **other: float) -> LeadEnds:
    """The ends of these leads; other ones by mix, as `k3=0.5`."""
    leads = STEEP | {int(name[1:]): lead for name, lead in other.items()}
    return ends(lambda k: leads[k], flows=10, mixes=leads, noise=noise, trials=trials)


def test_mixes_that_tell_by_themselves() -> None:
    """Seven and nine flows have a lead of their own sign, however badly the parabola fits."""
    (end,) = steep(4, 0.3).intervals
    assert (end.low, end.high, end.sure) == (7, 9, True)
    assert end.at is not None and 7 < end.at < 9
    # A single trial has no spread of its own: the parabola alone tells nothing.
    (end,) = steep(1, 0.3).intervals
    assert (end.low, end.high) == (0, 10)


def test_which_mixes_tell_the_long_way() -> None:
    rng = np.random.default_rng(3)
    k = np.repeat([2.0, 4.0, 6.0, 8.0], [3, 5, 4, 1])
    # Four flows would tell at 95 %, and do not at 99.
    y = np.repeat([0.4, 0.5, -2.5, -3.0], [3, 5, 4, 1]) + rng.normal(0, 0.2, len(k))
    fit = fit_lead(k, y, 10)
    for mix in (2, 4, 6, 8):
        (own,) = np.flatnonzero(np.isclose(fit.places, mix))
        of_mix = y[k == mix]
        n = len(of_mix)
        error = of_mix.std(ddof=1) / np.sqrt(n) if n > 1 else np.inf
        sure = n > 1 and abs(of_mix.mean()) > stdtrit(n - 1, 1 - 0.01 / 2 / 4) * error
        assert np.isfinite(fit.told[own]) == sure
    assert np.isfinite(fit.told).sum() == 1


def test_a_parabola_that_mixes_refute_makes_no_other_end() -> None:
    """It ends before three flows, at which the second strategy surely leads: only one end."""
    found = steep(6, 0.05, k3=0.3, k5=-4.0, k7=-5.0)
    assert [i.sure for i in found.intervals] == [True]
    (end,) = found.intervals
    # The parabola does not end in there: by a straight line.
    assert end.at is not None
    assert 3 == end.low < end.at < end.high <= 5
    # Where mixes tell, so they do in how probably each mix is the equilibrium.
    assert [k for k, share in found.probability.items() if share > 0] == [3, 4, 5]


def test_an_end_where_nothing_was_measured() -> None:
    found = ends(lambda k: 5.0 - k, mixes=range(20, 40), noise=0.01)
    (end,) = found.intervals
    assert (end.low, end.high, end.at) == (0, 20, None)
    assert interval_text(end, NAMES, 50) == "between 0 and 20 bbr (nothing measured there)"


def test_only_lines_have_one() -> None:
    assert lead_ends(table_of((2,), 3, lambda state: np.ones((1, 3)))) is None
    assert lead_ends(table_of((2, 2), 2, lambda state: np.ones((2, 2)))) is None


@pytest.mark.parametrize("end", [0.6, 3.3, 12.9, 25.2, 37.4, 49.4])
def test_the_mix_of_an_end_is_the_equilibrium(end: float) -> None:
    """In a game of a constant total whose lead is straight."""
    n = 50
    utility = {}
    for k in range(n + 1):
        lead = 0.01 * (end - k)
        utility[k] = (1 - lead * k / n if k < n else NAN, 1 + lead * (n - k) / n if k else NAN)
    verdicts = judge_all(two_strategy_table(utility, n, NAMES, 1.0))
    (found,) = (v.state[0][1] for v in verdicts if v.equilibrium == "yes")
    assert mixes_between(end, end, n) == (found, found)


def test_corners_are_mixes_of_their_own() -> None:
    assert mixes_between(0, 0, 50) == (0, 0)
    assert mixes_between(50, 50, 50) == (50, 50)
    assert mixes_between(45.2, 50, 50)[1] == 50
    assert mixes_between(0, 3.2, 50) == (0, 3)


def test_probabilities_are_shares_of_one() -> None:
    found = ends(lambda k: (20.3 - k) * 50 / (k * (50 - k)), noise=1.0)
    assert sum(found.probability.values()) == pytest.approx(1, abs=0.02)
    best = max(found.probability, key=lambda k: found.probability[k])
    assert best in (19, 20, 21)
    assert 0.2 < found.probability[best] < 0.9


def test_text_of_an_interval() -> None:
    found = ends(lambda k: (20.3 - k) * 50 / (k * (50 - k)), noise=1.0)
    (end,) = found.intervals
    text = interval_text(end, NAMES, 50)
    low, high = mixes_between(end.low, end.high, 50)
    assert low < 20 < high
    assert text == f"30 cubic + 20 bbr (95 %: {low} to {high} bbr)"
    headline = headline_of([], NAMES, 50, found)
    assert f"{headline.mix} (95 %: {headline.interval})" == text == headline.line()


def test_without_an_interval_the_equilibria_of_the_means() -> None:
    assert headline_of(["3 a", "4 a"], NAMES, 50, None).line() == "3 a; 4 a"
    assert headline_of([], NAMES, 50, None).line() == "no equilibrium"
    undecided = headline_of([], NAMES, 50, None, ["2 mixes undecided"], "undecided")
    assert undecided.line() == "undecided; 2 mixes undecided"
    assert undecided.facts() == ["2 mixes undecided."]


@pytest.mark.parametrize(("at", "place"), [(None, 4.0), (3.5, 3.5)])
def test_an_end_that_is_not_known_is_taken_for_the_middle(at: float | None, place: float) -> None:
    assert CrossingInterval(3.0, 5.0, at, sure=True).place == place
