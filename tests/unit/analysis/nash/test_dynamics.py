"""Best-response paths and replicator dynamics."""

import numpy as np
import pytest
from nashbed.analysis.nash.dynamics import (
    best_response_path,
    free_shares,
    population,
    trajectories,
)
from nashbed.analysis.nash.game import two_strategy_table
from tests.unit.analysis.made_games import GAME, NAN, table_of


def test_best_response_by_hand() -> None:
    # From 0: 7 > 5, to 1; from 1: 6 > 4, to 2; at 2 nobody gains. From 3: 6 > 5, to 2.
    table = two_strategy_table(GAME, 3, ("a", "b"), 1.0)
    path = best_response_path(table, ((3, 0),))
    assert path.states == (((3, 0),), ((2, 1),), ((1, 2),))
    assert path.end == "equilibrium"
    assert best_response_path(table, ((0, 3),)).states == (((0, 3),), ((1, 2),))


def test_best_response_can_go_round_in_a_circle() -> None:
    def pennies(state):
        same = state[0] == state[1]
        return [[same, same], [not same, not same]]

    path = best_response_path(table_of((1, 1), 2, pennies), ((1, 0), (1, 0)))
    assert path.end == "cycle"
    assert path.states[0] == path.states[-1]
    assert len(path.states) == 5


def test_best_response_stops_where_nothing_was_measured() -> None:
    table = two_strategy_table({0: GAME[0], 1: GAME[1]}, 3, ("a", "b"), 1.0)
    path = best_response_path(table, ((3, 0),))
    assert (path.states[-1], path.end) == (((2, 1),), "not measured")


def test_replicator_by_hand() -> None:
    # Hawk and dove with 2 flows: U_a = 2 alone or 1, U_b = 3 beside a dove, 0 beside a hawk.
    # a: 2 at x = 0, 1 at x = 1/2; b: 3 at x = 1/2, 0 at x = 1, both held constant beyond.
    # At x = 3/4: U_a = 1 (beyond), U_b = 1.5: dx/dt = 3/4 x 1/4 x 0.5 = 0.09375.
    game = population(two_strategy_table({0: (2, NAN), 1: (1, 3), 2: (NAN, 0)}, 2, ("a", "b"), 1.0))
    assert game.utilities(np.array([[0.75]])).ravel() == pytest.approx([1.0, 1.5])
    assert game.velocity(np.array([[0.75]])) == pytest.approx(np.array([[0.09375]]))
    # It rests where U_b = 3 - 6 (x - 1/2) is 1: x = 5/6, from both sides.
    # What is gone does not come back.
    ends = trajectories(game, [[0.05], [0.5], [0.99], [0.0]], 60.0, 50)[:, -1, 0]
    assert ends == pytest.approx([5 / 6, 5 / 6, 5 / 6, 0.0], abs=1e-3)
    assert ends[3] == 0.0


def test_replicator_of_two_groups() -> None:
    # Each group's lead of b falls with its own b flows only: 0 at half of the group.
    def payoff(state):
        return [[0.0, counts[0] - counts[1]] for counts in state]

    game = population(table_of((4, 4), 2, payoff))
    assert game.dimensions == 2
    end = trajectories(game, [[0.1, 0.9]], 40.0, 20)[0, -1]
    assert end == pytest.approx([0.5, 0.5], abs=0.02)
    assert free_shares(((3, 1), (0, 4))) == pytest.approx([0.25, 1.0])


def test_three_strategies_end_on_the_best() -> None:
    game = population(table_of((4,), 3, lambda s: [[1.0, 2.0, 3.0]]))
    assert trajectories(game, [[0.3, 0.1]], 40.0, 20)[0, -1] == pytest.approx([0, 1], abs=1e-3)
