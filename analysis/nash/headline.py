"""The headline of a setting: the one place that says in a line where its mix settles."""

from __future__ import annotations

from collections.abc import Sequence

from .crossing_interval import CrossingInterval, LeadEnds


def headline_text(
    states: Sequence[str],
    strategies: Sequence[str],
    flows: int,
    ends: LeadEnds | None,
    notes: Sequence[str],
) -> str:
    """Where the mix settles, in a line for a person.

    Of a game of one group and two strategies that is where the second one's lead ends, with its
    interval; of another one, or where there is no interval, every equilibrium of the means.

    Args:
        states: The equilibria of the means, in words.
        strategies: Names of the strategies.
        flows: Flows of all groups.
        ends: Where the lead ends; None of a game that is no line.
        notes: What is not certain about it, in words.
    """
    parts = []
    if ends is not None and ends.intervals:
        sure = [interval_text(i, strategies, flows) for i in ends.intervals if i.sure]
        perhaps = [interval_text(i, strategies, flows) for i in ends.intervals if not i.sure]
        parts.append(" or ".join(sure))
        parts += [f"perhaps also {text}" for text in perhaps]
    else:
        parts += ["; ".join(states)] if states else []
    return "; ".join([*parts, *notes]) or "none"


def interval_text(interval: CrossingInterval, strategies: Sequence[str], flows: int) -> str:
    """An interval in words, e.g. `26.9 cubic + 23.1 bbr (95 %: 22.4 to 23.9 bbr)`.

    Args:
        interval: The interval.
        strategies: Names of the two strategies.
        flows: Flows of the group.
    """
    first, second = strategies
    low, high = _number(interval.low), _number(interval.high)
    if interval.at is None:
        return f"between {low} and {high} {second} (nothing measured there)"
    if interval.at in (0, flows):
        text = f"{flows} {second if interval.at else first}"
    else:
        text = f"{_number(flows - interval.at)} {first} + {_number(interval.at)} {second}"
    if low == high:
        return f"{text} (95 %: surely)" if interval.at in (0, flows) else f"{text} (95 %: ± <0.1)"
    return f"{text} (95 %: {low} to {high} {second})"


def _number(flows: float) -> str:
    """Flows with one decimal, whole ones without."""
    return f"{flows:.1f}".removesuffix(".0")
