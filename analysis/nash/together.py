"""Several searches side by side: one round measures what all of them ask for.

Settings that differ in the buffer alone have equilibria near one another, so a search that
ends hints at its neighbours'. Lanes run side by side, so that a round takes the time of one
trial: searching together needs the fewest rounds, one after the other (each hinted by the
one before) the fewest trials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..state import State
from .game import Payoffs
from .search import AdaptiveSearch, SearchResult

Wish = tuple[int, State]
"""Which search asks, and for which state."""


def ask_all(searches: Sequence[AdaptiveSearch]) -> list[Wish]:
    """What every search asks for now; nothing when all are over."""
    return [(i, state) for i, search in enumerate(searches) for state in search.ask()]


def search_together(
    searches: Sequence[AdaptiveSearch],
    measure: Callable[[list[Wish]], Sequence[Payoffs | None]],
) -> list[SearchResult]:
    """Run searches in rounds.

    Args:
        searches: One for each setting, neighbouring settings beside each other.
        measure: Measures one round: the payoffs of each wish, in its order; None where a state
            cannot be measured.
    """
    hinted: set[int] = set()
    while wishes := ask_all(searches):
        for (i, state), payoffs in zip(wishes, measure(wishes), strict=True):
            searches[i].tell(state, payoffs)
        for i in set(range(len(searches))) - hinted:
            if not searches[i].ask():
                hinted.add(i)
                _hint_neighbours(searches, i)
    return [search.result() for search in searches]


def _hint_neighbours(searches: Sequence[AdaptiveSearch], over: int) -> None:
    for state in searches[over].result().equilibria[:1]:
        for i in (over - 1, over + 1):
            if 0 <= i < len(searches) and searches[i].sizes == searches[over].sizes:
                searches[i].hint(state)
