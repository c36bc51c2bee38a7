"""A slice through a game: one group's flows of two strategies A and B, everything else fixed.

Position p is the number of B flows, 0 to N. The gain of edge p is what an A flow of position p
gets by switching, U_B(p+1) - U_A(p); it is +inf left of the slice (edge -1) and -inf right of it
(edge N). Position p is an equilibrium of the slice if gain(p-1) >= 0 >= gain(p). Between an edge
with gain >= 0 and one further right with gain <= 0 there is therefore always one, in whatever
game, and halving finds it: at most 2 ceil(log2(N+1)) positions are measured.

A single position is a good guess at its edges' signs and costs half as much: the lead
U_B(p) - U_A(p). So leads are followed first, and edges are measured where the lead ends. The
answer rests on edges alone.
"""

import math
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from ..state import State

Pair = tuple[float, float]
"""Utility of an (A, B) flow at a position; NaN where there is no such flow."""

Steps = Generator[list[State], None, int | None]
"""Yields states to be measured; returns the equilibrium's position, or None if holes hide it."""

STRIDE = 50
"""The first step from a hint is a STRIDE-th of the slice: what the fluid model is off by."""

TRUST = 2
"""Guesses are followed for TRUST ceil(log2(N+1)) measurements; then bisection takes over."""


@dataclass
class GameSlice:
    """The measured part of a slice.

    Attributes:
        length: Flows N; positions are 0 to N.
        at: Position -> the state that it is in the game.
        look: Position -> its utilities; None if not measured yet.
        dead: Whether a position cannot be measured.
    """

    length: int
    at: Callable[[int], State]
    look: Callable[[int], Pair | None]
    dead: Callable[[int], bool]

    def gain(self, edge: int) -> float | None:
        """The gain of an edge; None if it is not known."""
        if edge < 0:
            return math.inf
        if edge >= self.length:
            return -math.inf
        before, after = self.look(edge), self.look(edge + 1)
        return None if before is None or after is None else after[1] - before[0]

    def lead(self, position: int) -> float | None:
        """B's lead at a position where both are; None if there is none or it is not known."""
        pair = self.look(position) if 0 < position < self.length else None
        return None if pair is None else pair[1] - pair[0]

    def known(self, position: int) -> bool:
        """Whether a position is measured, or cannot be."""
        return self.look(position) is not None or self.dead(position)

    @property
    def tried(self) -> int:
        """Positions that are known."""
        return sum(map(self.known, range(self.length + 1)))

    def open(self, edge: int) -> bool:
        """Whether the gain of an edge is not known and can be measured."""
        return self.gain(edge) is None and not (self.dead(edge) or self.dead(edge + 1))

    def settled(self, position: int) -> bool:
        """Whether a position is known to be an equilibrium of the slice."""
        before, after = self.gain(position - 1), self.gain(position)
        return before is not None and after is not None and before >= 0 >= after

    def hidden(self) -> list[int]:
        """Positions that could be an equilibrium, but for dead ones among and beside them."""
        blocked = [
            (low, high)
            for low, high in self.brackets()
            if high - low > 1 and not any(self.open(e) for e in range(low + 1, high))
        ]
        return sorted({p for low, high in blocked for p in range(low + 1, high + 1)})

    def brackets(self) -> list[tuple[int, int]]:
        """Neighbouring known edges with gain >= 0 >= gain, narrowest first: each holds one."""
        result: list[tuple[int, int]] = []
        low: int | None = -1
        for edge in range(self.length + 1):
            gain = self.gain(edge)
            if gain is None:
                continue
            if low is not None and gain <= 0:
                result.append((low, edge))
            low = edge if gain >= 0 else None
        return sorted(result, key=lambda pair: pair[1] - pair[0])


@dataclass
class Hints:
    """Expected equilibria of a slice, and how far the search trusts guesses.

    Attributes:
        hints: Positions where an equilibrium is expected, best first; they are used up.
        guess: Whether to follow leads; otherwise the search bisects.
        anchor: The last hint, from which steps grow; None before the first.
    """

    hints: deque[int] = field(default_factory=deque)
    guess: bool = True
    anchor: int | None = None

    def next_hint(self, part: GameSlice, low: int, high: int) -> int | None:
        """The next hint strictly between two positions that is not known yet."""
        while self.hints:
            position = self.hints.popleft()
            if 0 <= position <= part.length and part.known(position):
                self.anchor = position
            elif low < position < high:
                self.anchor = position
                return position
        return None


def settle(part: GameSlice, guide: Hints) -> Steps:
    """Find an equilibrium of a slice.

    Args:
        part: What is known, changing as positions are measured.
        guide: Hints, and how far to trust guesses.

    Yields:
        States of positions that must be measured, or found dead, before going on.

    Returns:
        The equilibrium's position; None if dead positions hide every one.
    """
    while True:
        bracket = _best_bracket(part)
        if bracket is None:
            return None
        low, high = bracket
        if high - low == 1:
            return high
        yield [part.at(p) for p in _next_positions(part, guide, low, high)]


def _best_bracket(part: GameSlice) -> tuple[int, int] | None:
    """The narrowest bracket that is done or can be narrowed."""
    for low, high in part.brackets():
        if high - low == 1 or any(part.open(edge) for edge in range(low + 1, high)):
            return low, high
    return None


def _next_positions(part: GameSlice, guide: Hints, low: int, high: int) -> list[int]:
    if guide.guess and part.tried < TRUST * math.ceil(math.log2(part.length + 1)):
        left, right = _leads(part, low, high)
        position = _guess(part, guide, left, right, (low, high))
        if position is not None and 0 < position < part.length:
            return [position]
        if position is not None:  # a corner has no lead: only its edge decides
            return _edge(part, low, high, min(position, part.length - 1))
        if left is not None:
            return _edge(part, low, high, left)
        return _edge(part, low, high, low + 1 if right is not None else (low + high) // 2)
    return _edge(part, low, high, (low + high) // 2)


def _leads(part: GameSlice, low: int, high: int) -> tuple[int | None, int | None]:
    """The last position where B leads, and the first one after it where it does not."""
    leads = {p: part.lead(p) for p in range(low + 1, high + 1)}
    known = {p: lead for p, lead in leads.items() if lead is not None}
    left = max((p for p, lead in known.items() if lead > 0), default=None)
    right = (p for p, lead in known.items() if lead <= 0 and (left is None or p > left))
    return left, min(right, default=None)


def _guess(
    part: GameSlice, guide: Hints, left: int | None, right: int | None, bracket: tuple[int, int]
) -> int | None:
    """A position worth measuring by itself; None where only an edge decides.

    Positions low + 1 to high can be the equilibrium.
    """
    low, high = bracket
    start = low if left is None else left
    end = high + 1 if right is None else right
    position = guide.next_hint(part, start, end)
    if position is None:
        position = _step(part, guide, (left, right), (start, end))
    usable = start < position < end and not part.known(position)
    return position if usable else None


def _step(
    part: GameSlice, guide: Hints, leads: tuple[int | None, int | None], span: tuple[int, int]
) -> int:
    """Halfway between the ends; from a hint, a growing step away from the known lead."""
    left, right = leads
    start, end = span
    middle = (start + end) // 2
    if guide.anchor is None or (left is None) == (right is None):
        return middle
    step = first_step(part.length)
    if left is not None:
        place = left + step + max(0, left - guide.anchor)
        return place if place < end else middle
    place = end - step - max(0, guide.anchor - end)
    return place if place > start else middle


def first_step(length: int) -> int:
    """Positions from a hint to the next one that is measured."""
    return max(1, round(length / STRIDE))


def _edge(part: GameSlice, low: int, high: int, target: int) -> list[int]:
    """The unknown positions of the open edge nearest to a position."""
    edges = (edge for edge in range(low + 1, high) if part.open(edge))
    edge = min(edges, key=lambda e: (abs(e - target), e))
    return [p for p in (edge, edge + 1) if part.look(p) is None]
