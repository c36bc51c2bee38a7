"""Games of pairs: each is judged as if its two strategies were the only ones."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from nashbed.analysis.nash.answer import pair_answer
from nashbed.analysis.nash.equilibria import judge_all
from nashbed.analysis.nash.game import PayoffTable, pair_table
from nashbed.analysis.nash.pairs import equilibria_of_pairs, mean_share, pairs_text
from nashbed.analysis.state import State

NAMES = ("cubic", "bbr", "copa")
FLOWS = 10
FAIR = 10.0
CROSSINGS = {(0, 1): 6.0, (0, 2): -5.0, (1, 2): 20.0}
"""Flows of the second at which its lead ends: inside, before the line, behind it."""
PAIRS = frozenset(map(frozenset, CROSSINGS))


def state_of(first: int, second: int, k: int) -> State:
    counts = [0] * len(NAMES)
    counts[first] += FLOWS - k
    counts[second] += k
    return (tuple(counts),)


def table() -> PayoffTable:
    """The lead of the second of each pair falls linearly, and ends at its crossing."""
    samples: dict[State, np.ndarray] = {}
    for pair, crossing in CROSSINGS.items():
        for k in range(FLOWS + 1):
            payoffs = np.full((1, 1, len(NAMES)), np.nan)
            lead = 0.4 * (crossing - k)
            if k < FLOWS:
                payoffs[0, 0, pair[0]] = FAIR - lead / 2
            if k > 0:
                payoffs[0, 0, pair[1]] = FAIR + lead / 2
            samples.setdefault(state_of(*pair, k), payoffs)
    return PayoffTable(NAMES, ("main",), (FLOWS,), samples, FAIR, pairs=PAIRS)


def test_every_pair_is_a_game_of_its_own() -> None:
    pairs = equilibria_of_pairs(table(), settled=lambda state: True, condition="at 9 s")
    assert [(p.first, p.second) for p in pairs] == list(combinations(NAMES, 2))
    inner, never, always = pairs
    assert inner.share_of_first == pytest.approx(0.4)
    assert inner.span_of_first is not None
    assert inner.span_of_first[0] <= 0.4 <= inner.span_of_first[1]
    assert inner.text().startswith("cubic against bbr: 4 cubic + 6 bbr (95 %: ")
    assert never.shares_of_first == [1.0]
    assert always.shares_of_first == [0.0]
    assert always.text() == "bbr against copa: 10 copa (95 %: no other mix)"


@pytest.mark.parametrize(("k", "pairs"), [(0, 0), (1, 1)])
def test_a_pair_is_measured_where_both_had_a_flow(k: int, pairs: int) -> None:
    few = replace(table(), samples={state_of(0, 1, k): table().samples[state_of(0, 1, k)]})
    assert len(equilibria_of_pairs(few, settled=lambda state: True, condition="")) == pairs


def test_a_pair_says_its_condition_by_itself() -> None:
    moving = state_of(0, 1, 6)
    pairs = equilibria_of_pairs(table(), lambda state: state != moving, "at 9 s")
    inner, never, always = pairs
    assert (inner.not_settled, inner.condition) == ((moving,), "at 9 s")
    assert inner.text().startswith("cubic against bbr: at 9 s: 4 cubic + 6 bbr")
    assert (never.condition, always.condition) == ("", "")
    assert (pair_answer(inner).settled, pair_answer(inner).condition) == (False, "at 9 s")
    assert (pair_answer(never).settled, pair_answer(never).condition) == (True, None)


def test_the_game_of_a_pair_is_that_of_two_strategies() -> None:
    whole = table()
    for first, second in CROSSINGS:
        game = pair_table(whole, first, second)
        assert game.strategies == (NAMES[first], NAMES[second])
        assert sorted(s[0][1] for s in game.samples) == list(range(FLOWS + 1))
        alone = {v.state: v.equilibrium for v in judge_all(game)}
        for verdict in judge_all(whole):
            counts = (verdict.state[0][first], verdict.state[0][second])
            if min(counts) > 0:
                assert verdict.equilibrium == alone[(counts,)]


def test_nobody_leaves_for_a_third_strategy() -> None:
    """But where all flows run one strategy, a flow may try each that it has a game against."""
    moves = {m.to for m in table().moves(state_of(0, 1, 5))}
    assert moves == {state_of(0, 1, 4), state_of(0, 1, 6)}
    assert len(list(table().moves(state_of(0, 1, 0)))) == 2


def test_a_strategy_alone_is_judged_in_its_own_games_only() -> None:
    """With `pairs: first` bbr and copa play no game, and so neither is undecided for want of it."""
    first = frozenset({frozenset({0, 1}), frozenset({0, 2})})
    verdicts = {v.state: v.equilibrium for v in judge_all(replace(table(), pairs=first))}
    alone = [state_of(0, 1, 0), state_of(0, 1, FLOWS), state_of(0, 2, FLOWS)]
    assert [verdicts[state] for state in alone] == ["no", "no", "no"]
    only = replace(table(), pairs=frozenset({frozenset({0, 2})}))
    assert judge_all(only)[0].equilibrium == "yes"


def test_ranking() -> None:
    pairs = equilibria_of_pairs(table(), lambda state: True, "")
    assert mean_share(pairs, "cubic") == pytest.approx((0.4 + 1.0) / 2)
    assert mean_share(pairs, "bbr") == pytest.approx((0.6 + 0.0) / 2)
    assert mean_share(pairs, "copa") == pytest.approx((0.0 + 1.0) / 2)
    assert mean_share(pairs, "reno") is None
    assert pairs_text(pairs).count(";") == 2
    assert pairs_text((pairs * 3)[:8]).count(";") == 7
    many = pairs_text(pairs * 3)
    assert many.endswith("mean over opponents: cubic 70%, copa 50%, bbr 30%")
