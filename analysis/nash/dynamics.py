"""Dynamics of a game: best responses of single flows, and replicator dynamics of populations.

A best-response path makes, one flow after another, the switch that gains it most. In replicator
dynamics strategies grow as they do better than the population's mean: a population stands for each
group; x[g, s] is the share of group g that runs strategy s. The utilities are those of the measured
mixes, interpolated between them and held constant beyond the outermost mix that has such a flow.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator
from scipy.spatial import QhullError

from ..state import State
from .equilibria import judge
from .game import PayoffTable

End = Literal["equilibrium", "cycle", "not measured"]
FloatArray = NDArray[np.float64]
Field = Callable[[FloatArray], FloatArray]
"""Utility, shape (N,), at N places of free shares (N, G (S - 1)): those of all strategies but the
first, group by group."""


@dataclass(frozen=True)
class Path:
    """A best-response path.

    Attributes:
        states: From the start; of a cycle the last state stands in it twice.
        end: Why it ends: nobody gains, it comes back, or a neighbour was not measured.
    """

    states: tuple[State, ...]
    end: End


def best_response_path(table: PayoffTable, start: State) -> Path:
    """Follow the switch with the largest gain until nobody gains."""
    states = [start]
    while True:
        verdict = judge(table, states[-1])
        if verdict.unknown:
            return Path(tuple(states), "not measured")
        if verdict.best is None:
            return Path(tuple(states), "equilibrium")
        states.append(verdict.best.to)
        if states[-1] in states[:-1]:
            return Path(tuple(states), "cycle")


@dataclass(frozen=True)
class Population:
    """The interpolated game.

    Attributes:
        sizes: Flows of each group.
        fair_share: Unit of utility per unit of time.
        fields: Utility of each strategy in each group; None: no mix has such a flow.
    """

    sizes: tuple[int, ...]
    strategies: int
    fair_share: float
    fields: tuple[tuple[Field | None, ...], ...]

    @property
    def dimensions(self) -> int:
        """Number of free shares, G (S - 1)."""
        return len(self.sizes) * (self.strategies - 1)

    def velocity(self, free: FloatArray) -> FloatArray:
        """d(free shares)/dt = x (U - mean U) / fair share at N places, shape (N, G (S - 1)).

        Source: Taylor, Jonker, Mathematical Biosciences 40 (1978).
        """
        free = np.clip(free, 0.0, 1.0)
        later = free.reshape(len(free), len(self.sizes), self.strategies - 1)
        first = 1 - later.sum(axis=2, keepdims=True)
        shares = np.clip(np.concatenate([first, later], axis=2), 0.0, 1.0)
        utilities = np.nan_to_num(self.utilities(free))
        mean = (shares * utilities).sum(axis=2, keepdims=True)
        moving = shares * (utilities - mean) / self.fair_share
        return np.asarray(moving[:, :, 1:].reshape(free.shape), dtype=float)

    def utilities(self, free: FloatArray) -> FloatArray:
        """Utility of each strategy in each group, shape (N, G, S); NaN where there is none."""
        none = np.full(len(free), np.nan)
        rows = [[none if f is None else f(free) for f in row] for row in self.fields]
        return np.moveaxis(np.array(rows, dtype=float), 2, 0)


def population(table: PayoffTable) -> Population:
    """Interpolate a measured game."""
    groups, strategies = range(len(table.sizes)), range(len(table.strategies))
    fields = tuple(tuple(_field(table, g, s) for s in strategies) for g in groups)
    return Population(table.sizes, len(table.strategies), table.fair_share, fields)


def free_shares(state: State) -> FloatArray:
    """The free shares of a state: of all strategies but the first, group by group."""
    return np.array([c / sum(counts) for counts in state for c in counts[1:]], dtype=float)


def _field(table: PayoffTable, group: int, strategy: int) -> Field | None:
    known = [(s, m[group, strategy]) for s, m in table.means.items() if s[group][strategy] > 0]
    if not known:
        return None
    points = np.array([free_shares(state) for state, _ in known])
    values = np.array([value for _, value in known], dtype=float)
    return _along(points[:, 0], values) if points.shape[1] == 1 else _between(points, values)


def _along(places: FloatArray, values: FloatArray) -> Field:
    order = np.argsort(places)
    x, y = places[order], values[order]
    return lambda free: np.interp(free[:, 0], x, y)


def _between(points: FloatArray, values: FloatArray) -> Field:
    """Linear inside what was measured, the nearest mix outside."""
    nearest = NearestNDInterpolator(points, values)

    def outside(free: FloatArray) -> FloatArray:
        return np.asarray(nearest(free), dtype=float)

    try:
        inside = LinearNDInterpolator(points, values)
    except (QhullError, ValueError):  # too few mixes, or all on one line
        return outside

    def field(free: FloatArray) -> FloatArray:
        values = inside(free)
        return np.asarray(np.where(np.isnan(values), outside(free), values), dtype=float)

    return field


def trajectories(
    game: Population, starts: Sequence[Sequence[float]], duration: float, steps: int
) -> FloatArray:
    """Follow the replicator dynamics from several starts at once.

    Args:
        starts: Free shares at the beginning, shape (N, G (S - 1)).
        duration: Time; in one unit a strategy that does better by a fair share grows e-fold.
        steps: Points of the answer.

    Returns:
        Free shares over time, shape (N, steps, G (S - 1)).
    """
    begin = np.asarray(starts, dtype=float)
    solution = solve_ivp(
        lambda _, free: game.velocity(free.reshape(begin.shape)).ravel(),
        (0.0, duration),
        begin.ravel(),
        t_eval=np.linspace(0.0, duration, steps),
        max_step=duration / 50,
    )
    return np.moveaxis(np.clip(solution.y, 0.0, 1.0).reshape(*begin.shape, steps), 2, 1)
