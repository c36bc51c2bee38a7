"""Campaigns: which trials a run chooses as results arrive."""

from itertools import groupby

import numpy as np
import pytest
from nashbed.analysis.campaign.campaign import Campaign, Game, Rules, TrialRequest
from nashbed.analysis.campaign.flanks import flanks, open_sides
from nashbed.analysis.campaign.of_scenario import fluid_start
from nashbed.analysis.campaign.speculation import bracket, fill
from nashbed.analysis.models.expected import quick_crossing
from nashbed.analysis.models.mix_files import PUBLISHED_MIXES as MIXES
from nashbed.analysis.nash.crossing_interval import ends_of_leads
from nashbed.analysis.nash.deciding import places_about
from nashbed.analysis.nash.equilibria import judge_all
from tests.support.published_panels import hints_of, payoff_table, read_mixes
from tests.support.search import none_exists


def linear(crossing: float, flows: int, noise: float = 0.0, seed: int = 1):
    """A game of like flows in which B leads below `crossing` B flows; fair share 1."""
    rng = np.random.default_rng(seed)

    def payoffs(state):
        b = state[0][1]
        lead = 2 * (crossing - b) / flows
        a_value, b_value = 1 - lead * b / flows, 1 + lead * (flows - b) / flows
        values = np.array([[a_value, b_value]]) + rng.normal(0, noise, (1, 2))
        return np.where(np.array(state) > 0, values, np.nan)

    return payoffs


def run(campaign: Campaign, payoffs, most: int = 1000) -> list[list[TrialRequest]]:
    """Rounds of a campaign against one oracle for each game."""
    rounds = []
    while requests := campaign.ask():
        rounds.append(requests)
        for request in requests:
            campaign.tell(request, payoffs[request.game](request.state))
        assert len(rounds) < most
    assert campaign.ask() == []
    return rounds


def game(flows: int = 50, **more) -> Game:
    return Game((flows,), 2, 1.0, **more)


def test_fill_halves_the_widest_gaps_of_the_bracket() -> None:
    leads = {10: 0.5, 30: -0.5}
    assert bracket(50, leads.get) == (10, 30)
    # 11 to 29 are free: 20 is wanted, then the middles of 11-19 and 21-29.
    assert fill(50, leads.get, [20], {10, 30}, 3) == [20, 15, 25]
    assert fill(50, leads.get, [20], {10, 30}, 1) == [20]


def test_fill_stops_when_the_bracket_is_measured() -> None:
    leads = {10: 0.5, 11: 0.1, 12: -0.5}
    assert fill(50, leads.get, [13], {10, 11, 12}, 9) == [13]


def test_fill_looks_around_a_hint_until_the_lead_is_bracketed() -> None:
    def nothing(_: int) -> None:
        return None

    # Steps of 1, 2 and 4 of 50 flows, to both sides; beyond an end there is nothing.
    assert fill(50, nothing, [20], {20}, 5, hint=20) == [20, 19, 21, 17, 23]
    assert fill(50, nothing, [49, 50], set(), 4, hint=50)[2:] == [47, 43]
    leads = {20: 0.5}
    assert fill(50, leads.get, [21], {20}, 3, hint=20) == [21, 23, 27]
    leads = {20: 0.5, 30: -0.5}
    assert fill(50, leads.get, [21], {20, 30}, 2, hint=20) == [21, 25]


def test_a_hint_that_is_right_takes_one_round_on_three_lanes() -> None:
    campaign = Campaign([game(hints=[((38, 12),)])], Rules(repetitions=1, lanes=3, epsilon=0.0))
    rounds = run(campaign, [linear(12.2, 50)])
    assert [sorted(r.state[0][1] for r in requests) for requests in rounds] == [
        [11, 12, 13],
        [7, 8, 17],  # for an interval
    ]


@pytest.mark.parametrize("width", [1, 3, 8])
@pytest.mark.parametrize("crossing", [0.3, 7.4, 25.5, 49.6])
def test_a_clear_game_is_settled(width: int, crossing: float) -> None:
    campaign = Campaign([game()], Rules(repetitions=1, lanes=width, epsilon=0.0))
    rounds = run(campaign, [linear(crossing, 50)])
    assert all(len(requests) <= max(width, 2) for requests in rounds)
    found = campaign.result(0).equilibria
    assert [abs(s[0][1] - crossing) < 1.5 for s in found] == [True]


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("crossing", [6.3, 18.7, 25.5, 40.2])
def test_intervals_are_closed_or_every_mix_of_a_side_is_measured(crossing, noise) -> None:
    for seed in range(5):
        own = game()
        campaign = Campaign([own], Rules(repetitions=1, lanes=2, epsilon=0.0))
        run(campaign, [linear(crossing, 50, noise, seed)])
        found = campaign.result(0).equilibria
        here = found[0][0][1]
        left, right = open_sides(own.leads, 50)
        assert not left or set(range(1, here)) <= set(own.leads)
        assert not right or set(range(here + 1, 50)) <= set(own.leads)


@pytest.mark.slow
def test_closed_intervals_take_few_mixes(record_property) -> None:
    taken = []
    for seed, crossing in enumerate(np.linspace(10, 40, 60)):
        own = game(hints=[((50 - round(crossing), round(crossing)),)])
        campaign = Campaign([own], Rules(repetitions=1, lanes=1, epsilon=0.0))
        run(campaign, [linear(crossing, 50, 0.03, seed)])
        taken.append(len(own.samples))
        assert not any(open_sides(own.leads, 50))
    record_property("mixes of a setting", f"mean {np.mean(taken):.1f}, most {max(taken)}")
    assert 6 <= np.mean(taken) <= 9


def test_the_first_flank_is_halfway_to_the_end() -> None:
    leads = {p: np.array([0.01 * (-1) ** p]) for p in (22, 24, 25, 26, 28)}
    assert open_sides(leads, 50) == (True, True)
    assert flanks(50, 25, set(leads), leads) == [11, 39]
    told = {p: np.array([0.05 * (25 - p) + 0.02 * (-1) ** p]) for p in (11, 22, 24, 25, 26)}
    assert open_sides(told, 50) == (False, True)
    assert flanks(50, 25, set(told), told) == [38]
    assert flanks(50, 25, set(range(51)), leads) == []


def test_a_budget_ends_the_search_and_the_flanks() -> None:
    for budget in (4, 7, 9):
        own = game()
        campaign = Campaign([own], Rules(1, lanes=3, epsilon=0.0, budget=budget))
        run(campaign, [linear(25.5, 50, noise=0.3)])
        assert len(own.samples) <= budget
    found = campaign.result(0)
    assert found.measured == 9


def test_deciding_mixes_run_from_both_starts_where_these_must_agree() -> None:
    noisy = linear(25.5, 50, noise=0.01)
    other = game(hints=[((25, 25),)])
    campaign = Campaign([game(), other], Rules(3, lanes=2, epsilon=0.0, least=2))
    run(campaign, [noisy, linear(25.5, 50, noise=0.01, seed=2)])
    for own in campaign.games:
        ends = ends_of_leads(own.leads, 50)
        (interval,) = ends.intervals
        about = places_about(interval, sorted(own.leads))
        assert about
        assert all(len(own.leads[p]) >= 2 for p in about)


def test_nothing_is_asked_twice_and_never_more_than_the_repetitions() -> None:
    campaign = Campaign([game(10)] * 1, Rules(repetitions=4, lanes=3, epsilon=0.0))
    rounds = run(campaign, [linear(5.2, 10, noise=0.5)])
    asked = [request for requests in rounds for request in requests]
    assert len(asked) == len(set(asked))
    assert max(request.repetition for request in asked) <= 3


def test_a_clear_decision_is_not_repeated_to_the_end() -> None:
    """Gains of 0.2 fair shares and noise of 0.001: two repetitions say all."""
    campaign = Campaign([game(10)], Rules(repetitions=20, lanes=1, epsilon=0.0))
    rounds = run(campaign, [linear(5.5, 10, noise=0.001)])
    assert max(request.repetition for requests in rounds for request in requests) == 1


def test_a_state_that_cannot_be_measured_is_passed_round() -> None:
    oracle = linear(5.5, 10)
    campaign = Campaign([game(10)], Rules(repetitions=1, lanes=1, epsilon=0.0))
    run(campaign, [lambda state: None if state[0][1] == 5 else oracle(state)])
    assert campaign.result(0).unmeasurable == 1
    assert campaign.ask() == []


def test_a_setting_that_is_done_hints_at_neighbours_that_have_no_hint() -> None:
    games = [game(), game(hints=[((38, 12),)]), game(hints=[((13, 37),)])]
    campaign = Campaign(games, Rules(repetitions=1, lanes=1, epsilon=0.0))
    run(campaign, [linear(37.3, 50), linear(12.2, 50), linear(37.3, 50)])
    assert any(abs(hint[0][1] - 12.2) < 1.5 for hint in games[0].hints)
    assert games[2].hints == [((13, 37),)]


def test_a_resumed_campaign_asks_for_nothing_that_it_was_told() -> None:
    rules = Rules(repetitions=2, lanes=2, epsilon=0.0)
    oracle = linear(12.2, 50)
    whole = [w for requests in run(Campaign([game()], rules), [oracle]) for w in requests]
    resumed = Campaign([game()], rules)
    for request in whole[:5]:
        resumed.tell(request, oracle(request.state))
    rest = [w for requests in run(resumed, [oracle]) for w in requests]
    assert not set(whole[:5]) & set(rest)


def test_two_groups_and_three_strategies_end() -> None:
    rng = np.random.default_rng(3)
    table: dict = {}

    def oracle(state):
        values = table.setdefault(state, rng.uniform(0.5, 1.5, (2, 3)))
        return np.where(np.array(state) > 0, values, np.nan)

    campaign = Campaign([Game((3, 2), 3, 1.0)], Rules(repetitions=1, lanes=4, epsilon=0.0))
    run(campaign, [oracle])
    result = campaign.result(0)
    assert result.equilibria or none_exists(result)


@pytest.mark.parametrize(
    ("start", "most"),
    [(quick_crossing, 9.1), pytest.param(fluid_start, 8.5, marks=pytest.mark.long)],
)
def test_published_panels(start, most, record_property) -> None:
    """Every panel as one campaign on 21 lanes: seven buffers, three mixes of each in a round."""
    mixes = read_mixes(MIXES)
    trials, rounds, still_open = [], [], 0
    for _, keys in groupby(sorted(mixes), key=lambda key: (key.rate_mbps, key.base_rtt_ms)):
        panel = list(keys)
        tables = [payoff_table(mixes[key]) for key in panel]
        games = [
            Game((k.flows,), 2, t.fair_share, hints_of(k, start))
            for k, t in zip(panel, tables, strict=True)
        ]
        campaign = Campaign(games, Rules(repetitions=1, lanes=21, epsilon=0.0))
        done = run(campaign, [t.means.get for t in tables])
        for i, table in enumerate(tables):
            exhaustive = {v.state for v in judge_all(table) if v.equilibrium == "yes"}
            assert campaign.result(i).equilibria, panel[i]
            assert set(campaign.result(i).equilibria) <= exhaustive, panel[i]
            sides = open_sides(games[i].leads, 50)
            still_open += any(sides)
            # Only where every mix on that side is measured: 50 BBR flows, 49 of them surely not.
            assert not any(sides) or {42, 43, 44, 45, 46, 47, 48, 49} <= set(games[i].leads)
        trials.append(sum(map(len, done)) / len(panel))
        rounds.append(len(done))
    record_property("mixes of a setting", f"mean {np.mean(trials):.1f}")
    record_property("rounds of a panel", f"{min(rounds)} to {max(rounds)}")
    record_property("open intervals", str(still_open))
    assert np.mean(trials) <= most
    assert max(rounds) <= 10
    assert still_open <= 3
