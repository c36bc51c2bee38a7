"""Whether repeating a trial could still change the verdict on a mix."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..nash.game import Deviation, Payoffs, deviations
from ..state import State

CONFIDENCE = 0.9
"""Of one gain's sign, one-sided."""

Samples = Mapping[State, Sequence[Payoffs]]
"""State -> payoffs of each repetition, shape (G, S)."""


@dataclass(frozen=True)
class Noise:
    """How much the utility of like flows moves from one repetition to the next.

    Attributes:
        deviation: Standard deviation, as a share of the fair share.
        freedom: Degrees of freedom that it rests on; 0: nothing was repeated yet.
    """

    deviation: float
    freedom: int

    def bound(self, repetitions: Sequence[int]) -> float:
        """Half width of a difference of two means, as a share of the fair share.

        Args:
            repetitions: How often each of the two was measured.
        """
        if self.freedom == 0:
            return math.inf
        from scipy.special import stdtrit  # noqa: PLC0415 - planning a run needs none of scipy

        spread = self.deviation * math.sqrt(sum(1 / n for n in repetitions))
        return float(stdtrit(self.freedom, CONFIDENCE)) * spread


def pooled_noise(games: Iterable[tuple[Samples, float]]) -> Noise:
    """Pool the variance within repeated states over all games of a run.

    Settings of one sweep differ little in noise, and one setting alone has too few repetitions
    to estimate its own.

    Args:
        games: Samples and fair share of each game.

    Source: pooled variance, Snedecor and Cochran, Statistical Methods, 6.
    """
    squares, freedom = 0.0, 0
    for samples, fair_share in games:
        for state, values in samples.items():
            if len(values) < 2:
                continue
            used = np.stack(values)[:, np.array(state) > 0] / fair_share
            squares += float(((used - used.mean(axis=0)) ** 2).sum())
            freedom += (len(values) - 1) * used.shape[1]
    return Noise(math.sqrt(squares / freedom) if freedom else math.inf, freedom)


def unclear(
    state: State, samples: Samples, noise: Noise, fair_share: float, epsilon: float
) -> set[State]:
    """The states whose repetition would make the verdict on a mix clearer.

    A gain is clear when its sign is, or when it is surely too small to switch for.

    Args:
        state: The mix.
        samples: What was measured of its game.
        noise: What repetitions differ by.
        fair_share: Unit of the utility.
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
