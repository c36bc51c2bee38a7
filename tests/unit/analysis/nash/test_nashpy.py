"""Small games against nashpy, an independent game library.

A profile of N players is an equilibrium if and only if, for every two of them with the others
fixed, it is one of the two-player game that is left. So nashpy, which knows two players, judges
every profile of 2 to 4 players, and the states of the equilibria are compared.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import nashpy
import numpy as np
import pytest
from nashbed.analysis.nash.equilibria import judge_all
from nashbed.analysis.nash.game import PayoffTable, all_states
from nashbed.analysis.nash.search import AdaptiveSearch
from tests.support.search import run_search

Profile = tuple[int, ...]


class Players:
    """The game of single players that a game of groups stands for."""

    def __init__(self, sizes: tuple[int, ...], strategies: int, payoffs: dict[Any, Any]) -> None:
        self.group = [g for g, size in enumerate(sizes) for _ in range(size)]
        self.sizes, self.strategies, self.payoffs = sizes, strategies, payoffs

    def state(self, profile: Profile) -> tuple[tuple[int, ...], ...]:
        counts = np.zeros((len(self.sizes), self.strategies), dtype=int)
        for player, strategy in enumerate(profile):
            counts[self.group[player], strategy] += 1
        return tuple(map(tuple, counts.tolist()))

    def payoff(self, player: int, profile: Profile) -> float:
        return float(self.payoffs[self.state(profile)][self.group[player], profile[player]])

    def two_player_game(self, one: int, two: int, profile: Profile) -> nashpy.Game:
        """What is left for two players when the others stay with a profile."""

        def after(a: int, b: int) -> Profile:
            changed = list(profile)
            changed[one], changed[two] = a, b
            return tuple(changed)

        every = range(self.strategies)
        rows = [[self.payoff(one, after(a, b)) for b in every] for a in every]
        columns = [[self.payoff(two, after(a, b)) for b in every] for a in every]
        return nashpy.Game(np.array(rows), np.array(columns))

    def is_equilibrium(self, profile: Profile) -> bool:
        pure = np.eye(self.strategies)
        return all(
            all(
                self.two_player_game(one, two, profile).is_best_response(
                    pure[profile[one]], pure[profile[two]]
                )
            )
            for one, two in combinations(range(len(self.group)), 2)
        )

    def equilibrium_states(self) -> set[Any]:
        profiles = product(range(self.strategies), repeat=len(self.group))
        return {self.state(p) for p in profiles if self.is_equilibrium(p)}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("sizes", "strategies"),
    [((2,), 2), ((2,), 3), ((3,), 2), ((4,), 2), ((1, 1), 3), ((2, 1), 2), ((2, 2), 2), ((3,), 3)],
)
def test_every_pure_equilibrium(sizes: tuple[int, ...], strategies: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = (len(sizes), strategies)
    payoffs = {s: rng.integers(0, 9, shape).astype(float) for s in all_states(sizes, strategies)}
    expected = Players(sizes, strategies, payoffs).equilibrium_states()

    names = tuple("abcd")
    samples = {state: values[None] for state, values in payoffs.items()}
    table = PayoffTable(names[:strategies], names[: len(sizes)], sizes, samples, 1.0)
    assert {v.state for v in judge_all(table) if v.equilibrium == "yes"} == expected

    found = run_search(AdaptiveSearch(sizes, strategies), payoffs.__getitem__)
    assert set(found.equilibria) <= expected
    assert bool(found.equilibria) == bool(expected)


def test_two_flows_are_the_bimatrix_game() -> None:
    """Hawk and dove: nashpy's own enumeration of the pure equilibria finds the mixed state."""
    # Two doves get 2 each, a hawk against a dove 3 and 1, two hawks 0.
    game = {((2, 0),): [[2, 9]], ((1, 1),): [[1, 3]], ((0, 2),): [[9, 0]]}
    row = np.array([[2, 1], [3, 0]])
    pure = [
        (int(a.argmax()), int(b.argmax()))
        for a, b in nashpy.Game(row, row.T).support_enumeration()
        if a.max() == b.max() == 1
    ]
    assert sorted(pure) == [(0, 1), (1, 0)]
    payoffs = {state: np.array(values, dtype=float) for state, values in game.items()}
    result = run_search(AdaptiveSearch((2,), 2), payoffs.__getitem__)
    assert result.equilibria == (((1, 1),),)
