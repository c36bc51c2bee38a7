"""Mixes beside an equilibrium that a search would not need, so that there is an interval about it.

A search with a good start ends with the three mixes that decide. An interval takes more, and it is
open to an end of the line as long as no mix on that side is surely on that side: then it says
nothing. The lead grows with the distance, while its noise, as a part of the rate, is about equal
at every mix; so the first flank is asked for halfway between the equilibrium and the end.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise

from ..nash.crossing_interval import REACH, FloatArray, ends_of_leads, open_ends

INTERVAL_MIXES = 6
"""Mixes with flows of both that a line has at least when it is done: with fewer the equilibrium has
no interval, or one that says nothing (`nash.crossing_interval`). Where mixes are repeated one less
does, for repetitions tell the noise."""
ASIDE, LEAST_REACH = 0.1, 3
"""They are about this part of the line from the equilibrium; see `mixes_about`."""


def mixes_about(length: int, here: int, known: set[int], missing: int) -> list[int]:
    """Mixes near an equilibrium, for an interval about it.

    Args:
        length: Flows N; positions are 0 to N.
        here: The equilibrium.
        known: Positions that were asked for.
        missing: How many more are wanted; there may be fewer within reach.
    """
    reach = max(LEAST_REACH, round(REACH * length))
    free = [p for p in range(here - reach, here + reach + 1) if 0 < p < length and p not in known]
    free.sort(key=lambda p: (abs(abs(p - here) - ASIDE * length), abs(p - here)))
    return free[: max(0, missing)]


def flanks(length: int, here: int, known: set[int], leads: Mapping[int, FloatArray]) -> list[int]:
    """A mix on each side to which the interval is open; none where it is closed or all are known.

    Args:
        length: Flows N; positions are 0 to N.
        leads: Position -> B's lead in each of its trials.
    """
    low, high = open_sides(leads, length)
    reach = max(LEAST_REACH, round(REACH * length))
    asked = []
    if low:
        asked += _flank(range(1, min(max(here, reach), length - 1) + 1), here, known)
    if high:
        beyond = range(max(min(here, length - reach), 1), length)
        asked += _flank(beyond, here, {*known, *asked})
    return asked


def open_sides(leads: Mapping[int, FloatArray], length: int) -> tuple[bool, bool]:
    """Whether it is not sure that B leads on the left, and that it does not on the right.

    Args:
        leads: Position -> B's lead in each of its trials.
    """
    sure = [i for i in ends_of_leads(leads, length, places_per_flow=1).intervals if i.sure]
    return open_ends(sure, length)


def _flank(side: Iterable[int], here: int, known: set[int]) -> list[int]:
    """The middle of the widest run of free positions on a side, the end of the line included."""
    places = list(side)
    walls = [places[0] - 1, *(p for p in places if p in known), places[-1] + 1]
    gaps = [(a, b) for a, b in pairwise(walls) if b - a > 1]
    if not gaps:
        return []
    left, right = max(gaps, key=lambda gap: (gap[1] - gap[0], -abs(sum(gap) / 2 - here)))
    return [(left + right) // 2]
