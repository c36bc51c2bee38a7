"""Uncertainty of verdicts: whether repeating a trial could change one."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..state import State, strategy_totals
from .game import Deviation, Payoffs, deviations

CONFIDENCE = 0.9
"""One-sided confidence in the sign of a single gain."""
LEAST_FREEDOM = 0.5
"""Degrees of freedom below which the noise counts as not known."""
SMALLEST_VARIANCE = 1e-12
"""Smallest variance of a utility, in fair shares; settings without spread count as having it."""

Samples = Mapping[State, Sequence[Payoffs] | NDArray[np.float64]]
"""State -> payoffs of each repetition, shape (G, S)."""


@dataclass(frozen=True)
class Noise:
    """The variation of the utility of like flows from one repetition to the next.

    Attributes:
        deviation: Standard deviation, as a share of the fair share.
        freedom: Degrees of freedom that it rests on; 0: nothing was repeated yet.
    """

    deviation: float
    freedom: float

    def bound(self, repetitions: Sequence[int]) -> float:
        """Half width of a difference of two means, as a share of the fair share.

        Args:
            repetitions: How often each of the two was measured.
        """
        if self.freedom < LEAST_FREEDOM:
            return math.inf
        from scipy.special import stdtrit  # noqa: PLC0415 - planning a run needs none of scipy

        spread = self.deviation * math.sqrt(sum(1 / n for n in repetitions))
        return float(stdtrit(self.freedom, CONFIDENCE)) * spread


UNKNOWN = Noise(math.inf, 0)


def noise_of_games(games: Iterable[tuple[Samples, float]]) -> list[Noise]:
    """The noise of each game of a run, from its own repetitions and, as far as they agree, all.

    One setting alone has too few repetitions, and settings may differ much. Each variance is
    therefore shrunk towards their common one, the more, the less they differ beyond chance:
    (d0 s0^2 + d s^2)/(d0 + d), with d0 estimated from the spread of the logarithms of s^2. Where
    they do not differ that is the pooled variance.

    Args:
        games: Samples and fair share of each game.

    Source: Smyth, Statistical Applications in Genetics and Molecular Biology 3 (2004), 3.
    """
    spreads = [_spread(samples, fair_share) for samples, fair_share in games]
    squares, freedom = (np.array(column, dtype=float) for column in zip(*spreads, strict=True))
    known = freedom > 0
    if not known.any():
        return [UNKNOWN] * len(spreads)
    variance = np.maximum(squares[known] / freedom[known], SMALLEST_VARIANCE)
    common, weight = _common(variance, freedom[known])
    return [
        _drawn(square, d, common, weight, float(freedom.sum()))
        for square, d in zip(squares.tolist(), freedom.tolist(), strict=True)
    ]


def _spread(samples: Samples, fair_share: float) -> tuple[float, int]:
    """Sum of squares within repeated states, and its degrees of freedom.

    One trial is one observation: what one strategy gets another one loses, so its utilities
    count together, with the mean of their squares. Where all flows run one strategy the total
    is the rate and nothing moves; those states are left out.
    """
    squares, freedom = 0.0, 0
    for state, values in samples.items():
        if len(values) < 2 or sum(total > 0 for total in strategy_totals(state)) < 2:
            continue
        used = np.array(values)[:, np.array(state) > 0] / fair_share
        squares += float(((used - used.mean(axis=0)) ** 2).sum()) / used.shape[1]
        freedom += len(values) - 1
    return squares, freedom


def _common(variance: NDArray[np.float64], freedom: NDArray[np.float64]) -> tuple[float, float]:
    """The variance that games have in common, and the degrees of freedom that it weighs."""
    from scipy.special import digamma, polygamma  # noqa: PLC0415 - as above

    pooled = float((variance * freedom).sum() / freedom.sum())
    if len(variance) < 2:
        return pooled, math.inf
    logs = np.log(variance) - digamma(freedom / 2) + np.log(freedom / 2)
    beyond = float(logs.var(ddof=1) - polygamma(1, freedom / 2).mean())
    if beyond <= 0:
        return pooled, math.inf
    weight = 2 * _inverse_trigamma(beyond)
    return float(np.exp(logs.mean() + digamma(weight / 2) - np.log(weight / 2))), weight


def _inverse_trigamma(value: float) -> float:
    """The x whose trigamma is a value: it falls from 1/x^2 near 0 to 1/x far out."""
    from scipy.optimize import brentq  # noqa: PLC0415 - as above
    from scipy.special import polygamma  # noqa: PLC0415

    low, high = 0.5 / math.sqrt(value + 1), 2 + 2 / value
    return float(brentq(lambda x: float(polygamma(1, x)) - value, low, high))


def _drawn(squares: float, freedom: float, common: float, weight: float, most: float) -> Noise:
    """One game's noise; it rests on no more than all repetitions there are."""
    if math.isinf(weight):
        return Noise(math.sqrt(common), most)
    both = weight + freedom
    return Noise(math.sqrt((weight * common + squares) / both), min(both, most))


def unclear(
    state: State, samples: Samples, noise: Noise, fair_share: float, epsilon: float
) -> set[State]:
    """The states whose repetition could make the verdict on a mix clearer.

    A gain is clear when its sign is, or when it is surely too small to switch for.

    Args:
        noise: What repetitions differ by.
        epsilon: Gain that is too small to switch for, as a share of the fair share.
    """
    states: set[State] = set()
    for move in deviations(state):
        if (
            state in samples
            and move.to in samples
            and not _clear(
                _gain(state, move, samples) / fair_share,
                noise.bound([len(samples[state]), len(samples[move.to])]),
                epsilon,
            )
        ):
            states |= {state, move.to}
    return states


def _gain(state: State, move: Deviation, samples: Samples) -> float:
    after = np.mean([values[move.group, move.joins] for values in samples[move.to]])
    before = np.mean([values[move.group, move.leaves] for values in samples[state]])
    return float(after - before)


def _clear(gain: float, bound: float, epsilon: float) -> bool:
    return abs(gain) >= bound or abs(gain) + bound <= epsilon
