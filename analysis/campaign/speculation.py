"""Mixes worth measuring beside those that a search asks for, where lanes would stand idle.

A search of one line asks for one position at a time, each chosen by the answer to the one before.
With lanes to spare its bracket is cut into several parts at once: w positions a round leave a
(w + 1)-th of it, so that N flows take about log(N) / log(w + 1) rounds instead of log2(N). Where an
equilibrium is expected, lanes go to its neighbourhood first: three mixes in a row decide.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from ..nash.game_slice import first_step

AROUND = 3
"""Steps to each side of a hint that are measured at once, where lanes are left."""

Lead = Callable[[int], float | None]
"""B's lead over A at a position; None where it is not known."""


def fill(
    length: int,
    lead: Lead,
    asked: Sequence[int],
    known: set[int],
    width: int,
    hint: int | None = None,
) -> list[int]:
    """Positions to be measured in one round.

    Args:
        length: Flows N; positions are 0 to N.
        asked: Positions that the search asks for; always in the answer.
        known: Positions that are measured, or cannot be.
        width: How many positions fit into a round.
        hint: Position where an equilibrium is expected.

    Returns:
        The positions asked for; then, while an end of the bracket in which B's lead ends is not
        measured, those around the hint at growing distances; then the middles of its widest gaps,
        as many as fit. None of them is known.
    """
    chosen = list(asked)
    low, high = bracket(length, lead)
    taken = {*known, *chosen}
    if hint is not None and (lead(low) is None or lead(high) is None):
        near = [p for p in around(hint, length) if low <= p <= high and p not in taken]
        chosen += near[: max(0, width - len(chosen))]
    while len(chosen) < width:
        place = _middle_of_widest(low, high, {*known, *chosen})
        if place is None:
            break
        chosen.append(place)
    return chosen


def around(hint: int, length: int) -> list[int]:
    """Positions to both sides of a hint, as far as steps from it go that grow (`game_slice`)."""
    step = first_step(length)
    distances = [step * (2**i - 1) for i in range(1, AROUND + 1)]
    return [p for d in distances for p in (hint - d, hint + d) if 0 <= p <= length]


def bracket(length: int, lead: Lead) -> tuple[int, int]:
    """The last position where B leads, and the first one after it where it does not.

    Positions 0 and N have flows of one strategy only, hence no lead; they are the bracket's ends
    as long as nothing else is known.
    """
    leads = {p: value for p in range(1, length) if (value := lead(p)) is not None}
    low = max((p for p, value in leads.items() if value > 0), default=0)
    return low, min((p for p in leads if p > low), default=length)


def _middle_of_widest(low: int, high: int, taken: set[int]) -> int | None:
    """The middle of the widest run of free positions from low to high, the ends included."""
    free = [p for p in range(low, high + 1) if p not in taken]
    if not free:
        return None
    walls = sorted({low - 1, high + 1} | {p for p in taken if low <= p <= high})
    left, right = max(pairwise(walls), key=lambda gap: gap[1] - gap[0])
    return (left + right) // 2
