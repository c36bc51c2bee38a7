"""A link that changes: what it can carry between two times, and when a packet has left it.

Times are nanoseconds after t0, at which a lane's schedule begins; before it the link has its base
rate. The arithmetic is exact and the data plane's (hosts/dpdk/core/line_schedule.c).
"""

import base64
import struct
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Literal

from .model import ContractModel
from .units import NS_PER_S


def packed(numbers: Sequence[int]) -> str:
    """Whole numbers as a short text, for a record."""
    steps = (after - before for before, after in pairwise((0, *numbers)))
    return base64.b64encode(zlib.compress(struct.pack(f"<{len(numbers)}q", *steps), 9)).decode()


def unpacked(text: str) -> list[int]:
    """The numbers of such a text."""
    if not text:
        return []
    steps = zlib.decompress(base64.b64decode(text))
    return list(accumulate(struct.unpack(f"<{len(steps) // 8}q", steps)))


class TraceProgram(ContractModel):
    """A trace of what a link carries over time, as asked for and as applied.

    Attributes:
        name: Name of its file.
        digest: SHA-256 of the file, in hexadecimal.
        form: `opportunities` to send, or `rates`.
        times: When they are, in ns after t0, packed.
        rates: Of rates, in bit/s from each time on, packed.
        opportunity_bytes: What an opportunity carries, with the overhead.
        period_ns: After how long it begins anew; 0: it ends.
    """

    name: str
    digest: str
    form: Literal["opportunities", "rates"]
    times: str
    rates: str = ""
    opportunity_bytes: int = 0
    period_ns: int = 0

    @property
    def times_ns(self) -> list[int]:
        """The times."""
        return unpacked(self.times)

    @property
    def rates_bps(self) -> list[int]:
        """The rates."""
        return unpacked(self.rates)


@dataclass(frozen=True)
class Link:
    """A link over time: of rates that change, or of opportunities to send.

    Attributes:
        rate_bps: Its rate before t0, and after the last opportunity of a trace that ends.
        steps: Times after t0 and the rate from each on; 0: an outage.
        opportunities_ns: Times of opportunities, instead.
        opportunity_bits: What each carries.
        period_ns: After how long either begins anew; 0: never.
    """

    rate_bps: int
    steps: tuple[tuple[int, int], ...] = ()
    opportunities_ns: tuple[int, ...] = ()
    opportunity_bits: int = 0
    period_ns: int = 0

    @property
    def is_constant(self) -> bool:
        """Whether it never changes."""
        return not self.steps and not self.opportunities_ns

    @property
    def most_bps(self) -> int:
        """Its highest rate; of opportunities, the highest of 100 ms in a row."""
        if not self.opportunities_ns:
            return max(self.rate_bps, *(rate for _, rate in self.steps), 0)
        at = self.opportunities_ns
        most = max(bisect_left(at, ns + NS_PER_S // 10) - i for i, ns in enumerate(at))
        return max(self.rate_bps, most * self.opportunity_bits * 10)

    def capacity_bits(self, from_ns: int, to_ns: int) -> float:
        """What it can carry between two times.

        Args:
            from_ns: The first, after t0; an opportunity at it is not counted.
            to_ns: The second.
        """
        return self._carried(to_ns) - self._carried(from_ns)

    def _carried(self, at_ns: int) -> float:
        """Bits since t0."""
        if at_ns <= 0 or self.is_constant:
            return self.rate_bps * at_ns / NS_PER_S
        if self.opportunities_ns:
            return self._offered(at_ns)
        periods, rest = divmod(at_ns, self.period_ns) if self.period_ns else (0, at_ns)
        whole = self._within(self.period_ns) * periods if periods else 0
        return (whole + self._within(rest)) / NS_PER_S

    def _within(self, at_ns: int) -> int:
        """Bits times 10^9 since the beginning of a period."""
        times, sums = self._sums
        index = bisect_right(times, at_ns) - 1
        rate = self.rate_bps if index == 0 else self.steps[index - 1][1]
        return sums[index] + rate * (at_ns - times[index])

    @cached_property
    def _sums(self) -> tuple[list[int], list[int]]:
        times = [0, *(at for at, _ in self.steps)]
        rates = [self.rate_bps, *(rate for _, rate in self.steps)]
        parts = [(b - a) * rate for (a, b), rate in zip(pairwise(times), rates, strict=False)]
        return times, [0, *accumulate(parts)]

    def _offered(self, at_ns: int) -> float:
        times = self.opportunities_ns
        periods, rest = divmod(at_ns, self.period_ns) if self.period_ns else (0, at_ns)
        bits = (periods * len(times) + bisect_right(times, rest)) * self.opportunity_bits
        after = 0 if self.period_ns else max(0, at_ns - times[-1])
        return bits + after * self.rate_bps / NS_PER_S


@dataclass
class Departures:
    """When packets leave a link, one after the other in the order in which they are sent."""

    link: Link
    _free: tuple[int, int] = field(default=(-(2**62), 0), init=False)
    _base: int = field(default=0, init=False)
    _passed: int = field(default=0, init=False)

    def leave(self, arrival_ns: int, bits: int) -> int:
        """When the last of a packet's bits has left.

        Args:
            arrival_ns: When it came; the link may be busy or idle then.
            bits: Of it and its overhead.
        """
        start = self._start(arrival_ns)
        if self.link.opportunities_ns:
            self._free = self._by_opportunities(start, bits)
        else:
            self._free = self._by_rates(start, bits * NS_PER_S)
        return self._free[0]

    def _start(self, now: int) -> tuple[int, int]:
        """The link is idle from a departure on; what comes as an opportunity does misses it."""
        if now < self._free[0] or (now == self._free[0] and not self.link.opportunities_ns):
            return self._free
        if self.link.opportunities_ns and now >= 0:
            self._miss_until(now)
        return now, 0

    def _miss_until(self, now: int) -> None:
        while (due := self._next()) is not None and due <= now:
            self._use()

    def _by_rates(self, start: tuple[int, int], parts: int) -> tuple[int, int]:
        at, part = start
        parts += part
        while True:
            self._go_to(at)
            rate, end = self._state()
            whole, rest = divmod(parts, rate) if rate else (0, 0)
            if rate and (end is None or whole < end - at or (whole == end - at and not rest)):
                return at + whole, rest
            if end is None:
                raise ValueError("a link that stays down sends nothing more")
            parts -= (end - at) * rate
            at = end

    def _state(self) -> tuple[int, int | None]:
        """The rate where the cursor is, and until when it holds."""
        steps, period = self.link.steps, self.link.period_ns
        rate = steps[self._passed - 1][1] if self._passed else self.link.rate_bps
        if self._passed < len(steps):
            return rate, self._base + steps[self._passed][0]
        return rate, self._base + period if period else None

    def _go_to(self, at: int) -> None:
        while True:
            end = self._state()[1]
            if end is None or end > at:
                return
            if self._passed == len(self.link.steps):
                self._base += self.link.period_ns
                self._passed = 0
            self._passed += 1

    def _next(self) -> int | None:
        times, period = self.link.opportunities_ns, self.link.period_ns
        if self._passed < len(times):
            return self._base + times[self._passed]
        return self._base + period + times[0] if period else None

    def _use(self) -> None:
        if self._passed == len(self.link.opportunities_ns):
            self._base += self.link.period_ns
            self._passed = 0
        self._passed += 1

    def _by_opportunities(self, start: tuple[int, int], bits: int) -> tuple[int, int]:
        at, part = start
        base, last = self.link.rate_bps, self.link.opportunities_ns[-1]
        if at < 0 or (not self.link.period_ns and at > last):
            whole, rest = divmod(bits * NS_PER_S + part, base)
            if at >= 0 or whole < -at or (whole == -at and not rest):
                return at + whole, rest
            left = bits * NS_PER_S + part + at * base
            at, part, bits = 0, 0, -(-left // NS_PER_S)
        every = self.link.opportunity_bits
        left = every - part if part else 0
        while left < bits:
            bits -= left
            due = self._next()
            if due is None:
                whole, rest = divmod(bits * NS_PER_S, base)
                return at + whole, rest
            at, left = due, every
            self._use()
        return at, 0 if left == bits else every - (left - bits)


class TokenBucket:
    """Tokens in parts, of which a bit has 10^9; full at the beginning.

    Args:
        rate_bps: Parts that a nanosecond brings.
        full: Bytes that it holds.
    """

    def __init__(self, rate_bps: int, full: int) -> None:
        self._rate, self._full = rate_bps, 8 * full * NS_PER_S
        self._tokens, self._filled_ns = self._full, -(2**62)

    def wait_ns(self, now_ns: int, bits: int) -> int:
        """How long after a time it has tokens for so many bits."""
        return max(0, -((self._at(now_ns) - bits * NS_PER_S) // self._rate))

    def use(self, now_ns: int, bits: int) -> None:
        """Take tokens out."""
        self._tokens, self._filled_ns = self._at(now_ns) - bits * NS_PER_S, now_ns

    def _at(self, now_ns: int) -> int:
        return min(self._full, self._tokens + (now_ns - self._filled_ns) * self._rate)


class ShapedDepartures:
    """When packets leave a token-bucket shaper, one after the other (hosts/dpdk/core/shaper.h).

    Args:
        buckets: All have tokens for a packet that leaves.
    """

    def __init__(self, *buckets: TokenBucket) -> None:
        self._buckets = buckets
        self._free_ns = -(2**62)

    def leave(self, arrival_ns: int, bits: int) -> int:
        """When a packet leaves that came at a time.

        Args:
            bits: Of it and its overhead.
        """
        from_ns = max(arrival_ns, self._free_ns)
        self._free_ns = from_ns + max(each.wait_ns(from_ns, bits) for each in self._buckets)
        for bucket in self._buckets:
            bucket.use(self._free_ns, bits)
        return self._free_ns


def link_of_trace(rate_bps: int, trace: TraceProgram) -> Link:
    """The link of a trace.

    Args:
        rate_bps: Its rate before t0.
    """
    times = trace.times_ns
    if trace.form == "rates":
        steps = tuple(zip(times, trace.rates_bps, strict=True))
        return Link(rate_bps, steps, period_ns=trace.period_ns)
    bits = 8 * trace.opportunity_bytes
    return Link(rate_bps, (), tuple(times), bits, trace.period_ns)
