"""DualPI2 as RFC 9332 and Linux's sch_dualpi2 have it, in plain Python: a model to hold ours to."""

from collections import deque
from dataclasses import dataclass, field

ALL = 2**32 - 1
MTU_BYTES = 1514
ECT1, CE = 1, 3
MS = 10**6


@dataclass
class Packet:
    number: int
    ns: int
    bytes: int
    ecn: int
    marked: bool = False

    def mark(self) -> None:
        """What came with CE has it already."""
        self.marked = self.ecn != CE

    @property
    def scalable(self) -> bool:
        return self.ecn in (ECT1, CE)


@dataclass
class DualPi2:
    """Both queues and their controller, with the defaults of tc. Ask it at increasing times."""

    seed: int
    target_ns: int = 15 * MS
    tupdate_ns: int = 16 * MS
    alpha: int = ((41 * ALL) >> 2) // 10**9
    beta: int = ((819 * ALL) >> 2) // 10**9
    step_ns: int = MS
    coupling: int = 2
    classic_percent: int = 10
    drop_overload: bool = True
    classic: deque[Packet] = field(default_factory=deque)
    scalable: deque[Packet] = field(default_factory=deque)
    probability: int = 0
    last_ns: int = 0
    due_ns: int = 0
    dropped: list[Packet] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.credit = self._first_credit

    @property
    def _first_credit(self) -> int:
        return MTU_BYTES * (2 * self.classic_percent - 100)

    def _draw(self) -> int:
        """SplitMix64, its upper half."""
        mask = 2**64 - 1
        self.seed = (self.seed + 0x9E3779B97F4A7C15) & mask
        z = self.seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return (z ^ (z >> 31)) >> 32

    def _roll(self, probability: int) -> bool:
        return self._draw() <= probability

    def _timer(self, now_ns: int) -> None:
        """Every update until now, one by one."""
        while self.due_ns <= now_ns:
            heads = [q[0].ns for q in (self.classic, self.scalable) if q]
            delay = max((self.due_ns - ns for ns in heads), default=0)
            delta = (delay - self.target_ns) * self.alpha + (delay - self.last_ns) * self.beta
            step = delta // 64 if delta > 0 else -(-delta // 64)
            most = ALL if self.drop_overload else ALL // self.coupling
            self.probability = min(max(self.probability + step, 0), most)
            self.last_ns = delay
            self.due_ns += self.tupdate_ns

    def enqueue(self, packet: Packet) -> None:
        self._timer(packet.ns)
        (self.scalable if packet.scalable else self.classic).append(packet)

    def _congested(self, packet: Packet) -> bool:
        """Whether the controller drops it; else it may have marked it."""
        if sum(p.bytes for p in (*self.classic, *self.scalable)) < 2 * MTU_BYTES:
            return False
        p, coupled = self.probability, self.probability * self.coupling
        overload = coupled > ALL
        if not packet.scalable:
            if not (self._roll(p) and self._roll(p)):
                return False
            if packet.ecn == 0 or overload:
                return True
            packet.mark()
            return False
        if overload:
            if self.drop_overload and self._roll(p) and self._roll(p):
                return True
            packet.mark()
        elif self._roll(coupled):
            packet.mark()
        return False

    def dequeue(self, now_ns: int) -> Packet | None:
        self._timer(now_ns)
        while self.classic or self.scalable:
            both = bool(self.classic and self.scalable)
            if self.scalable and (not self.classic or self.credit <= 0):
                packet, weight = self.scalable.popleft(), self.classic_percent
            else:
                packet, weight = self.classic.popleft(), self.classic_percent - 100
            if self._congested(packet):
                self.dropped.append(packet)
                continue
            if packet.scalable and now_ns - packet.ns > self.step_ns:
                packet.mark()
            self.credit += weight * packet.bytes * both
            return packet
        self.credit = self._first_credit
        return None
