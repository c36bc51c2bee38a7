"""The game: groups of like flows, each flow choosing one strategy.

Flows of one group running one strategy are alike, so a state says only how many there are:
for each group, the count of each strategy. A deviation is one flow of one group switching
from its strategy to another.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from ..state import State

Payoffs = NDArray[np.float64]
"""Utility of a flow of each group and strategy, shape (G, S); NaN where there is no such flow."""

MAX_LISTED = 100_000
"""States of a game beyond which those that were not measured are counted, not listed."""


@dataclass(frozen=True)
class Deviation:
    """One flow switches.

    Attributes:
        leaves: Strategy that it runs, as an index.
        joins: Strategy that it would run.
    """

    group: int
    leaves: int
    joins: int
    to: State


@dataclass(frozen=True)
class PayoffTable:
    """What was measured of a game.

    Attributes:
        strategies: Names of the strategies, S of them.
        groups: Names of the groups, G of them.
        sizes: Flows of each group.
        samples: State -> one payoff array for each valid repetition, shape (n, G, S).
        fair_share: What gains are related to, in the unit of the utility.
        unit: Unit of the utility.
        pairs: Of a game of pairs the two strategies of each, as indices: a flow switches between
            them alone. Empty: it is one game of all strategies.
    """

    strategies: tuple[str, ...]
    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    samples: Mapping[State, NDArray[np.float64]]
    fair_share: float
    unit: str = "bit/s"
    pairs: frozenset[frozenset[int]] = frozenset()

    @property
    def means(self) -> dict[State, Payoffs]:
        """State -> mean payoffs over its repetitions, shape (G, S)."""
        return {state: values.mean(axis=0) for state, values in self.samples.items()}

    @property
    def state_count(self) -> int:
        """Number of states of the game, measured or not."""
        if self.pairs:
            return len(self.samples)
        more = len(self.strategies) - 1
        return prod(comb(size + more, more) for size in self.sizes)

    @property
    def states(self) -> list[State]:
        """Every state of the game, measured or not; of a huge one or of pairs the measured ones."""
        if self.pairs or self.state_count > MAX_LISTED:
            return sorted(self.samples, reverse=True)
        return all_states(self.sizes, len(self.strategies))

    def moves(self, state: State) -> Iterator[Deviation]:
        """Every single flow's switch out of a state that the game knows."""
        for move in deviations(state):
            if not self.pairs or _players(state, move) in self.pairs:
                yield move


def all_states(sizes: Sequence[int], strategies: int) -> list[State]:
    """Every state of a game.

    With one group and two strategies they are ordered by the flows of the second one, 0 to N.

    Args:
        sizes: Flows of each group.
    """
    return list(product(*(_splits(size, strategies) for size in sizes)))


def _splits(flows: int, strategies: int) -> list[tuple[int, ...]]:
    """The ways to split flows over strategies, the first strategy's share falling."""
    if strategies == 1:
        return [(flows,)]
    heads = range(flows, -1, -1)
    return [(head, *tail) for head in heads for tail in _splits(flows - head, strategies - 1)]


def deviations(state: State) -> Iterator[Deviation]:
    """Every single flow's switch out of a state (like flows counted once).

    Yields:
        Each group's each strategy that has a flow, to each other strategy. At the corners
        only one direction is left.
    """
    for group, counts in enumerate(state):
        for leaves, joins in product(range(len(counts)), repeat=2):
            if leaves != joins and counts[leaves] > 0:
                yield Deviation(group, leaves, joins, _moved(state, group, leaves, joins))


def _players(state: State, move: Deviation) -> frozenset[int]:
    """The strategies of a mix, and the one that a flow of it would switch to."""
    present = (strategy for strategy, count in enumerate(state[move.group]) if count)
    return frozenset((*present, move.joins))


def _moved(state: State, group: int, leaves: int, joins: int) -> State:
    counts = list(state[group])
    counts[leaves] -= 1
    counts[joins] += 1
    return (*state[:group], tuple(counts), *state[group + 1 :])


def pair_table(table: PayoffTable, first: int, second: int) -> PayoffTable:
    """The game of two strategies of one group: its states without flows of any other.

    Args:
        table: What was measured, of one group.
        first: The pair's first strategy, as an index.
    """
    pair = [first, second]
    (size,) = table.sizes
    samples: dict[State, Payoffs] = {}
    for state, values in table.samples.items():
        own = pair_state(state, (first, second))
        if sum(own[0]) == size:
            samples[own] = values[:, :, pair]
    names = (table.strategies[first], table.strategies[second])
    return PayoffTable(names, table.groups, table.sizes, samples, table.fair_share, table.unit)


def pair_state(state: State, pair: tuple[int, int]) -> State:
    """The flows of a pair of strategies alone, of a state of one group.

    Args:
        pair: The two, as indices.
    """
    return ((state[0][pair[0]], state[0][pair[1]]),)


def two_strategy_table(
    utility: Mapping[int, tuple[float, float]],
    flows: int,
    strategies: tuple[str, str],
    fair_share: float,
) -> PayoffTable:
    """The payoff table of one group and two strategies, from one measurement of each mix.

    Args:
        utility: k flows of the second strategy -> utility of a flow of the (first, second);
            NaN where the mix has no such flow.
        flows: Flows N of the group.
        fair_share: What gains are related to.
    """
    samples: dict[State, Payoffs] = {
        ((flows - k, k),): np.array([[pair]]) for k, pair in utility.items()
    }
    return PayoffTable(strategies, ("main",), (flows,), samples, fair_share)
