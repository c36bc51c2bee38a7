"""Equilibria: the definition, its corners, several groups and strategies, and what is missing."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.analysis.nash.equilibria import judge, judge_all
from nashbed.analysis.nash.game import PayoffTable, all_states, deviations, two_strategy_table

NAN = float("nan")


def named(utility: dict[int, tuple[float, float]], flows: int, fair: float = 1.0) -> PayoffTable:
    return two_strategy_table(utility, flows, ("a", "b"), fair)


def equilibria(table: PayoffTable, epsilon: float = 0.0) -> list[int]:
    """Flows of the second strategy at the equilibria."""
    return [v.state[0][1] for v in judge_all(table, epsilon) if v.epsilon_equilibrium == "yes"]


def test_hand_computed_game() -> None:
    # k:         0          1          2          3
    # U_a        5          4          6          -
    # U_b        -          7          6          5
    # k=0: a flow switching gets U_b(1) = 7 > 5: no.
    # k=1: U_b(2) = 6 > U_a(1) = 4: no.
    # k=2: U_b(3) = 5 <= U_a(2) = 6 and U_a(1) = 4 <= U_b(2) = 6: yes.
    # k=3: U_a(2) = 6 > U_b(3) = 5: no, gain 1.
    table = named({0: (5, NAN), 1: (4, 7), 2: (6, 6), 3: (NAN, 5)}, 3)
    assert equilibria(table) == [2]
    gains = {v.state[0][1]: v.gain for v in judge_all(table)}
    assert gains == {0: 2.0, 1: 2.0, 2: 0.0, 3: 1.0}
    # With a fair share of 1, epsilon 1 allows a gain of exactly 1.
    assert equilibria(table, epsilon=1.0) == [2, 3]


def test_corners_have_one_condition() -> None:
    assert equilibria(named({0: (5, NAN), 1: (4, 4), 2: (NAN, 1)}, 2)) == [0]
    assert equilibria(named({0: (1, NAN), 1: (4, 4), 2: (NAN, 5)}, 2)) == [2]
    # Coordination: both corners.
    assert equilibria(named({0: (5, NAN), 1: (1, 1), 2: (NAN, 5)}, 2)) == [0, 2]


def test_a_tie_is_no_gain() -> None:
    assert equilibria(named({0: (2, NAN), 1: (2, 2), 2: (NAN, 2)}, 2)) == [0, 1, 2]


def test_missing_mixes_leave_states_undecided() -> None:
    table = named({0: (5, NAN), 1: (4, 7), 3: (NAN, 5)}, 3)
    answers = {v.state[0][1]: v.equilibrium for v in judge_all(table)}
    # 0 is decided by its own neighbour; 1 and 3 lack state 2; 2 was not measured.
    assert answers == {0: "no", 1: "undecided", 2: "undecided", 3: "undecided"}
    unknown = judge(table, ((2, 1),)).unknown
    assert unknown == (((1, 2),),)


def test_a_known_gain_decides_although_another_neighbour_is_missing() -> None:
    table = named({0: (9, NAN), 1: (4, 7)}, 3)
    assert judge(table, ((2, 1),)).equilibrium == "no"


def test_one_mix_only() -> None:
    answers = {v.equilibrium for v in judge_all(named({2: (3, 3)}, 4))}
    assert answers == {"undecided"}


def test_every_deviation_is_there() -> None:
    state = ((2, 0, 1), (0, 1, 0))
    found = {(d.group, d.leaves, d.joins): d.to for d in deviations(state)}
    assert len(found) == 6
    assert found[0, 0, 1] == ((1, 1, 1), (0, 1, 0))
    assert found[1, 1, 2] == ((2, 0, 1), (0, 0, 1))


def test_states_are_counted() -> None:
    assert all_states((2,), 2) == [((2, 0),), ((1, 1),), ((0, 2),)]
    table = PayoffTable(("a", "b", "c"), ("x", "y"), (4, 3), {}, 1.0)
    assert len(table.states) == table.state_count == 15 * 10
    huge = PayoffTable(tuple("abcdefgh"), ("x",), (50,), {}, 1.0)
    assert huge.state_count == 264385836
    assert huge.states == []


def independent(sizes, strategies, payoff) -> list:
    """Equilibria by giving every single flow a strategy and trying each of its switches."""
    players = [(g, i) for g, size in enumerate(sizes) for i in range(size)]

    def state_of(profile):
        return tuple(
            tuple(
                sum(1 for (pg, _), s in zip(players, profile, strict=True) if pg == g and s == x)
                for x in range(strategies)
            )
            for g in range(len(sizes))
        )

    found = set()
    for profile in product(range(strategies), repeat=len(players)):
        here = state_of(profile)
        stable = True
        for p, (group, _) in enumerate(players):
            for other in range(strategies):
                changed = (*profile[:p], other, *profile[p + 1 :])
                after = payoff[state_of(changed)][group, other]
                stable &= after <= payoff[here][group, profile[p]]
        if stable:
            found.add(here)
    return sorted(found)


@pytest.mark.slow
@given(
    st.sampled_from([((3,), 2), ((2, 2), 2), ((4,), 3), ((1, 2), 3), ((2, 1, 1), 2)]),
    st.integers(0, 10**6),
)
def test_against_an_independent_search(shape, seed) -> None:
    sizes, strategies = shape
    rng = np.random.default_rng(seed)
    states = all_states(sizes, strategies)
    payoff = {s: rng.integers(0, 6, (len(sizes), strategies)).astype(float) for s in states}
    table = PayoffTable(
        tuple("abc"[:strategies]), tuple("xyz"[: len(sizes)]), sizes,
        {s: v[None] for s, v in payoff.items()}, 1.0,
    )  # fmt: skip
    found = sorted(v.state for v in judge_all(table) if v.equilibrium == "yes")
    assert found == independent(sizes, strategies, payoff)


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), min_size=3, max_size=9),
       st.floats(0, 3), st.floats(0, 3))  # fmt: skip
def test_epsilon_equilibria_only_grow(pairs, one, two) -> None:
    table = named(dict(enumerate(pairs)), len(pairs) - 1)
    small, large = sorted((one, two))
    assert set(equilibria(table)) <= set(equilibria(table, small))
    assert set(equilibria(table, small)) <= set(equilibria(table, large))
