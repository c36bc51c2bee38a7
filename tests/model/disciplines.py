"""Plain queue disciplines over a plain line: the references that the data plane must equal.

Written after the papers' and RFCs' pseudocode, in whole numbers of Linux's units where those
decide: CoDel's time is in 1024 ns and its root in 16 bits, RED's average is a fixed-point number,
PIE's probability a part of 2**56. Draws are SplitMix64's.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from math import log
from typing import Protocol

from tests.model.splitmix import SplitMix64

MTU = 1514
LIMIT, EARLY = 0, 1


@dataclass
class Packet:
    """A packet on its way through a queue.

    Attributes:
        size: Bytes.
        met: Bytes in the queue and being sent when it arrived.
        left_ns: When it left or was dropped.
        mark: Whether CE was set in it.
        reason: Why it was dropped; None: it was not.
    """

    at_ns: int
    size: int
    ecn: int
    met: int = 0
    left_ns: int = 0
    mark: bool = False
    reason: int | None = None

    def mark_or(self, wanted: bool) -> bool:
        """Mark it if that is wanted and it understands ECN; whether it need not be dropped."""
        if wanted and self.ecn != 0:
            self.mark = self.ecn != 3
            return True
        return False


class Model(Protocol):
    """A discipline: what it does with an arrival, with a refusal, and when it is asked."""

    def arrive(self, packet: Packet, waiting: int, now_ns: int) -> bool:
        """Whether it takes the packet; waiting: bytes, without what is being sent."""

    def refuse(self, packet: Packet, waiting: int, now_ns: int) -> bool:
        """The limit refuses the packet; whether the discipline would have taken it."""

    def choose(self, queue: deque[Packet], now_ns: int) -> Packet | None:
        """Take out the packet to be sent from now on, and those dropped before it."""


def serve(packets: Iterable[Packet], rate_bps: int, limit: int, model: Model) -> list[Packet]:
    """Run packets, in the order of their arrival, through a line with a limit in bytes.

    Returns:
        The packets with what became of them.
    """
    queue: deque[Packet] = deque()
    packets, sent, free = list(packets), None, 0  # free: nanoseconds times the rate
    for packet in [*packets, None]:
        while sent is not None and (packet is None or free // rate_bps <= packet.at_ns):
            sent.left_ns = free // rate_bps
            sent = model.choose(queue, free // rate_bps)
            free += 8 * sent.size * 10**9 if sent else 0
        if packet is None:
            break
        waiting = sum(each.size for each in queue)
        packet.met = waiting + (sent.size if sent else 0)
        packet.left_ns = packet.at_ns
        if packet.met + packet.size > limit:
            fits = model.refuse(packet, waiting, packet.at_ns)
            packet.reason, packet.mark = (LIMIT if fits else EARLY), False
        elif not model.arrive(packet, waiting, packet.at_ns):
            packet.reason = EARLY
        else:
            queue.append(packet)
            if sent is None:
                free = max(free, packet.at_ns * rate_bps)
                sent = model.choose(queue, free // rate_bps)
                free += 8 * sent.size * 10**9 if sent else 0
    return packets


class Fifo:
    """Takes all, and sends it in its order."""

    def arrive(self, packet: Packet, waiting: int, now_ns: int) -> bool:
        """Whether it takes the packet."""
        return True

    def refuse(self, packet: Packet, waiting: int, now_ns: int) -> bool:
        """Nothing comes of it."""
        return True

    def choose(self, queue: deque[Packet], now_ns: int) -> Packet | None:
        """The first."""
        return queue.popleft() if queue else None


@dataclass
class Step(Fifo):
    """Mark, or drop, what meets more than a threshold (RFC 8257, 3.1)."""

    threshold: int

    def arrive(self, packet: Packet, waiting: int, now_ns: int) -> bool:
        """What is being sent counts."""
        return packet.met <= self.threshold or packet.mark_or(True)


@dataclass
class Codel(Fifo):
    """RFC 8289, section 5: dodequeue, dequeue, control_law."""

    target: int = 5_000_000
    interval: int = 100_000_000
    ecn: bool = False
    first_above: int = 0
    drop_next: int = 0
    drops: int = 0
    last_drops: int = 0
    dropping: bool = False
    root: int = 0

    def control_law(self, tick: int) -> int:
        """interval / sqrt(drops) later."""
        return tick + max(1, (self.interval >> 10) * self.root >> 16)

    def count_to(self, drops: int) -> None:
        """Set the count; the root by a step of Newton's method from the last one."""
        self.drops = drops
        square = (self.root << 16) ** 2 >> 32
        self.root = (((3 << 32) - drops * square) >> 2) * (self.root << 16) >> 31 >> 16

    def take(self, queue: deque[Packet], tick: int) -> tuple[Packet | None, bool]:
        """The first packet, and whether it may be dropped."""
        if not queue:
            self.first_above = 0
            return None, False
        packet = queue.popleft()
        sojourn = tick - (packet.at_ns >> 10)
        if sojourn < self.target >> 10 or sum(each.size for each in queue) <= MTU:
            self.first_above = 0
        elif self.first_above == 0:
            self.first_above = tick + (self.interval >> 10)
        else:
            return packet, tick > self.first_above
        return packet, False

    def choose(self, queue: deque[Packet], now_ns: int) -> Packet | None:
        """RFC 8289, section 5.5."""
        tick = now_ns >> 10
        packet, may_drop = self.take(queue, tick)
        if packet is None or not may_drop:
            self.dropping = False
        elif self.dropping:
            while packet is not None and self.dropping and tick >= self.drop_next:
                self.count_to(self.drops + 1)
                if packet.mark_or(self.ecn):
                    self.drop_next = self.control_law(self.drop_next)
                    break
                packet.left_ns, packet.reason = now_ns, EARLY
                packet, self.dropping = self.take(queue, tick)
                if self.dropping:
                    self.drop_next = self.control_law(self.drop_next)
        else:
            if not packet.mark_or(self.ecn):
                packet.left_ns, packet.reason = now_ns, EARLY
                packet, _ = self.take(queue, tick)
            since, self.dropping = self.drops - self.last_drops, True
            if self.last_drops and since > 1 and tick - self.drop_next < 16 * (self.interval >> 10):
                self.count_to(since)
            else:
                self.drops, self.root = 1, 2**16 - 1
            self.last_drops = self.drops
            self.drop_next = self.control_law(tick)
        return packet


@dataclass
class Red(Fifo):
    """Floyd and Jacobson 1993, figure 2, with tc's table of idle times; packets of 1000 bytes."""

    low: int
    high: int
    burst: int
    probability: float
    rate_bps: int
    seed: int
    ecn: bool = False
    gentle: bool = False
    average: int = 0
    since: int = -1
    idle_ns: int | None = 0
    draw: int = 0
    weight_log: int = field(init=False)
    draws: SplitMix64 = field(init=False)

    def __post_init__(self) -> None:
        self.draws = SplitMix64(self.seed)
        a = self.burst + 1 - self.low / 1000
        self.weight_log = next(
            k for k in count(1) if a <= (1 - (1 - 2.0**-k) ** self.burst) * 2.0**k
        )

    def decayed(self, idle_us: int) -> int:
        """The average after an idle time."""
        packet_us = 1000 * 8 * 1e6 / self.rate_bps
        rate = -log(1 - 2.0**-self.weight_log) / packet_us
        cell = next(k for k in range(32) if 31 / rate / 2**k < 512)
        idle_us = min(idle_us, 255 << cell)
        step = idle_us >> cell
        shift = 31 if step == 255 else min(31, int((step << cell) * rate))
        if shift:
            return self.average >> shift
        return self.average - min(self.average * idle_us >> cell, self.average - self.average // 2)

    def arrive(self, packet: Packet, waiting: int, now_ns: int) -> bool:
        """Average, then the count since the last mark against a draw."""
        if self.idle_ns is None:
            self.average += waiting - (self.average >> self.weight_log)
        else:
            self.average = self.decayed((now_ns - self.idle_ns) // 1000)
        self.idle_ns = None
        if self.average < self.low << self.weight_log:
            self.since = -1
            return True
        high = self.high << self.weight_log
        if self.average >= (2 * high if self.gentle else high):
            self.since = -1
            return packet.mark_or(self.ecn)
        self.since += 1
        if self.since and not self.is_due(high):
            return True
        self.draw = self.draws.next() >> 32
        due, self.since = self.since > 0, 0
        return not due or packet.mark_or(self.ecn)

    def is_due(self, high: int) -> bool:
        """Whether count times probability has come to the draw."""
        most = min(int(self.probability * 2**32), 2**32 - 1)
        if self.average < high:
            above = (self.average - (self.low << self.weight_log)) >> self.weight_log
            step = max(1, most // max(1, self.high - self.low))
            return above * self.since >= self.draw // step
        above = (self.average - high) >> self.weight_log
        return (most + (2**32 - 1 - most) * above // self.high) * self.since >= self.draw

    def refuse(self, packet: Packet, waiting: int, now_ns: int) -> bool:
        """The average is one of all arrivals."""
        return self.arrive(packet, waiting, now_ns)

    def choose(self, queue: deque[Packet], now_ns: int) -> Packet | None:
        """The first; without one the line is idle from now on."""
        if not queue and self.idle_ns is None:
            self.idle_ns = now_ns
        return queue.popleft() if queue else None


@dataclass
class Pie(Fifo):
    """RFC 8033, sections 4 and 5, and appendix A, with Linux's fixed-point numbers."""

    seed: int
    target: int = 15_000_000
    every: int = 15_000_000
    alpha: int = 2
    beta: int = 20
    ecn: bool = False
    bytemode: bool = False
    probability: int = 0
    accumulated: int = 0
    delay: int = 0
    old_delay: int = 0
    burst: int = 150_000_000 >> 6
    last: int | None = None
    due_ns: int | None = None
    draws: SplitMix64 = field(init=False)

    ONE = 2**56 - 1

    def __post_init__(self) -> None:
        self.draws = SplitMix64(self.seed)

    def update(self, waiting: int) -> None:
        """RFC 8033, section 4.2 with 5.1 to 5.3: the probability."""
        shift = 0
        if self.probability < self.ONE // 10:
            powers = (10**k for k in range(2, 7))
            shift = 1 + 2 * sum(self.probability < self.ONE // power for power in powers)
        unit, target = self.ONE // 15_625_000, self.target >> 6
        alpha, beta = ((weight * unit >> 4) >> shift for weight in (self.alpha, self.beta))
        change = alpha * (self.delay - target) + beta * (self.delay - self.old_delay)
        if change > self.ONE // 50 and self.probability >= self.ONE // 10:
            change = self.ONE // 100 * 2
        if self.delay > 250_000_000 >> 6:
            change += self.ONE // 50
        self.probability = max(0, self.probability + change)
        if self.delay == self.old_delay == waiting == 0:
            self.probability -= self.probability // 64
        if max(self.delay, self.old_delay) < target // 2 and self.probability == 0:
            self.burst, self.last, self.accumulated = 150_000_000 >> 6, None, 0
        self.old_delay = self.delay

    def catch_up(self, waiting: int, now_ns: int) -> None:
        """All updates up to now."""
        if self.due_ns is None:
            self.due_ns = now_ns + self.every
        while self.due_ns <= now_ns:
            self.update(waiting)
            self.due_ns += self.every

    def arrive(self, packet: Packet, waiting: int, now_ns: int) -> bool:
        """RFC 8033, section 4.1 with 5.4."""
        self.catch_up(waiting, now_ns)
        if self.burst > 0 or waiting < 2 * MTU:
            return True
        if self.delay < (self.target >> 6) // 2 and self.probability < self.ONE // 5:
            return True
        probability = self.probability
        if self.bytemode and packet.size <= MTU:
            probability = packet.size * (probability // MTU)
        self.accumulated = self.accumulated + probability if probability else 0
        if self.accumulated < self.ONE // 100 * 85:
            return True
        if self.accumulated < self.ONE // 2 * 17:
            if self.draws.next() >> 8 >= probability:
                return True
            self.accumulated = 0
        if packet.mark_or(self.ecn and self.probability <= self.ONE // 10):
            return True
        self.accumulated = 0
        return False

    def refuse(self, packet: Packet, waiting: int, now_ns: int) -> bool:
        """After any drop the next one is far."""
        self.catch_up(waiting, now_ns)
        self.accumulated = 0
        return True

    def choose(self, queue: deque[Packet], now_ns: int) -> Packet | None:
        """The first, whose delay is that of the queue."""
        self.catch_up(sum(each.size for each in queue), now_ns)
        if not queue:
            return None
        packet, tick = queue.popleft(), now_ns >> 6
        self.delay = tick - (packet.at_ns >> 6) if queue else 0
        self.burst = max(0, self.burst - (tick - self.last if self.last is not None else 0))
        self.last = tick
        return packet
