"""Where flows would move: gains and arrows on a line, paths in the plane of mixes."""

import math

import numpy as np
import pytest
from matplotlib.figure import Figure
from nashbed.analysis.figures.dynamics import draw_dynamics
from nashbed.analysis.figures.plot import Line, Note, Span
from nashbed.analysis.figures.style import GOOD
from nashbed.analysis.nash.dynamics import best_response_path, free_shares
from nashbed.analysis.nash.game import PayoffTable, two_strategy_table
from tests.support.drawn import panels, points, texts
from tests.unit.analysis.made_games import GAME, NAN, found, table_of

MBIT = 1e6


def test_a_line_of_mixes() -> None:
    game = {k: (a * MBIT, b * MBIT) for k, (a, b) in GAME.items()}
    plot = draw_dynamics(found(two_strategy_table(game, 3, ("cubic", "bbr"), MBIT)))
    gains, growth = panels(plot)
    # Joining b gains 7 - 5, 6 - 4 and 5 - 6 Mbit/s; each bar stands between its two mixes.
    bars = gains.items[0]
    assert points(bars) == (pytest.approx([0.5, 1.5, 2.5]), pytest.approx([2, 2, -1]))
    joins, again, leaves = bars.look["color"]
    assert joins == again != leaves
    for panel in (gains, growth):
        (mark,) = panel.of(Span)
        assert mark.ends == pytest.approx((1.6, 2.4))  # the equilibrium at two
    assert gains.y.title == "gain by switching\ncubic to bbr (Mbit/s)"
    assert growth.x.title == "flows running bbr, of 3"
    # An arrow for each gain, the way that it drives the mix.
    arrows = [(note.look["xytext"][0], note.place[0]) for note in gains.of(Note)]
    assert np.array(arrows) == pytest.approx(np.array([(0.15, 0.85), (1.15, 1.85), (2.85, 2.15)]))
    # Shares that start anywhere end near the equilibrium.
    paths = [points(line) for line in growth.of(Line)]
    assert len(paths) == 9
    assert [x[0] for x, _ in paths] == pytest.approx(list(3 * np.linspace(0.04, 0.96, 9)))
    assert growth.y.low > growth.y.high  # time runs down


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
    assert isinstance(figure, Figure)
    (ax,) = figure.axes
    stars = [line for line in ax.lines if line.get_marker() == "*"]
    assert len(stars) == 1
    assert stars[0].get_color() == GOOD
    expected = np.array([free_shares(v.state) for v in found(table).equilibria])
    assert np.transpose(points(stars[0])) == pytest.approx(expected)
    # A best-response path from every corner, one flow at a time.
    steps = [line for line in ax.lines if line.get_marker() == "o"]
    start = ((4, 0), (0, 3))
    path = [tuple(free_shares(s)) for s in best_response_path(table, start).states]
    assert path in [list(zip(*points(line), strict=True)) for line in steps]
    assert ax.get_xlabel() == "share of b in near"
    assert ax.get_ylabel() == "share of b in far"
    assert ax.get_xlim() == (-0.04, 1.04)


@pytest.mark.slow
def test_three_strategies_in_a_triangle() -> None:
    figure = draw_dynamics(found(table_of((4,), 3, lambda state: [[1.0, 2.0, 3.0]])))
    assert isinstance(figure, Figure)
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
