"""Which states are equilibria: exhaustive search over what was measured.

A state is an equilibrium if no flow gains by switching: U after <= U before for every
deviation. With one group and two strategies A, B and k of N flows running B that is
U_B(k+1) <= U_A(k) and U_A(k-1) <= U_B(k), and at the corners k = 0 and k = N the one condition
that is left. A tie is no gain. An epsilon-equilibrium allows gains up to epsilon x fair share.

What was not measured is never guessed: a state whose known deviations gain nothing, but of
which one is unknown, is undecided, and so is a state that was not measured itself.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..state import State
from .game import Deviation, Payoffs, PayoffTable

Answer = Literal["yes", "no", "undecided"]


@dataclass(frozen=True)
class Verdict:
    """Whether one state is an equilibrium.

    Attributes:
        equilibrium: The answer with no gain allowed.
        epsilon_equilibrium: The answer with gains up to epsilon x fair share.
        gain: Largest known gain of a switch, at least 0, in the utility's unit; None if no
            deviation is known.
        best: The deviation with that gain (None: nothing gains).
        unknown: Why it is undecided: the states that lack a measurement.
    """

    state: State
    equilibrium: Answer
    epsilon_equilibrium: Answer
    gain: float | None
    best: Deviation | None
    unknown: tuple[State, ...]


def gain_of(means: dict[State, Payoffs], state: State, move: Deviation) -> float | None:
    """What the switching flow gains; None where one of the two states was not measured."""
    if state not in means or move.to not in means:
        return None
    after = means[move.to][move.group, move.joins]
    gain = float(after - means[state][move.group, move.leaves])
    return gain if np.isfinite(gain) else None


def judge(table: PayoffTable, state: State, epsilon: float = 0.0) -> Verdict:
    """Judge one state.

    Args:
        epsilon: Gain that is too small to switch for, as a share of the fair share.
    """
    return _judge(table, table.means, state, epsilon * table.fair_share)


def judge_all(table: PayoffTable, epsilon: float = 0.0) -> list[Verdict]:
    """Judge every state of the game, in the order of PayoffTable.states.

    Args:
        epsilon: Gain that is too small to switch for, as a share of the fair share.
    """
    means = table.means
    return [_judge(table, means, state, epsilon * table.fair_share) for state in table.states]


def _judge(
    table: PayoffTable, means: dict[State, Payoffs], state: State, allowed: float
) -> Verdict:
    gains = [(gain_of(means, state, move), move) for move in table.moves(state)]
    known = [(gain, move) for gain, move in gains if gain is not None]
    unknown = {move.to for gain, move in gains if gain is None}
    if state not in means:
        unknown = {state}
    top, best = max(known, key=lambda pair: pair[0], default=(None, None))
    return Verdict(
        state=state,
        equilibrium=_answer(top, 0.0, bool(unknown)),
        epsilon_equilibrium=_answer(top, allowed, bool(unknown)),
        gain=None if top is None else max(top, 0.0),
        best=best if top is not None and top > 0 else None,
        unknown=tuple(sorted(unknown)),
    )


def _answer(gain: float | None, allowed: float, incomplete: bool) -> Answer:
    if gain is not None and gain > allowed:
        return "no"
    return "undecided" if incomplete else "yes"
