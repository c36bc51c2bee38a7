"""Best-response paths and replicator dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from nashbed.analysis.figures import dynamics
from nashbed.analysis.figures.style import house_style, save
from nashbed.analysis.nash.best_response import best_response_path
from nashbed.analysis.nash.equilibria import judge_all
from nashbed.analysis.nash.game import PayoffTable, all_states, two_strategy_table
from nashbed.analysis.nash.of_run import SettingEquilibria
from nashbed.analysis.nash.replicator import free_shares, population, trajectory
from nashbed.controlplane.contract.trial import Setting

NAN = float("nan")
GAME = {0: (5, NAN), 1: (4, 7), 2: (6, 6), 3: (NAN, 5)}
SETTING = Setting(
    label="b2bdp", rate_bps=10**7, buffer_bytes=10**5, buffer_label="2bdp", buffer_bdp=2,
    base_rtt_ns=(40_000_000,), overhead_bytes=0,
)  # fmt: skip


def table_of(sizes, strategies, payoff, names="abc"):
    samples = {s: np.array([payoff(s)], dtype=float) for s in all_states(sizes, strategies)}
    groups = ("near", "far")[: len(sizes)]
    return PayoffTable(tuple(names[:strategies]), groups, sizes, samples, 1.0)


def found(table: PayoffTable) -> SettingEquilibria:
    return SettingEquilibria(
        setting=SETTING, strategies=table.strategies, groups=table.groups, utility="throughput",
        epsilon=0.1, fair_share=1.0, table=table, verdicts=tuple(judge_all(table, 0.1)),
        crossings=(), frequency={}, epsilon_frequency={}, state_count=table.state_count,
        missing_count=0,
    )  # fmt: skip


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
    assert game.utilities(np.array([0.75])).ravel() == pytest.approx([1.0, 1.5])
    assert game.velocity(np.array([0.75])) == pytest.approx([0.09375])
    # It rests where U_b = 3 - 6 (x - 1/2) is 1: x = 5/6, from both sides.
    for start in (0.05, 0.5, 0.99):
        assert trajectory(game, [start], 60.0, 50)[-1, 0] == pytest.approx(5 / 6, abs=1e-3)
    # What is gone does not come back.
    assert trajectory(game, [0.0], 10.0, 5)[-1, 0] == 0.0


def test_replicator_of_two_groups() -> None:
    # Each group's lead of b falls with its own b flows only: 0 at half of the group.
    def payoff(state):
        return [[0.0, counts[0] - counts[1]] for counts in state]

    game = population(table_of((4, 4), 2, payoff))
    assert game.dimensions == 2
    end = trajectory(game, [0.1, 0.9], 40.0, 20)[-1]
    assert end == pytest.approx([0.5, 0.5], abs=0.02)
    assert free_shares(((3, 1), (0, 4))) == pytest.approx([0.25, 1.0])


def test_three_strategies_end_on_the_best() -> None:
    game = population(table_of((4,), 3, lambda s: [[1.0, 2.0, 3.0]]))
    assert trajectory(game, [0.3, 0.1], 40.0, 20)[-1] == pytest.approx([0, 1], abs=1e-3)


@pytest.mark.parametrize(
    ("sizes", "strategies"), [((6,), 2), ((4, 3), 2), ((4,), 3)], ids=["line", "square", "triangle"]
)
def test_figures(tmp_path, sizes, strategies) -> None:
    def payoff(state):
        totals = np.array([sum(c) for c in zip(*state, strict=True)])
        return [(10 + np.arange(strategies) * 2 - totals).tolist() for _ in sizes]

    table = table_of(sizes, strategies, payoff)
    with house_style():
        figure = dynamics.draw(found(table))
        assert figure is not None
        (path,) = save(figure, tmp_path / "figure", ("png",))
    assert path.stat().st_size > 5000


def test_nothing_is_drawn_of_nothing() -> None:
    assert dynamics.draw(found(PayoffTable(("a", "b"), ("x",), (4,), {}, 1.0))) is None
    one = two_strategy_table({0: (5, NAN)}, 3, ("a", "b"), 1.0)
    assert dynamics.draw(found(one)) is None
    alone = two_strategy_table({1: (5, 4)}, 3, ("a", "b"), 1.0)
    assert dynamics.draw(found(alone)) is None  # no switch is known
    four = table_of((2,), 4, lambda s: [[1.0] * 4], "abcd")
    assert dynamics.draw(found(four)) is None
