"""The headline of a setting: its equilibrium in whole flows, and beneath it what one should know.

Shares that had not settled make an equilibrium of trials of that length and start alone. A headline
of such trials therefore begins with both, and its interval is not called that of the equilibrium.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..state import state_text
from .crossing_interval import CrossingInterval, LeadEnds, mixes_between

NO_EQUILIBRIUM = "no equilibrium"


@dataclass(frozen=True)
class Headline:
    """An equilibrium in parts: a page shows them apart, a line shows them together.

    Attributes:
        mix: The mix, e.g. `27 cubic + 23 bbr`, or why there is none.
        interval: The mixes in its 95 % interval, e.g. `22 to 24 bbr`; empty: none.
        perhaps: Further places where it may settle, each with its interval.
        notes: What is not certain, each in a few words.
        condition: Length and start of the trials that this holds for, e.g. `at 120 s, from a start
            by iperf3`; empty: it holds for settled shares.
    """

    mix: str
    interval: str = ""
    perhaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    condition: str = ""

    @property
    def claim(self) -> str:
        """The mix, and what it holds for."""
        return f"{self.condition}: {self.mix}" if self.condition else self.mix

    def line(self) -> str:
        """Everything in one line, for a script and for a cell of a table."""
        claim = _with_interval(self.claim, self.interval, bool(self.condition))
        more = [f"perhaps also {text}" for text in self.perhaps]
        return "; ".join([claim, *more, *self.notes])

    def facts(self) -> list[str]:
        """Everything but the mix: a sentence for each fact."""
        whose = " of trials of this length and start" if self.condition else ""
        told = [f"95 % interval{whose}: {self.interval}"] if self.interval else []
        told += [f"perhaps also {text}" for text in self.perhaps]
        return [f"{text[0].upper()}{text[1:]}." for text in (*told, *self.notes)]


def headline_of(
    states: Sequence[str],
    strategies: Sequence[str],
    flows: int,
    ends: LeadEnds | None,
    notes: Sequence[str] = (),
    otherwise: str = NO_EQUILIBRIUM,
    condition: str = "",
) -> Headline:
    """The equilibrium in words.

    Of a game of one group and two strategies that is where the second one's lead ends, with its
    interval; of another one, or where there is no interval, every equilibrium of the means.

    Args:
        states: The equilibria of the means, in words.
        flows: Flows of all groups.
        ends: Where the lead ends; None of a game that is no line.
        otherwise: What stands in the mix's place where there is none.
        condition: Length and start of the trials, where they had not settled; else empty.
    """
    if ends is None or not ends.intervals:
        mix = "; ".join(states) or otherwise
        return Headline(mix, notes=tuple(notes), condition=condition)
    unsettled = bool(condition)
    sure = [_place_of(i, strategies, flows) for i in ends.intervals if i.sure]
    perhaps = tuple(
        interval_text(i, strategies, flows, unsettled) for i in ends.intervals if not i.sure
    )
    if len(sure) == 1:
        return Headline(*sure[0], perhaps, tuple(notes), condition)
    several = " or ".join(_with_interval(*place, unsettled) for place in sure)
    return Headline(several, perhaps=perhaps, notes=tuple(notes), condition=condition)


def interval_text(
    interval: CrossingInterval, strategies: Sequence[str], flows: int, unsettled: bool = False
) -> str:
    """An interval in words, e.g. `27 cubic + 23 bbr (95 %: 22 to 24 bbr)`.

    Args:
        unsettled: Whether it is of trials that had not settled.
    """
    return _with_interval(*_place_of(interval, strategies, flows), unsettled)


def _with_interval(place: str, interval: str, unsettled: bool) -> str:
    """A place and its interval: 95 % of it are said of settled shares only."""
    if not interval:
        return place
    return f"{place} ({interval})" if unsettled else f"{place} (95 %: {interval})"


def _place_of(interval: CrossingInterval, strategies: Sequence[str], flows: int) -> tuple[str, str]:
    """The mix at which a lead ends, and the mixes within its interval: whole flows."""
    second = strategies[1]
    low, high = mixes_between(interval.low, interval.high, flows)
    if interval.at is None:
        return f"between {low} and {high} {second} (nothing measured there)", ""
    place, _ = mixes_between(interval.at, interval.at, flows)
    text = line_text(strategies, flows, place)
    return text, "no other mix" if low == high else f"{low} to {high} {second}"


def line_text(strategies: Sequence[str], flows: int, second: int) -> str:
    """A mix of one group and two strategies, of which `second` flows run the second."""
    return state_text(((flows - second, second),), strategies, ("",))
