"""Play an adaptive search against a game that is known."""

from collections.abc import Callable

from nashbed.analysis.nash.game import Payoffs
from nashbed.analysis.nash.search import AdaptiveSearch, SearchResult
from nashbed.analysis.state import State


def run_search(
    search: AdaptiveSearch, payoffs_of: Callable[[State], Payoffs | None]
) -> SearchResult:
    """Run a search to its end.

    Args:
        payoffs_of: Payoffs of a state, shape (G, S); None if it cannot be measured.
    """
    while states := search.ask():
        for state in states:
            search.tell(state, payoffs_of(state))
    return search.result()


def none_exists(result: SearchResult) -> bool:
    """Whether it is certain that the game has no equilibrium of this kind."""
    return result.finished and not (result.equilibria or result.hidden)
