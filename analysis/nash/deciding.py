"""Which mixes decide where an equilibrium is, and under which condition it holds.

The end of a lead lies between the measured mixes about its interval; an equilibrium of the means
rests on its own mix and on those that are one switch away. Where the shares of one of these are
not known to have settled, the result is that of trials of this length and start.
"""

from collections.abc import Callable, Sequence

from nashbed.controlplane.contract.course import SettledDuration, starts_text
from nashbed.controlplane.contract.scenario import Scenario

from ..state import State, strategy_totals
from .crossing_interval import CrossingInterval, LeadEnds
from .equilibria import Verdict
from .game import PayoffTable

Settled = Callable[[State], bool]
"""Whether all trials of a mix are known to have settled."""


def not_settled(
    table: PayoffTable, verdicts: Sequence[Verdict], ends: LeadEnds | None, settled: Settled
) -> tuple[State, ...]:
    """The mixes that decide and are not known to have settled.

    Mixes of one strategy have nothing to settle.

    Args:
        verdicts: One for each state of the game.
        ends: Where the lead ends; None of a game that is no line.
    """
    mixed = [s for s in sorted(table.samples) if sum(n > 0 for n in strategy_totals(s)) > 1]
    deciding = _about_ends(mixed, ends) if ends and ends.intervals else _of_means(table, verdicts)
    return tuple(state for state in mixed if state in deciding and not settled(state))


def condition_of(scenario: Scenario) -> str:
    """What an equilibrium of trials that had not settled holds for.

    Args:
        scenario: As it is at their setting.
    """
    length = f"{scenario.longest.seconds:g} s"
    if isinstance(scenario.duration, SettledDuration):
        length = f"up to {length}"
    return f"at {length}, {starts_text(scenario.starts())}"


def _about_ends(mixed: Sequence[State], ends: LeadEnds) -> set[State]:
    """The mixes within the intervals of a line, and the nearest ones about them."""
    by_place = {state[0][1]: state for state in mixed}
    return {by_place[p] for i in ends.intervals for p in places_about(i, sorted(by_place))}


def places_about(interval: CrossingInterval, places: Sequence[int]) -> list[int]:
    """The measured places of a line within an interval, and the nearest about it.

    Args:
        places: Flows of the second strategy of the measured mixes with both, increasing.
    """
    low = max((p for p in places if p <= interval.low), default=0)
    high = min((p for p in places if p >= interval.high), default=places[-1])
    return [p for p in places if low <= p <= high]


def _of_means(table: PayoffTable, verdicts: Sequence[Verdict]) -> set[State]:
    """The equilibria with what is one switch away; that there is none rests on every mix."""
    states = [v.state for v in verdicts if v.equilibrium == "yes"]
    if not states and all(v.equilibrium == "no" for v in verdicts):
        return set(table.samples)
    return {*states, *(move.to for state in states for move in table.moves(state))}
