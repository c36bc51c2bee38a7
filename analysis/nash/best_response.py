"""Best-response paths: one flow after another makes the switch that gains it most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..state import State
from .equilibria import judge
from .game import PayoffTable

End = Literal["equilibrium", "cycle", "not measured"]


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
    """Follow the switch with the largest gain until nobody gains.

    Args:
        table: What was measured.
        start: The first state.
    """
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
