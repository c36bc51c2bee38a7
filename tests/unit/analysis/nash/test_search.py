"""Adaptive search against exhaustive search: random games, holes, budgets, and the CSV."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.analysis.nash.equilibria import judge_all
from nashbed.analysis.nash.game import PayoffTable, all_states
from nashbed.analysis.nash.search import AdaptiveSearch
from tests.support.search import none_exists, run_search

NAN = float("nan")
SHAPES = [((7,), 2), ((3,), 3), ((2, 2), 2), ((3, 2, 2), 2), ((4,), 4), ((2, 3), 3), ((1,), 2)]


def random_game(sizes, strategies, seed, levels=1000):
    rng = np.random.default_rng(seed)
    shape = (len(sizes), strategies)
    payoffs = {}
    for state in all_states(sizes, strategies):
        values = rng.integers(0, levels, shape).astype(float)
        values[np.array(state) == 0] = NAN
        payoffs[state] = values
    return payoffs


def exhaustive(payoffs, sizes, strategies):
    names = tuple("abcdefgh")
    table = PayoffTable(
        names[:strategies],
        names[: len(sizes)],
        sizes,
        {s: v[None] for s, v in payoffs.items()},
        1.0,
    )
    return {v.state for v in judge_all(table) if v.equilibrium == "yes"}


def congestion_game(flows, cut, slope=1.0, noise=0.0, seed=0):
    """Per-flow throughputs of which the lead falls through 0 near `cut`."""
    rng = np.random.default_rng(seed)
    lead = [slope * (cut - k) + noise * rng.normal() for k in range(flows + 1)]
    return {
        ((flows - k, k),): np.array(
            [[100 - lead[k] / 2 if k < flows else NAN, 100 + lead[k] / 2 if k else NAN]]
        )
        for k in range(flows + 1)
    }


def test_hand_traced_bisection() -> None:
    # N = 3, gains of the edges 0|1, 1|2, 2|3: U_b(k+1) - U_a(k) = 7-5, 6-4, 5-6 = +, +, -.
    # Between edge -1 and edge 3 the middle is edge 1: states 1 and 2, gain +2. Then between 1
    # and 3 it is edge 2: state 3, gain -1. So k = 2, with 1, 2 and 3 measured.
    u = {0: (5, NAN), 1: (4, 7), 2: (6, 6), 3: (NAN, 5)}
    search = AdaptiveSearch((3,), 2, guess=False)
    assert search.ask() == [((2, 1),), ((1, 2),)]
    for k in (1, 2):
        search.tell(((3 - k, k),), np.array([u[k]]))
    assert search.ask() == [((0, 3),)]
    search.tell(((0, 3),), np.array([u[3]]))
    assert search.ask() == []
    result = search.result()
    assert (result.equilibria, result.measured, result.finished) == ((((1, 2),),), 3, True)


def asked(search: AdaptiveSearch, game: dict) -> list[list[int]]:
    """Flows of the second strategy of the mixes that a search asks for, in its order."""
    rounds = []
    while states := search.ask():
        rounds.append([state[0][1] for state in states])
        for state in states:
            search.tell(state, game[state])
    return rounds


def test_hand_traced_steps_from_a_hint() -> None:
    # The lead ends at 30.5. From the hint, where B does not lead, a step of 50 / STRIDE = 1, which
    # grows by how far it has come: 40, 39, 37, 33, 25. There B leads, and halving follows: 29, 31;
    # then 30 leads, and its edges decide.
    search = AdaptiveSearch((50,), 2, hints=[((10, 40),)])
    assert asked(search, congestion_game(50, 30.5)) == [
        [40],
        [39],
        [37],
        [33],
        [25],
        [29],
        [31],
        [30],
    ]


def test_a_hint_at_the_end_that_is_known_already_is_no_answer() -> None:
    game = congestion_game(50, 30.5)
    search = AdaptiveSearch((50,), 2, hints=[((50, 0),)])
    search.tell(((50, 0),), game[((50, 0),)])
    assert search.ask() == [((25, 25),)]  # halfway, by itself


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(SHAPES), st.integers(0, 10**6), st.booleans(), st.sampled_from([2, 5, 1000]))
def test_any_game_ends_in_the_exhaustive_set(shape, seed, guess, levels) -> None:
    sizes, strategies = shape
    game = random_game(sizes, strategies, seed, levels)
    wanted = exhaustive(game, sizes, strategies)
    result = run_search(AdaptiveSearch(sizes, strategies, guess=guess), game.__getitem__)
    assert set(result.equilibria) <= wanted
    assert bool(result.equilibria) == bool(wanted)
    assert none_exists(result) == (not wanted)
    if len(sizes) == 1 and strategies == 2:
        assert wanted, "a game on a line always has an equilibrium"


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.integers(1, 200), st.floats(-10, 210), st.integers(0, 10**6))
def test_bisection_keeps_its_bound(flows, cut, seed) -> None:
    for noise in (0.0, 5.0, 1000.0):
        game = congestion_game(flows, cut, noise=noise, seed=seed)
        result = run_search(AdaptiveSearch((flows,), 2, guess=False), game.__getitem__)
        assert set(result.equilibria) & exhaustive(game, (flows,), 2)
        assert result.measured <= max(2, 2 * math.ceil(math.log2(flows + 1)))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.integers(1, 200), st.floats(-10, 210), st.integers(0, 10**6), st.integers(0, 200))
def test_guesses_keep_theirs(flows, cut, seed, hint) -> None:
    k = min(hint, flows)
    halvings = math.ceil(math.log2(flows + 1))
    for noise in (0.0, 5.0, 1000.0):
        game = congestion_game(flows, cut, noise=noise, seed=seed)
        search = AdaptiveSearch((flows,), 2, hints=[((flows - k, k),)])
        result = run_search(search, game.__getitem__)
        assert set(result.equilibria) & exhaustive(game, (flows,), 2)
        assert result.measured <= 2 + 2 * (2 * halvings) + 2 * halvings


@pytest.mark.parametrize("cut", [-5, 0.5, 12.5, 37.4, 49.5, 60])
def test_a_right_hint_saves_most_measurements(cut: float) -> None:
    game = congestion_game(50, cut)
    wanted = exhaustive(game, (50,), 2)
    state = min(wanted)
    result = run_search(AdaptiveSearch((50,), 2, hints=[state]), game.__getitem__)
    assert set(result.equilibria) & wanted
    assert result.measured <= (2 if min(state[0]) == 0 else 6)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.sampled_from(SHAPES), st.integers(0, 10**6), st.floats(0, 0.7), st.booleans())
def test_holes_never_make_a_wrong_answer(shape, seed, share, guess) -> None:
    sizes, strategies = shape
    game = random_game(sizes, strategies, seed)
    wanted = exhaustive(game, sizes, strategies)
    rng = np.random.default_rng(seed)
    dead = {state for state in game if rng.random() < share}
    search = AdaptiveSearch(sizes, strategies, guess=guess)
    result = run_search(search, lambda s: None if s in dead else game[s])
    assert set(result.equilibria) <= wanted
    # Without an equilibrium it says where one may hide, and holes are the reason.
    assert result.equilibria or result.hidden or not wanted
    assert not result.hidden or dead
    assert result.finished


def test_a_hole_at_the_crossing_is_said() -> None:
    game = congestion_game(10, 4.4)
    (state,) = exhaustive(game, (10,), 2)
    search = AdaptiveSearch((10,), 2)
    result = run_search(search, lambda s: None if s == state else game[s])
    assert not result.equilibria
    assert state in result.hidden
    assert len(result.hidden) == 3


def test_not_finite_utilities_count_as_holes() -> None:
    search = AdaptiveSearch((2,), 2)
    search.tell(((1, 1),), np.array([[NAN, 3.0]]))
    search.tell(((2, 0),), np.array([[3.0, NAN]]))  # no such flow: fine
    assert (search.result().measured, search.result().unmeasurable) == (1, 1)


def test_the_budget_ends_a_search() -> None:
    game = congestion_game(50, 13.3)
    result = run_search(AdaptiveSearch((50,), 2, budget=4), game.__getitem__)
    assert result.measured <= 4
    assert (result.equilibria, result.finished, none_exists(result)) == ((), False, False)


def test_a_game_without_an_equilibrium_is_ruled_out() -> None:
    # Rock, paper, scissors of one flow in each of two groups: matching against mismatching.
    game = {}
    for state in all_states((1, 1), 2):
        same = state[0] == state[1]
        game[state] = np.where(np.array(state) > 0, [[float(same)] * 2, [float(not same)] * 2], NAN)
    result = run_search(AdaptiveSearch((1, 1), 2), game.__getitem__)
    assert none_exists(result)
    assert not exhaustive(game, (1, 1), 2)


def test_what_is_known_is_not_asked_again() -> None:
    game = congestion_game(50, 21.7)
    first = AdaptiveSearch((50,), 2)
    told = {}
    for _ in range(3):
        for state in first.ask():
            told[state] = game[state]
            first.tell(state, game[state])
    resumed = AdaptiveSearch((50,), 2)
    for state, payoffs in told.items():
        resumed.tell(state, payoffs)
    while states := resumed.ask():
        assert not set(states) & set(told)
        for state in states:
            told[state] = game[state]
            resumed.tell(state, game[state])
    assert set(resumed.result().equilibria) <= exhaustive(game, (50,), 2)


def test_three_rtt_groups_at_a_fraction_of_the_mixes() -> None:
    # 3 groups of 10 flows: BBR's lead falls with all BBR flows and is larger at long RTTs.
    sizes = (10, 10, 10)
    game = {}
    for state in all_states(sizes, 2):
        others = sum(counts[1] for counts in state)
        lead = [rtt - 1.3 * others for rtt in (12.0, 20.0, 31.0)]
        values = np.array([[-x / 2, x / 2] for x in lead])
        game[state] = np.where(np.array(state) > 0, values, NAN)
    wanted = exhaustive(game, sizes, 2)
    result = run_search(AdaptiveSearch(sizes, 2), game.__getitem__)
    assert set(result.equilibria) <= wanted
    assert result.equilibria
    assert result.measured < 0.06 * len(game)  # of 1331


@pytest.mark.parametrize("bad", [((3, 3),), ((5, 1), (1, 1)), ((6, -1),), ((2, 2, 1),)])
def test_hints_must_be_states(bad) -> None:
    with pytest.raises(ValueError, match="is no state"):
        AdaptiveSearch((5,), 2, hints=[bad])


@pytest.mark.parametrize(("sizes", "strategies"), [((), 2), ((5,), 1), ((0,), 2)])
def test_games_must_have_a_choice(sizes, strategies) -> None:
    with pytest.raises(ValueError, match="a game needs"):
        AdaptiveSearch(sizes, strategies)
