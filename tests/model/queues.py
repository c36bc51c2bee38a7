"""Plain queues behind one line and out of one memory: the reference that queues.c must equal.

Nothing is counted along: what a queue holds is the sum over its packets, each time it is asked.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from tests.model.disciplines import EARLY, LIMIT, Fifo, Model, Packet

QUANTUM = 1514
QUEUE_LIMIT, THRESHOLD = 3, 4

Threshold = Callable[[int, int, int], float]
"""The memory, what is used of it, a queue's number -> how much the queue may have."""


@dataclass
class Bound(Packet):
    """A packet for one of several queues.

    Attributes:
        own: Bytes in it when it arrived, as the limit counts.
        began_ns: When its first bit left.
    """

    queue: int = 0
    own: int = 0
    began_ns: int = -1


@dataclass
class Setup:
    """One of the queues: its share, its own limit, and what decides in it."""

    weight: int = 1
    limit: float = inf
    model: Model = field(default_factory=Fifo)


def complete_sharing(total: int, used: int, queue: int) -> float:
    """Whoever comes."""
    return inf


def complete_partitioning(n: int) -> Threshold:
    """An equal part for each of n queues."""
    return lambda total, used, queue: total // n


def static(limits: Sequence[int]) -> Threshold:
    """A limit for each."""
    return lambda total, used, queue: limits[queue]


def dynamic_threshold(alpha: float) -> Threshold:
    """Choudhury and Hahne 1998: alpha times what is free."""
    return lambda total, used, queue: int(alpha * (total - used))


Choice = Packet | None


class Strict:
    """The first queue that has a packet."""

    def join(self, queue: int) -> None:
        """A packet has come."""

    def choose(self, queues: Sequence[Setup], waiting: Sequence[deque[Packet]], now: int) -> Choice:
        """The packet to be sent, taken out."""
        for queue, packets in zip(queues, waiting, strict=True):
            if packets and (packet := queue.model.choose(packets, now)) is not None:
                return packet
        return None


@dataclass
class RoundRobin:
    """Shreedhar and Varghese 1996, but that a queue is served while it has any deficit left."""

    round: list[int] = field(default_factory=list)
    deficit: dict[int, int] = field(default_factory=dict)
    has_begun: bool = False

    def join(self, queue: int) -> None:
        """A packet has come: its queue has a turn, or will."""
        if queue not in self.round:
            self.round.append(queue)
            self.deficit[queue] = 0

    def choose(self, queues: Sequence[Setup], waiting: Sequence[deque[Packet]], now: int) -> Choice:
        """The packet to be sent, taken out."""
        while self.round:
            first = self.round[0]
            if not self.has_begun:
                self.deficit[first] += queues[first].weight * QUANTUM
                self.has_begun = True
            if self.deficit[first] > 0 and waiting[first]:
                packet = queues[first].model.choose(waiting[first], now)
                if packet is not None:
                    self.deficit[first] -= packet.size
                    return packet
            self.has_begun = False
            self.round.pop(0)
            if self.deficit[first] <= 0:
                self.round.append(first)
        return None


@dataclass
class Shared:
    """A line, its memory, and the queues that share both."""

    rate_bps: int
    total: int
    queues: Sequence[Setup]
    scheduler: Strict | RoundRobin
    threshold: Threshold
    counts: str = "system"
    sent: Bound | None = None
    free: int = 0  # nanoseconds times the rate
    waiting: list[deque[Packet]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.waiting = [deque() for _ in self.queues]

    def held(self, queue: int) -> int:
        """What a queue holds, as the limit counts."""
        counts = self.counts == "system" and self.sent is not None and self.sent.queue == queue
        return sum(each.size for each in self.waiting[queue]) + (self.sent.size if counts else 0)

    def obstacle(self, packet: Bound) -> int | None:
        """Why there is no room for a packet."""
        used = sum(map(self.held, range(len(self.queues))))
        held = self.held(packet.queue) + packet.size
        if held > self.queues[packet.queue].limit:
            return QUEUE_LIMIT
        if used + packet.size > self.total:
            return LIMIT
        return THRESHOLD if held > self.threshold(self.total, used, packet.queue) else None

    def begin(self) -> None:
        """The line is free: every discipline whose queue is empty sees so, and one is served."""
        now_ns = self.free // self.rate_bps
        for queue, packets in zip(self.queues, self.waiting, strict=True):
            if not packets:
                queue.model.choose(packets, now_ns)
        chosen = self.scheduler.choose(self.queues, self.waiting, now_ns)
        assert chosen is None or isinstance(chosen, Bound)
        self.sent = chosen
        if chosen is not None:
            chosen.began_ns = now_ns
            self.free += 8 * chosen.size * 10**9

    def leave_until(self, now_ns: float) -> None:
        while self.sent is not None and self.free // self.rate_bps <= now_ns:
            sent, self.sent = self.sent, None
            sent.left_ns = self.free // self.rate_bps
            self.begin()

    def arrive(self, packet: Bound) -> None:
        """A packet comes, behind what has left by then."""
        model, waiting = self.queues[packet.queue].model, self.waiting[packet.queue]
        bytes_waiting = sum(each.size for each in waiting)
        packet.own, packet.left_ns = self.held(packet.queue), packet.at_ns
        packet.met = bytes_waiting  # a discipline knows of its own queue alone
        packet.met += self.sent.size if self.sent and self.sent.queue == packet.queue else 0
        lane_bytes = sum(each.size for packets in self.waiting for each in packets)
        lane_bytes += self.sent.size if self.sent else 0
        packet.reason = self.obstacle(packet)
        if packet.reason is not None:
            fits = model.refuse(packet, bytes_waiting, packet.at_ns)
            packet.reason, packet.mark = (packet.reason if fits else EARLY), False
        elif not model.arrive(packet, bytes_waiting, packet.at_ns):
            packet.reason = EARLY
        else:
            waiting.append(packet)
            self.scheduler.join(packet.queue)
        packet.met = lane_bytes
        if self.sent is None:
            self.free = max(self.free, packet.at_ns * self.rate_bps)
            self.begin()


def serve_shared(packets: Sequence[Bound], shared: Shared) -> list[Bound]:
    """Run packets, in the order of their arrival, through queues that are empty.

    Returns:
        The packets with what became of them.
    """
    for packet in packets:
        shared.leave_until(packet.at_ns)
        shared.arrive(packet)
    shared.leave_until(inf)
    return list(packets)
