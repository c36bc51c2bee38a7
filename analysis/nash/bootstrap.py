"""How an equilibrium fares when the repetitions are drawn anew. Not how probable it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..state import State
from .game import PayoffTable, deviations

RESAMPLES = 2000


def resampled_share(
    table: PayoffTable, epsilon: float = 0.0, resamples: int = RESAMPLES, seed: int = 1
) -> dict[State, float]:
    """How often each state is an equilibrium when the repetitions are drawn anew.

    Each state's repetitions are drawn with replacement, independently of the other states',
    the means are taken again and the state is judged.

    This is no probability of being the equilibrium: n repetitions drawn anew have (n - 1)/n of
    the variance, and the drawing goes round the means that made the state an equilibrium. On
    published mixes drawn anew, equilibria with 0.85 of the resamples were the true ones in
    0.75 (`python -m nashbed.analysis.fits.crossing_trials`). Of a line, see
    `crossing_interval.LeadEnds.probability`.

    Args:
        table: What was measured.
        epsilon: Gain that is too small to switch for, as a share of the fair share.
        resamples: How many times.
        seed: Seed of the drawing.

    Returns:
        State -> share of the resamples in which it is an equilibrium, for the states that
        have, like all their neighbours, at least two repetitions: one trial says nothing of its
        own spread.

    Source: Efron, Annals of Statistics 7 (1979).
    """
    rng = np.random.default_rng(seed)
    repeated = [(s, v) for s, v in sorted(table.samples.items()) if len(v) >= 2]
    drawn = {state: _drawn_means(values, resamples, rng) for state, values in repeated}
    complete = [s for s in drawn if all(move.to in drawn for move in deviations(s))]
    allowed = epsilon * table.fair_share
    return {state: float(_holds(drawn, state, allowed).mean()) for state in complete}


def _drawn_means(
    values: NDArray[np.float64], resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Means of drawn repetitions, shape (resamples, G, S)."""
    chosen = rng.integers(0, len(values), size=(resamples, len(values)))
    means: NDArray[np.float64] = values[chosen].mean(axis=1)
    return means


def _holds(
    drawn: dict[State, NDArray[np.float64]], state: State, allowed: float
) -> NDArray[np.bool_]:
    here = drawn[state]
    result = np.ones(len(here), dtype=bool)
    for move in deviations(state):
        after = drawn[move.to][:, move.group, move.joins]
        result &= after <= here[:, move.group, move.leaves] + allowed
    return result
