"""The headline of a setting: where its mix settles, and beneath it what a reader should know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .crossing_interval import CrossingInterval, LeadEnds

NO_EQUILIBRIUM = "no equilibrium"


@dataclass(frozen=True)
class Headline:
    """Where a mix settles, in parts: a page shows them apart, a line shows them together.

    Attributes:
        mix: The mix, e.g. `26.9 cubic + 23.1 bbr`, or why there is none.
        interval: Its 95 % interval, e.g. `22.4 to 23.9 bbr`; empty: none.
        perhaps: Further places where it may settle, each with its interval.
        notes: What is not certain, each in a few words.
    """

    mix: str
    interval: str = ""
    perhaps: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def line(self) -> str:
        """Everything in one line, for a script and for a cell of a table."""
        more = [f"perhaps also {text}" for text in self.perhaps]
        return "; ".join([_with_interval(self.mix, self.interval), *more, *self.notes])

    def facts(self) -> list[str]:
        """Everything but the mix: a sentence for each fact."""
        told = [f"95 % interval: {self.interval}"] if self.interval else []
        told += [f"perhaps also {text}" for text in self.perhaps]
        return [f"{text[0].upper()}{text[1:]}." for text in (*told, *self.notes)]


def headline_of(
    states: Sequence[str],
    strategies: Sequence[str],
    flows: int,
    ends: LeadEnds | None,
    notes: Sequence[str] = (),
    otherwise: str = NO_EQUILIBRIUM,
) -> Headline:
    """Where the mix settles.

    Of a game of one group and two strategies that is where the second one's lead ends, with its
    interval; of another one, or where there is no interval, every equilibrium of the means.

    Args:
        states: The equilibria of the means, in words.
        strategies: Names of the strategies.
        flows: Flows of all groups.
        ends: Where the lead ends; None of a game that is no line.
        notes: What is not certain about it, in words.
        otherwise: What stands in the mix's place where there is none.
    """
    if ends is None or not ends.intervals:
        return Headline("; ".join(states) or otherwise, notes=tuple(notes))
    sure = [_place_of(i, strategies, flows) for i in ends.intervals if i.sure]
    perhaps = tuple(interval_text(i, strategies, flows) for i in ends.intervals if not i.sure)
    if len(sure) == 1:
        return Headline(*sure[0], perhaps, tuple(notes))
    several = " or ".join(_with_interval(*place) for place in sure)
    return Headline(several, perhaps=perhaps, notes=tuple(notes))


def interval_text(interval: CrossingInterval, strategies: Sequence[str], flows: int) -> str:
    """An interval in words, e.g. `26.9 cubic + 23.1 bbr (95 %: 22.4 to 23.9 bbr)`.

    Args:
        interval: The interval.
        strategies: Names of the two strategies.
        flows: Flows of the group.
    """
    return _with_interval(*_place_of(interval, strategies, flows))


def _with_interval(place: str, interval: str) -> str:
    return f"{place} (95 %: {interval})" if interval else place


def _place_of(interval: CrossingInterval, strategies: Sequence[str], flows: int) -> tuple[str, str]:
    """The mix at which a lead ends, and the interval of that."""
    first, second = strategies
    low, high = _number(interval.low), _number(interval.high)
    if interval.at is None:
        return f"between {low} and {high} {second} (nothing measured there)", ""
    if interval.at in (0, flows):
        text = f"{flows} {second if interval.at else first}"
    else:
        text = f"{_number(flows - interval.at)} {first} + {_number(interval.at)} {second}"
    if low == high:
        return text, "no other mix" if interval.at in (0, flows) else "± <0.1"
    return text, f"{low} to {high} {second}"


def _number(flows: float) -> str:
    """Flows with one decimal, whole ones without."""
    return f"{flows:.1f}".removesuffix(".0")
