"""Where flows would move: best responses and replicator dynamics, if flows could choose."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..nash.dynamics import Population, best_response_path, free_shares, population, trajectories
from ..nash.equilibria import gain_of
from ..nash.game import PayoffTable, deviations
from ..nash.of_run import SettingEquilibria
from ..state import State
from ..text import shown
from .axes import WHOLE
from .plot import Axis, Bars, Item, Line, Note, Panel, Plot, Rule, Span
from .style import GOOD, INK, MUTED, NARROW, WIDE, colour_of, new_figure

FloatArray = NDArray[np.float64]
Place = Callable[[FloatArray], tuple[float, float]]
"""Free shares -> place in the figure."""

LONG, STEPS = 12.0, 160
STEP: dict[str, Any] = {"color": "#0072B2", "linewidth": 1.4, "markersize": 2.5, "zorder": 4}
"""The look of a best-response path."""
PLANE = 2
"""Dimensions that can be drawn: two groups of two strategies, or one group of three."""


def draw_dynamics(equilibria: SettingEquilibria) -> Plot | Figure | None:
    """Where the mix would move; None if the mixes do not fit a plane, or too few were measured.

    One group of two strategies: what each switch gains, with arrows the way it drives the mix,
    above the shares that replicator dynamics leads to from many starts. Two groups of two
    strategies, or one of three: the plane of mixes, with paths of both kinds.
    """
    table = equilibria.table
    game = population(table)
    if any(field is None for row in game.fields for field in row):
        return None
    if game.dimensions == 1:
        return _plot_line(equilibria, game)
    return _draw_plane(equilibria, game) if game.dimensions == PLANE else None


def _plot_line(equilibria: SettingEquilibria, game: Population) -> Plot | None:
    table = equilibria.table
    gains = _switches(table)
    if not gains:
        return None
    flows = table.sizes[0]
    counts = [v.state[0][1] for v in equilibria.equilibria]
    marks = [Span(k - 0.4, k + 0.4, color=GOOD, alpha=0.25, zorder=0) for k in counts]
    first, second = table.strategies
    growth = Axis("time (growth by e at a\nlead of one fair share)", 1.05 * LONG, -0.05 * LONG)
    panels = [
        Panel([*_gains(table, gains), *marks], title="best response",
              y=Axis(f"gain by switching\n{first} to {second} (Mbit/s)")),
        Panel([*_growth(flows, game), *marks], title="replicator dynamics", y=growth,
              x=Axis(f"flows running {second}, of {flows}", -0.5, flows + 0.5, locator=WHOLE)),
    ]  # fmt: skip
    return Plot(panels, (NARROW, 5.0), columns=0)


def _switches(table: PayoffTable) -> dict[int, float]:
    """K flows of the second strategy -> what a flow of the first gains by joining them."""
    means = table.means
    found = {}
    for state in table.states:
        for move in deviations(state):
            gain = gain_of(means, state, move)
            if move.joins == 1 and gain is not None:
                found[state[0][1]] = gain
    return found


def _gains(table: PayoffTable, gains: dict[int, float]) -> Iterator[Item]:
    """A bar for each switch, and an arrow the way in which it moves the mix."""
    joined = (table.strategies[int(gain > 0)] for gain in gains.values())
    colours = [colour_of(strategy, table.strategies) for strategy in joined]
    heights = [shown(gain, "bit/s") for gain in gains.values()]
    yield Bars([k + 0.5 for k in gains], heights, width=0.7, color=colours, alpha=0.75)
    yield Rule(0, color=INK, linewidth=0.8)
    style = {"arrowstyle": "-|>", "color": INK, "linewidth": 0.9, "mutation_scale": 7}
    for k, gain in gains.items():
        start, end = (k + 0.15, k + 0.85)[:: 1 if gain > 0 else -1]
        yield Note("", end, 0, xytext=(start, 0), arrowprops=style, zorder=5)


def _growth(flows: int, game: Population) -> Iterator[Item]:
    """Shares over time, time running down, below the gains that drive them."""
    time = np.linspace(0.0, LONG, STEPS)
    for path in trajectories(game, [[start] for start in np.linspace(0.04, 0.96, 9)], LONG, STEPS):
        yield Line(flows * path[:, 0], time, color=MUTED, linewidth=1.1)


def _draw_plane(equilibria: SettingEquilibria, game: Population) -> Figure:
    table = equilibria.table
    figure, ax = new_figure(WIDE * 0.8, 4.8)
    place = _triangle if len(table.sizes) == 1 else _square
    _draw_field(ax, game, place)
    for path in trajectories(game, _corner_starts(game), LONG, STEPS):
        points = np.array([place(free) for free in path])
        ax.plot(points[:, 0], points[:, 1], color=MUTED, linewidth=1.0, zorder=3)
    for state in _corners(table):
        _draw_path(ax, table, state, place)
    settled = [place(free_shares(v.state)) for v in equilibria.equilibria]
    if settled:
        x, y = zip(*settled, strict=True)
        ax.plot(x, y, "*", color=GOOD, markersize=15, zorder=6, label="equilibrium")
    ax.plot([], [], "-o", **STEP, label="best response, one flow at a time")
    ax.plot([], [], color=MUTED, linewidth=1.0, label="replicator dynamics")
    _label_plane(ax, table)
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def _square(free: FloatArray) -> tuple[float, float]:
    return float(free[0]), float(free[1])


def _triangle(free: FloatArray) -> tuple[float, float]:
    """The first strategy at the left corner, the second at the right, the third on top."""
    return float(free[0] + free[1] / 2), float(free[1] * math.sqrt(3) / 2)


def _draw_field(ax: Axes, game: Population, place: Place) -> None:
    grid = np.linspace(0.05, 0.95, 10)
    inside = np.array([(a, b) for a in grid for b in grid if len(game.sizes) > 1 or a + b < 0.99])
    at = np.array([place(free) for free in inside])
    to = np.array([place(free) for free in inside + game.velocity(inside)]) - at
    length = np.hypot(to[:, 0], to[:, 1])
    scale = np.where(length > 0, length, 1.0)[:, None]
    way = to / scale
    ax.quiver(
        at[:, 0], at[:, 1], way[:, 0], way[:, 1], color=MUTED, alpha=0.45, scale=28, width=0.004
    )


def _corner_starts(game: Population) -> list[tuple[float, float]]:
    """Starts near the border, for at the border nothing that is gone comes back."""
    if len(game.sizes) == 1:
        return [(0.04, 0.04), (0.92, 0.04), (0.04, 0.92), (0.48, 0.04), (0.04, 0.48)]
    low, middle, high = 0.06, 0.5, 0.94
    ends = [(low, low), (low, high), (high, low), (high, high)]
    return [*ends, (middle, low), (low, middle), (high, middle), (middle, high)]


def _corners(table: PayoffTable) -> list[State]:
    """Every flow of a group on one strategy."""
    found = []
    for state in table.states:
        if all(max(counts) == sum(counts) for counts in state):
            found.append(state)
    return found


def _draw_path(ax: Axes, table: PayoffTable, start: State, place: Place) -> None:
    points = [place(free_shares(state)) for state in best_response_path(table, start).states]
    if len(points) > 1:
        x, y = zip(*points, strict=True)
        ax.plot(x, y, "-o", **STEP)


def _label_plane(ax: Axes, table: PayoffTable) -> None:
    names = table.strategies
    if len(table.sizes) > 1:
        ax.set_xlabel(f"share of {names[1]} in {table.groups[0]}")
        ax.set_ylabel(f"share of {names[1]} in {table.groups[1]}")
        ax.set_xlim(-0.04, 1.04)
        ax.set_ylim(-0.04, 1.04)
        return
    top = math.sqrt(3) / 2
    ax.plot([0, 1, 0.5, 0], [0, 0, top, 0], color=INK, linewidth=0.9)
    corners = ((0.0, -0.06), (1.0, -0.06), (0.5, top + 0.03))
    for name, (x, y) in zip(names, corners, strict=True):
        ax.text(x, y, f"all {name}", ha="center", va="center")
    ax.set_axis_off()
    ax.set_aspect("equal")
