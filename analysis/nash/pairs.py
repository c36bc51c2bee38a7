"""Games of pairs: for each two of several strategies, where their mix settles.

Mixes of two strategies at a time are measured, and each pair is a game of its own: one group of
flows, two strategies. It is judged as a scenario with these two would be.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from ..state import State
from .crossing_interval import LeadEnds, lead_ends
from .deciding import Settled, not_settled
from .equilibria import judge_all
from .game import PayoffTable, pair_state, pair_table
from .headline import Headline, headline_of, line_text

LISTED_PAIRS = 8
"""Pairs that a headline lists; of more it says how the strategies rank."""


@dataclass(frozen=True)
class PairEquilibria:
    """Where the mix of two strategies settles.

    Attributes:
        flows: Flows N of the group.
        equilibria: Flows of the second at each equilibrium of the measured means.
        ends: Where the second's lead ends; None if there is a single flow.
        not_settled: Mixes, as states of all strategies, that decide and are not known to have
            settled in every trial.
        condition: Length and start of the trials, where there are any such mixes; else empty.
    """

    first: str
    second: str
    flows: int
    equilibria: tuple[int, ...]
    ends: LeadEnds | None
    not_settled: tuple[State, ...] = ()
    condition: str = ""

    @property
    def shares_of_first(self) -> list[float]:
        """The first's share of the flows where the mix settles; several where it may in several.

        It is that of the fitted lead, or else of the equilibria of the means.
        """
        surely = [i.at for i in self.ends.intervals if i.sure] if self.ends else []
        places: list[float] = [at for at in surely if at is not None] or list(self.equilibria)
        return [1 - place / self.flows for place in places]

    @property
    def span_of_first(self) -> tuple[float, float] | None:
        """Between which shares the first one's surely is (95 %); None without one interval."""
        surely = [i for i in self.ends.intervals if i.sure] if self.ends else []
        if len(surely) != 1:
            return None
        (interval,) = surely
        return 1 - interval.high / self.flows, 1 - interval.low / self.flows

    @property
    def share_of_first(self) -> float | None:
        """The mean of these."""
        shares = self.shares_of_first
        return sum(shares) / len(shares) if shares else None

    def headline(self) -> Headline:
        """The equilibrium, with its interval and its condition."""
        named = (self.first, self.second)
        states = [line_text(named, self.flows, k) for k in self.equilibria]
        return headline_of(states, named, self.flows, self.ends, condition=self.condition)

    @property
    def game(self) -> str:
        """What is played, e.g. `cubic against bbr`."""
        return f"{self.first} against {self.second}"

    def text(self) -> str:
        """In words, e.g. `cubic against bbr: 4 cubic + 6 bbr (95 %: 5 to 6 bbr)`."""
        return f"{self.game}: {self.headline().line()}"


def equilibria_of_pairs(
    table: PayoffTable, settled: Settled, condition: str
) -> tuple[PairEquilibria, ...]:
    """The games of all pairs that were measured; none of a scenario that is not of pairs.

    Args:
        condition: What an equilibrium holds for whose mixes have not.
    """
    return tuple(_measured_pairs(table, settled, condition)) if table.pairs else ()


def _measured_pairs(
    table: PayoffTable, settled: Settled, condition: str
) -> Iterator[PairEquilibria]:
    (flows,) = table.sizes
    for first, second in combinations(range(len(table.strategies)), 2):
        game = pair_table(table, first, second)
        if any(min(state[0]) > 0 for state in game.samples):
            whole = {pair_state(state, (first, second)): state for state in table.samples}
            verdicts, ends = judge_all(game), lead_ends(game)
            known = {state for state in game.samples if settled(whole[state])}
            open_mixes = not_settled(game, verdicts, ends, known.__contains__)
            yield PairEquilibria(
                table.strategies[first],
                table.strategies[second],
                flows,
                tuple(v.state[0][1] for v in verdicts if v.equilibrium == "yes"),
                ends,
                tuple(whole[state] for state in open_mixes),
                condition if open_mixes else "",
            )


def mean_share(pairs: Sequence[PairEquilibria], strategy: str) -> float | None:
    """A strategy's share of the flows at the equilibria against each other one, their mean.

    Returns:
        The mean over the opponents with a known equilibrium; None without any.
    """
    shares = [p.share_of_first for p in pairs if p.first == strategy]
    others = [p.share_of_first for p in pairs if p.second == strategy]
    known = [s for s in shares if s is not None] + [1 - s for s in others if s is not None]
    return sum(known) / len(known) if known else None


def ranking(pairs: Sequence[PairEquilibria]) -> list[tuple[str, float | None]]:
    """Each strategy with its `mean_share`, the largest first; last those without any."""
    names = dict.fromkeys(name for pair in pairs for name in (pair.first, pair.second))
    shares = [(name, mean_share(pairs, name)) for name in names]
    return sorted(shares, key=lambda each: -1.0 if each[1] is None else each[1], reverse=True)


def pairs_text(pairs: Sequence[PairEquilibria]) -> str:
    """Where the pairs settle, in a line: each of a few, or how the strategies rank."""
    if len(pairs) <= LISTED_PAIRS:
        return "; ".join(pair.text() for pair in pairs)
    ranked = [f"{name} {share:.0%}" for name, share in ranking(pairs) if share is not None]
    return f"share of the flows at the equilibrium, mean over opponents: {', '.join(ranked)}"
