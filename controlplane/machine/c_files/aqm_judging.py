"""What must hold of any queue discipline, judged from its arrivals and what became of them."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

NS_PER_S = 10**9
ROUNDING_NS = 1
"""A departure may be a nanosecond late for the part of one that is carried."""


@dataclass(frozen=True)
class Arrival:
    """A packet on its way into a queue.

    Attributes:
        ecn: Its ECN codepoint: 0, or 2 where it can be marked.
    """

    ns: int
    flow: int
    bytes: int
    ecn: int


@dataclass(frozen=True)
class Fate:
    """What became of a packet, in the order in which it became known.

    Attributes:
        packet: Its number among the arrivals.
        ns: When its last bit left, or when it was dropped.
    """

    packet: int
    ns: int
    departed: bool
    marked: bool


@dataclass(frozen=True)
class Passage:
    """Packets that went through a queue.

    Attributes:
        arrivals: The packets, in the order of their arrival.
        limit_bytes: The queue's hard limit.
    """

    arrivals: Sequence[Arrival]
    fates: Sequence[Fate]
    rate_bps: int
    limit_bytes: int

    def stays(self) -> list[tuple[int, int, int]]:
        """(from, to, bytes) of each packet that was in the queue for some time."""
        sizes = ((self.arrivals[each.packet], each) for each in self.fates)
        return [(a.ns, each.ns, a.bytes) for a, each in sizes if each.ns > a.ns]

    def departures(self) -> list[tuple[Arrival, Fate]]:
        """The packets that left, in their order."""
        return [(self.arrivals[each.packet], each) for each in self.fates if each.departed]

    def takes_ns(self, arrival: Arrival) -> int:
        """How long the line takes for a packet."""
        return arrival.bytes * 8 * NS_PER_S // self.rate_bps


def _conserved(passage: Passage) -> str:
    """Each packet that arrives departs or is dropped, once."""
    count = [0] * len(passage.arrivals)
    for each in passage.fates:
        count[each.packet] += 1
    gone, twice = count.count(0), sum(n > 1 for n in count)
    problems = [f"{gone} packets never came out"] if gone else []
    problems += [f"{twice} packets came out more than once"] if twice else []
    return ", ".join(problems)


def _in_order(passage: Passage) -> str:
    """Packets of one flow leave in the order in which they arrived; times never go back."""
    last: dict[int, int] = {}
    wrong = 0
    for arrival, fate in passage.departures():
        wrong += fate.packet < last.get(arrival.flow, -1)
        last[arrival.flow] = max(fate.packet, last.get(arrival.flow, -1))
    times = [each.ns for each in passage.fates]
    back = sum(a > b for a, b in pairwise(times))
    early = sum(each.ns < passage.arrivals[each.packet].ns for each in passage.fates)
    problems = [f"{wrong} packets overtook their own flow's"] if wrong else []
    problems += [f"{back + early} times went back"] if back + early else []
    return ", ".join(problems)


def _within_limit(passage: Passage) -> str:
    """Never is more in the queue than its limit."""
    steps = [(begin, 1, size) for begin, _, size in passage.stays()]
    steps += [(end, 0, -size) for _, end, size in passage.stays()]
    held = most = 0
    for _, _, size in sorted(steps):
        held += size
        most = max(most, held)
    return f"{most} B in a queue of {passage.limit_bytes} B" if most > passage.limit_bytes else ""


def _work_conserving(passage: Passage) -> str:
    """While a packet is in the queue the line is sending, at its rate."""
    left = passage.departures()
    ends = [fate.ns for _, fate in left]
    wrong = 0
    for begin, end in _merged([(begin, end) for begin, end, _ in passage.stays()]):
        first, after = bisect_right(ends, begin), bisect_right(ends, end)
        working = sum(passage.takes_ns(arrival) for arrival, _ in left[first:after])
        wrong += abs(end - begin - working) > ROUNDING_NS * (after - first + 1)
    idle = "times the line was idle with a packet in the queue, or faster than its rate"
    return f"{wrong} {idle}" if wrong else ""


def _merged(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


CHECKS: dict[str, Callable[[Passage], str]] = {
    "conservation": _conserved,
    "order": _in_order,
    "limit": _within_limit,
    "work-conserving": _work_conserving,
}
"""Name of a check -> says what is wrong; empty: nothing."""


def problems_of(passage: Passage) -> dict[str, str]:
    """What is wrong, by the name of the check; nothing where all holds."""
    found = {name: check(passage) for name, check in CHECKS.items()}
    return {name: problem for name, problem in found.items() if problem}
