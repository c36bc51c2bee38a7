"""Where flows would move: gains and arrows on a line, paths in the plane of mixes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from nashbed.analysis.figures.dynamics import draw_dynamics
from nashbed.analysis.figures.style import GOOD
from nashbed.analysis.nash.dynamics import best_response_path, free_shares
from nashbed.analysis.nash.game import PayoffTable, two_strategy_table
from tests.support.drawn import bars, colour, points, spans, texts, unlabelled_lines
from tests.unit.analysis.made_games import GAME, NAN, found, table_of

MBIT = 1e6


def test_a_line_of_mixes() -> None:
    game = {k: (a * MBIT, b * MBIT) for k, (a, b) in GAME.items()}
    figure = draw_dynamics(found(two_strategy_table(game, 3, ("cubic", "bbr"), MBIT)))
    assert figure is not None
    gains, growth = figure.axes
    # Joining b gains 7 - 5, 6 - 4 and 5 - 6 Mbit/s; each bar stands between its two mixes.
    assert np.array(bars(gains)) == pytest.approx(np.array([(0.5, 2), (1.5, 2), (2.5, -1)]))
    colours = [patch.get_facecolor()[:3] for patch in gains.containers[0]]
    assert colours[0] == colours[1] != colours[2]
    assert spans(gains)[-1][:2] == pytest.approx((1.6, 2.4))  # the equilibrium at two
    assert spans(growth)[-1][:2] == pytest.approx((1.6, 2.4))
    assert gains.get_ylabel() == "gain by switching\ncubic to bbr (Mbit/s)"
    assert growth.get_xlabel() == "flows running bbr, of 3"
    # An arrow for each gain, the way that it drives the mix.
    arrows = [(note.xyann[0], note.xy[0]) for note in gains.texts]
    assert np.array(arrows) == pytest.approx(np.array([(0.15, 0.85), (1.15, 1.85), (2.85, 2.15)]))
    # Shares that start anywhere end near the equilibrium.
    paths = [points(line) for line in growth.lines]
    assert len(paths) == 9
    assert [x[0] for x, _ in paths] == pytest.approx(list(3 * np.linspace(0.04, 0.96, 9)))
    assert growth.yaxis_inverted()


def square() -> PayoffTable:
    """Near flows gain from b while less than half of all run it; far flows always gain from a."""

    def payoff(state):
        many = sum(counts[1] for counts in state)
        return [[5, 8 - many], [6, 5]]

    return table_of((4, 3), 2, payoff)


@pytest.mark.slow
def test_two_groups_in_a_square() -> None:
    table = square()
    figure = draw_dynamics(found(table))
    assert figure is not None
    (ax,) = figure.axes
    stars = [line for line in ax.lines if line.get_marker() == "*"]
    assert len(stars) == 1
    assert colour(stars[0]) == GOOD.lower()
    expected = np.array([free_shares(v.state) for v in found(table).equilibria])
    assert np.transpose(points(stars[0])) == pytest.approx(expected)
    # A best-response path from every corner, one flow at a time.
    steps = [line for line in unlabelled_lines(ax) if line.get_marker() == "o"]
    start = ((4, 0), (0, 3))
    path = [tuple(free_shares(s)) for s in best_response_path(table, start).states]
    assert path in [list(zip(*points(line), strict=True)) for line in steps]
    assert ax.get_xlabel() == "share of b in near"
    assert ax.get_ylabel() == "share of b in far"
    assert ax.get_xlim() == (-0.04, 1.04)


@pytest.mark.slow
def test_three_strategies_in_a_triangle() -> None:
    figure = draw_dynamics(found(table_of((4,), 3, lambda state: [[1.0, 2.0, 3.0]])))
    assert figure is not None
    (ax,) = figure.axes
    assert texts(ax) == ["all a", "all b", "all c"]
    (star,) = [line for line in ax.lines if line.get_marker() == "*"]
    # The third strategy is best: everybody ends at the top corner.
    assert points(star) == ([0.5], pytest.approx([math.sqrt(3) / 2]))
    assert not ax.axison


def test_nothing_is_drawn_of_nothing() -> None:
    assert draw_dynamics(found(PayoffTable(("a", "b"), ("x",), (4,), {}, 1.0))) is None
    one = two_strategy_table({0: (5, NAN)}, 3, ("a", "b"), 1.0)
    assert draw_dynamics(found(one)) is None
    alone = two_strategy_table({1: (5, 4)}, 3, ("a", "b"), 1.0)
    assert draw_dynamics(found(alone)) is None  # no switch is known
    four = table_of((2,), 4, lambda s: [[1.0] * 4], "abcd")
    assert draw_dynamics(found(four)) is None
