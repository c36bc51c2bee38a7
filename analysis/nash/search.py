"""Adaptive search: an equilibrium of a game at a fraction of the measurements.

The search asks for states and receives their payoffs; the caller decides how to measure them. One
group with two strategies is one slice (see `game_slice`). With more groups or strategies the search
moves from slice to slice: it solves the slice of one group and two strategies, then the next slice
through the state it has reached, until that state is an equilibrium of every slice and thus of the
game. If it returns to an earlier state, it restarts elsewhere; when every start failed, it rules
out the remaining states one by one. It ends with an equilibrium, with certainty that there is
none, with the states that missing measurements leave open, or when its budget is used up.

A resumed search receives what is known and goes on from there: nothing is asked twice.
"""

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod

import numpy as np

from ..state import State
from .equilibria import gain_of
from .game import MAX_LISTED, Payoffs, all_states, deviations
from .game_slice import GameSlice, Hints, Pair, Steps, settle

Walk = Generator[list[State], None, State | None]
"""Yields states to be measured; returns an equilibrium, or None if this way leads to none."""

Axis = tuple[int, int, int]
"""A slice's direction: (group, strategy A, strategy B)."""


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes:
        equilibria: Every measured state in which no flow gains, as the definition has it.
        hidden: If no equilibrium was found: states that could be one but have neighbours that
            cannot be measured.
        measured: States that were measured.
        unmeasurable: States that could not be.
        finished: Whether the search came to its end (the budget did not stop it).
    """

    equilibria: tuple[State, ...]
    hidden: tuple[State, ...]
    measured: int
    unmeasurable: int
    finished: bool


class AdaptiveSearch:
    """Looks for an equilibrium by asking for the payoffs of few states.

        search = AdaptiveSearch((50,), 2, hints=[((38, 12),)])
        while states := search.ask():
            for state in states:
                search.tell(state, payoffs_of(state))
        search.result().equilibria

    Args:
        sizes: Flows of each group.
        hints: States where an equilibrium is expected, best first.
        budget: Most states to be measured; None: as many as it takes.
        guess: Follow leads and hints; otherwise one slice is searched by bisection alone.

    Raises:
        ValueError: A hint is no state of the game, or the game has no flow or no choice.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        strategies: int,
        hints: Sequence[State] = (),
        budget: int | None = None,
        guess: bool = True,
    ) -> None:
        if strategies < 2 or not sizes or min(sizes) < 1:
            raise ValueError("a game needs two strategies and a flow in each group")
        self.sizes, self.strategies = tuple(sizes), strategies
        self.budget, self.guess = budget, guess
        self._means: dict[State, Payoffs] = {}
        self._dead: set[State] = set()
        self._hints: deque[State] = deque()
        self._positions: deque[int] = deque()
        self._wanted: list[State] = []
        self._hidden: tuple[State, ...] = ()
        self._exhausted = False
        for state in hints:
            self.hint(state)
        self._walk: Walk | None = self._search()

    def hint(self, state: State) -> None:
        """Say where an equilibrium is expected; also while the search is under way.

        Raises:
            ValueError: It is no state of the game.
        """
        fits = len(state) == len(self.sizes) and all(
            len(counts) == self.strategies and sum(counts) == size and min(counts) >= 0
            for counts, size in zip(state, self.sizes, strict=True)
        )
        if not fits:
            raise ValueError(f"{state} is no state of groups {self.sizes}")
        self._hints.append(state)
        self._positions.append(state[0][1])

    def tell(self, state: State, payoffs: Payoffs | None) -> None:
        """Say what a state gives; also states that were not asked for.

        Args:
            payoffs: Utility of a flow of each group and strategy, shape (G, S), NaN where the
                state has no such flow; None if the state cannot be measured. Where it has a
                flow and the utility is not finite, the state counts as not measurable.
        """
        if payoffs is None or not np.isfinite(payoffs[np.array(state) > 0]).all():
            self._means.pop(state, None)
            self._dead.add(state)
        else:
            self._dead.discard(state)
            self._means[state] = payoffs

    def ask(self) -> list[State]:
        """The states to be measured next, in any order; none when the search is over."""
        while self._walk is not None:
            missing = [state for state in self._wanted if not self._is_known(state)]
            if missing and self._over_budget(len(missing)):
                self._exhausted, self._walk = True, None
            elif missing:
                return missing
            else:
                self._advance(self._walk)
        return []

    def result(self) -> SearchResult:
        """What is known now; once nothing is asked any more, the answer."""
        equilibria = tuple(state for state in sorted(self._means) if self._is_equilibrium(state))
        return SearchResult(
            equilibria=equilibria,
            hidden=() if equilibria else self._hidden,
            measured=len(self._means),
            unmeasurable=len(self._dead),
            finished=self._walk is None and not self._exhausted,
        )

    def _is_known(self, state: State) -> bool:
        return state in self._means or state in self._dead

    def _over_budget(self, more: int) -> bool:
        known = len(self._means) + len(self._dead)
        return self.budget is not None and known + more > self.budget

    def _advance(self, walk: Walk) -> None:
        try:
            self._wanted = next(walk)
        except StopIteration:
            self._walk = None

    def _search(self) -> Walk:
        if self._is_slice:
            return (yield from self._only_slice())
        for start in self._starts():
            equilibrium = yield from self._walk_from(start)
            if equilibrium is not None:
                return equilibrium
        return (yield from self._rule_out())

    @property
    def _is_slice(self) -> bool:
        return len(self.sizes) == 1 and self.strategies == 2

    def _only_slice(self) -> Walk:
        """One group, two strategies: the game is one slice."""
        part = self._slice(self._even(), (0, 0, 1))
        position = yield from settle(part, Hints(self._positions, guess=self.guess))
        self._hidden = tuple(part.at(p) for p in part.hidden()) if position is None else ()
        return None if position is None else part.at(position)

    def _starts(self) -> Iterator[State]:
        """Hints, an even split, and every flow on one strategy; each once."""
        tried: set[State] = set()
        self._hints.append(self._even())
        self._hints.extend(self._all_on(s) for s in range(self.strategies))
        while self._hints:
            start = self._hints.popleft()
            if start not in tried:
                tried.add(start)
                yield start

    def _even(self) -> State:
        each = [divmod(size, self.strategies) for size in self.sizes]
        return tuple(
            tuple(part + (s < rest) for s in range(self.strategies)) for part, rest in each
        )

    def _all_on(self, strategy: int) -> State:
        return tuple(
            tuple(size if s == strategy else 0 for s in range(self.strategies))
            for size in self.sizes
        )

    def _walk_from(self, start: State) -> Walk:
        """Settle slice after slice until where it stands is an equilibrium of each.

        Returns:
            The equilibrium; None if it came back to where it was, or holes are in the way.
        """
        state, settled, visited = start, set[Axis](), {start}
        while axis := next((a for a in self._axes(state) if a not in settled), None):
            position = yield from self._settle_slice(state, axis)
            if position is None:
                return None
            moved = _on_slice(state, axis, position)
            settled = {*settled, axis} if moved == state else {axis}
            if moved != state and moved in visited:
                return None
            visited.add(moved)
            state = moved
        return state

    def _axes(self, state: State) -> list[Axis]:
        """The slices through a state that have more than one position."""
        pairs = combinations(range(self.strategies), 2)
        every = [(g, a, b) for a, b in pairs for g in range(len(self.sizes))]
        return [(g, a, b) for g, a, b in every if state[g][a] + state[g][b] > 0]

    def _settle_slice(self, state: State, axis: Axis) -> Steps:
        """Settle one slice through a state: where the state stands, if that is settled."""
        part, here = self._slice(state, axis), state[axis[0]][axis[2]]
        yield [part.at(p) for p in (here - 1, here, here + 1) if 0 <= p <= part.length]
        if part.settled(here):
            return here
        return (yield from settle(part, Hints(guess=self.guess, anchor=here)))

    def _slice(self, state: State, axis: Axis) -> GameSlice:
        group, a, b = axis

        def at(position: int) -> State:
            return _on_slice(state, axis, position)

        def look(position: int) -> Pair | None:
            payoffs = self._means.get(at(position))
            return None if payoffs is None else (float(payoffs[group, a]), float(payoffs[group, b]))

        length = state[group][a] + state[group][b]
        return GameSlice(length, at, look, lambda position: at(position) in self._dead)

    def _rule_out(self) -> Walk:
        """Measure what is missing of every state that no known gain rules out."""
        if prod(comb(n + self.strategies - 1, n) for n in self.sizes) > MAX_LISTED:
            self._exhausted = True
            return None
        hidden = []
        for state in all_states(self.sizes, self.strategies):
            while missing := self._missing(state):
                yield missing[:1]
            if self._is_equilibrium(state):
                return state
            if not self._is_ruled_out(state):
                hidden.append(state)
        self._hidden = tuple(hidden)
        return None

    def _missing(self, state: State) -> list[State]:
        """What can still be measured to decide on a state."""
        if state in self._dead or self._is_ruled_out(state):
            return []
        beside = (move.to for move in deviations(state))
        return [each for each in (state, *beside) if not self._is_known(each)]

    def _gains(self, state: State) -> list[float | None]:
        return [gain_of(self._means, state, move) for move in deviations(state)]

    def _is_ruled_out(self, state: State) -> bool:
        return any(gain is not None and gain > 0 for gain in self._gains(state))

    def _is_equilibrium(self, state: State) -> bool:
        return state in self._means and all(g is not None and g <= 0 for g in self._gains(state))


def _on_slice(state: State, axis: Axis, position: int) -> State:
    """The state with `position` flows of B and the rest of the two on A."""
    group, a, b = axis
    counts = list(state[group])
    counts[a], counts[b] = counts[a] + counts[b] - position, position
    return (*state[:group], tuple(counts), *state[group + 1 :])
