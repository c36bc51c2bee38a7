"""A campaign: which trial to run next, for all settings of a run, as results arrive.

Each setting is a game with a search of its own. Lanes that the searches leave idle cut their
brackets finer (see `speculation`); when a search has found an equilibrium, the mixes that decide
it are repeated until they are clear or as often as the scenario allows (see `nash.certainty`).
Repetitions move means, so a search may go on from there. At last mixes beside the equilibrium are
measured until its interval is closed on both sides, as far as there are any (see `flanks`). A
setting that is done hints at those neighbours of which no model has said where they settle.

Everything follows from the results: a campaign that receives those of a stopped run goes on where
it was.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..nash.certainty import Noise, noise_of_games, unclear
from ..nash.crossing_interval import ends_of_leads
from ..nash.deciding import places_about
from ..nash.game import Payoffs
from ..nash.search import AdaptiveSearch, SearchResult
from ..state import State
from .flanks import INTERVAL_MIXES, flanks, mixes_about
from .speculation import bracket, fill

NARROW = 5
"""Flows: a bracket whose inside one round may measure."""


class TrialRequest(NamedTuple):
    """A trial that a campaign asks for.

    Attributes:
        game: Index of the setting.
    """

    game: int
    state: State
    repetition: int


@dataclass(frozen=True)
class Rules:
    """How far a campaign goes.

    Attributes:
        repetitions: Most repetitions of a mix.
        epsilon: Gain that is too small to switch for, as a share of the fair share.
        budget: Most mixes of a setting; None: as many as it takes.
        least: Fewest repetitions of the mixes that decide: two, where opposite starts must agree.
    """

    repetitions: int
    lanes: int
    epsilon: float
    budget: int | None = None
    least: int = 1


@dataclass
class Game:
    """One setting of a campaign.

    Attributes:
        sizes: Flows of each group.
        fair_share: Unit of the utility.
        hints: States where an equilibrium is expected, best first.
        samples: State -> payoffs of each valid repetition, shape (G, S).
        tried: State -> repetitions asked for so far.
        waiting: Trials that were requested and have no result yet.
    """

    sizes: tuple[int, ...]
    strategies: int
    fair_share: float
    hints: list[State] = field(default_factory=list)
    samples: dict[State, list[Payoffs]] = field(default_factory=dict)
    tried: dict[State, int] = field(default_factory=dict)
    waiting: set[TrialRequest] = field(default_factory=set)

    @property
    def is_line(self) -> bool:
        """One group and two strategies: positions from 0 to N."""
        return len(self.sizes) == 1 and self.strategies == 2

    def search(self, budget: int | None = None) -> AdaptiveSearch:
        """A search that knows every result so far, and measures at most so many mixes."""
        search = AdaptiveSearch(self.sizes, self.strategies, self.hints, budget)
        for state in self.tried:
            values = self.samples.get(state)
            search.tell(state, np.mean(values, axis=0) if values else None)
        return search

    def lead(self, position: int) -> float | None:
        """Second strategy's lead at a position of a line."""
        values = self.samples.get(self.at(position))
        if not values or not 0 < position < self.sizes[0]:
            return None
        first, second = np.mean(values, axis=0)[0]
        return float(second - first)

    @property
    def leads(self) -> dict[int, NDArray[np.float64]]:
        """Position of a line with flows of both -> the second strategy's lead in each trial."""
        return {
            state[0][1]: np.array([payoffs[0, 1] - payoffs[0, 0] for payoffs in values])
            for state, values in self.samples.items()
            if min(state[0]) > 0
        }

    def at(self, position: int) -> State:
        """The state of a position of a line."""
        return ((self.sizes[0] - position, position),)


class Campaign:
    """Chooses the trials of all settings.

    Args:
        games: The settings; neighbouring ones beside each other.
    """

    def __init__(self, games: Sequence[Game], rules: Rules) -> None:
        self.games = list(games)
        self._rules = rules
        self._done: set[int] = set()

    def ask(self) -> list[TrialRequest]:
        """Trials to start now; of a setting only when none of its trials is under way.

        Returns:
            Each trial once; nothing when the campaign is over or waits for results.
        """
        requests: list[TrialRequest] = []
        while not requests:
            idle = [i for i, g in enumerate(self.games) if i not in self._done and not g.waiting]
            if not idle:
                break
            noises = noise_of_games((game.samples, game.fair_share) for game in self.games)
            for place, i in enumerate(idle):
                requests += self._ask_game(i, self._share(len(idle) - place), noises[i])
        return requests

    def _share(self, games: int) -> int:
        """What one of so many games that want trials now gets of the lanes that are free."""
        free = self._rules.lanes - sum(len(game.waiting) for game in self.games)
        return max(1, -(-free // games))

    def tell(self, request: TrialRequest, payoffs: Payoffs | None) -> None:
        """Say what a trial gave; also of trials that were not asked for, as when resuming.

        Args:
            payoffs: Utility of a flow of each group and strategy, shape (G, S), NaN where the
                mix has no such flow; None: no attempt was valid.
        """
        game = self.games[request.game]
        game.waiting.discard(request)
        game.tried[request.state] = max(game.tried.get(request.state, 0), request.repetition + 1)
        if payoffs is not None and np.isfinite(payoffs[np.array(request.state) > 0]).all():
            game.samples.setdefault(request.state, []).append(payoffs)

    def result(self, game: int) -> SearchResult:
        """What is known of a setting."""
        search = self.games[game].search(self._rules.budget)
        search.ask()
        return search.result()

    def _ask_game(self, index: int, width: int, noise: Noise) -> list[TrialRequest]:
        game = self.games[index]
        search = game.search(self._rules.budget)
        states = search.ask()
        if states:
            states = _with_more(game, states, width)[: self._left(game)]
            states += self._early_repeats(game, width - len(states))
        else:
            found = search.result()
            states = self._repeats(game, found, noise)
            states = states or self._for_interval(game, found)
        if not states:
            self._finish(index, search.result())
        requests = [TrialRequest(index, state, game.tried.get(state, 0)) for state in states]
        game.waiting.update(requests)
        return requests

    def _early_repeats(self, game: Game, lanes: int) -> list[State]:
        """The ends of a narrow bracket, repeated while its inside is measured.

        They decide the equilibrium, so most of them would be repeated a round later.
        """
        if lanes <= 0 or not game.is_line:
            return []
        low, high = bracket(game.sizes[0], game.lead)
        if high - low > NARROW:
            return []
        ends = (game.at(position) for position in (low, high))
        return [s for s in ends if s in game.samples and self._may_repeat(game, s)][:lanes]

    def _may_repeat(self, game: Game, state: State) -> bool:
        return game.tried[state] < self._rules.repetitions

    def _for_interval(self, game: Game, result: SearchResult) -> list[State]:
        """Mixes beside the equilibrium of a line, so that its interval is closed on both sides."""
        if not game.is_line or not result.equilibria:
            return []
        length, here = game.sizes[0], result.equilibria[0][0][1]
        known, leads = {state[0][1] for state in game.tried}, game.leads
        least = INTERVAL_MIXES - (self._rules.repetitions > 1)
        places = mixes_about(length, here, known, least - len(leads))
        places = places or flanks(length, here, known, leads)
        asked = [game.at(p) for p in places[: self._left(game)]]
        return asked or [game.at(p) for p in self._once(game)]

    def _once(self, game: Game) -> list[int]:
        """Places about the interval that have not been repeated as often as deciding mixes are."""
        if self._rules.least == 1:
            return []
        ends, measured = ends_of_leads(game.leads, game.sizes[0]), sorted(game.leads)
        deciding = {p for i in ends.intervals for p in places_about(i, measured)}
        most = min(self._rules.least, self._rules.repetitions)
        return sorted(p for p in deciding if game.tried[game.at(p)] < most)

    def _left(self, game: Game) -> int | None:
        """Mixes of a game that the budget leaves; None: any number."""
        budget = self._rules.budget
        return None if budget is None else max(0, budget - len(game.tried))

    def _repeats(self, game: Game, result: SearchResult, noise: Noise) -> list[State]:
        """Mixes that decide an equilibrium and are not clear yet, while repetitions are left."""
        states: set[State] = set()
        for state in result.equilibria:
            states |= unclear(state, game.samples, noise, game.fair_share, self._rules.epsilon)
        return sorted(s for s in states if self._may_repeat(game, s))

    def _finish(self, index: int, result: SearchResult) -> None:
        self._done.add(index)
        for state in result.equilibria[:1]:
            for beside in (index - 1, index + 1):
                if 0 <= beside < len(self.games) and beside not in self._done:
                    self._hint(self.games[beside], state)

    def _hint(self, game: Game, state: State) -> None:
        """Say where a setting beside a game has settled, if nothing better is known of it."""
        if not game.hints and game.sizes == tuple(sum(counts) for counts in state):
            game.hints.append(state)


def _with_more(game: Game, states: list[State], width: int) -> list[State]:
    """What the search asks for, and speculation where lanes are left and the game is a line."""
    if not game.is_line:
        return states
    known = {state[0][1] for state in game.tried}
    asked = [state[0][1] for state in states]
    hint = game.hints[0][0][1] if game.hints else None
    return [game.at(p) for p in fill(game.sizes[0], game.lead, asked, known, width, hint)]
