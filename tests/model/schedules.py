"""Plain models of a line that changes, a policer and a shaper, which the data plane must equal.

Written for being obviously right: time is exact, as fractions, and each opportunity to send is
walked through as in Mahimahi's link queue.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, islice
from math import ceil

NS = 10**9
State = tuple[int, int, int]
"""Time after t0, rate in bit/s, limit in bytes."""


@dataclass(frozen=True)
class Outcome:
    """What becomes of one arrival; the departure of one that is dropped is its arrival."""

    dropped: bool
    departure_ns: int


class Rates:
    """A line with a base rate until t0, then states, again and again where there is a period."""

    def __init__(
        self, rate_bps: int, limit: int, t0_ns: int, states: Sequence[State], period_ns: int = 0
    ) -> None:
        self._before = (0, rate_bps, limit)
        self._steps: list[State] = [(t0_ns + at, rate, room) for at, rate, room in states]
        if period_ns:
            self._steps = [
                (t0_ns + turn * period_ns + at, rate, room)
                for turn in range(200)
                for at, rate, room in states
            ]
        self._free = Fraction(0)

    def state(self, now: Fraction) -> State:
        return next((each for each in reversed(self._steps) if each[0] <= now), self._before)

    def limit(self, now_ns: int) -> int:
        return self.state(Fraction(now_ns))[2]

    def depart(self, now_ns: int, bits: int) -> int:
        """When the last of the bits has left: the integral of the rate is as large then."""
        at, left = max(self._free, Fraction(now_ns)), Fraction(bits * NS)
        while True:
            rate = self.state(at)[1]
            end = next((each[0] for each in self._steps if each[0] > at), None)
            if rate and (end is None or left / rate <= end - at):
                self._free = at + left / rate
                return int(self._free)
            assert end is not None
            left -= rate * (end - at)
            at = Fraction(end)


class Opportunities:
    """A line that sends so many bits at each of these times, walked through one by one."""

    def __init__(
        self, t0_ns: int, times_ns: Sequence[int], bits: int, period_ns: int, after_bps: int
    ) -> None:
        self._all = bits
        self._after_bps = after_bps
        self._times = self._walk(t0_ns, times_ns, period_ns)
        self._next: int | None = next(self._times)
        self._free = Fraction(0)
        self._left = 0
        self._has_ended_at = Fraction(0)

    @staticmethod
    def _walk(t0_ns: int, times_ns: Sequence[int], period_ns: int) -> Iterator[int]:
        for turn in count() if period_ns else range(1):
            yield from (t0_ns + turn * period_ns + at for at in times_ns)

    def depart(self, now_ns: int, bits: int) -> int:
        """When the last of the bits has left; what comes as an opportunity does misses it."""
        if now_ns >= self._free:
            self._left = 0
            while self._next is not None and self._next <= now_ns:
                self._step()
            self._free = Fraction(now_ns)
        while self._left < bits:
            bits -= self._left
            self._left = 0
            if self._next is None:
                self._free += Fraction(bits * NS, self._after_bps)
                return int(self._free)
            self._free, self._left = Fraction(self._next), self._all
            self._step()
        self._left -= bits
        return int(self._free)

    def _step(self) -> None:
        self._next = next(self._times, None)


class Bucket:
    """Tokens of so many bytes, full at the beginning."""

    def __init__(self, rate_bps: int, full: int) -> None:
        self._rate = Fraction(rate_bps, 8 * NS)
        self._full = self._tokens = Fraction(full)
        self._filled_ns = 0

    def at(self, now_ns: int) -> Fraction:
        """The tokens that it has at a time."""
        return min(self._full, self._tokens + (now_ns - self._filled_ns) * self._rate)

    def has_ns(self, now_ns: int, size: int) -> int:
        """The first nanosecond from a time on at which it has tokens for so many bytes."""
        return now_ns + max(0, ceil((size - self.at(now_ns)) / self._rate))

    def use(self, now_ns: int, size: int) -> None:
        """Take tokens out."""
        self._tokens, self._filled_ns = self.at(now_ns) - size, now_ns


class Shaper:
    """Packets leave one after the other, each when all buckets have tokens for it."""

    def __init__(self, *buckets: Bucket) -> None:
        self._buckets = buckets
        self._free_ns = 0

    def depart(self, now_ns: int, bits: int) -> int:
        """When a packet leaves that comes now."""
        first_ns = max(now_ns, self._free_ns)
        self._free_ns = max(bucket.has_ns(first_ns, bits // 8) for bucket in self._buckets)
        for bucket in self._buckets:
            bucket.use(self._free_ns, bits // 8)
        return self._free_ns


def through(
    line: Rates | Opportunities | Shaper, arrivals: Sequence[tuple[int, int]], limit: int
) -> list[Outcome]:
    """Arrivals (time, bytes) through a drop-tail queue in front of a line or a shaper."""
    inside: list[tuple[int, int]] = []
    outcomes = []
    for now_ns, size in arrivals:
        inside = [each for each in inside if each[0] > now_ns]
        room = line.limit(now_ns) if isinstance(line, Rates) else limit
        if sum(each[1] for each in inside) + size > room:
            outcomes.append(Outcome(True, now_ns))
            continue
        departure_ns = line.depart(now_ns, 8 * size)
        inside.append((departure_ns, size))
        outcomes.append(Outcome(False, departure_ns))
    return outcomes


def policed(arrivals: Sequence[tuple[int, int]], rate_bps: int, burst_bytes: int) -> list[bool]:
    """Whether each arrival finds tokens in a bucket that is full at the beginning."""
    bucket, passed = Bucket(rate_bps, burst_bytes), []
    for now_ns, size in arrivals:
        passed.append(size <= bucket.at(now_ns))
        if passed[-1]:
            bucket.use(now_ns, size)
    return passed


def times(gaps: Sequence[int]) -> list[int]:
    """Times with these gaps between them."""
    return list(islice((sum(gaps[: i + 1]) for i in count()), len(gaps)))
