"""A plain drop-tail bottleneck: the reference that the data plane must equal.

Written for being obviously right, not for speed: one loop over the arrivals, and
time exact, as whole numbers of 1/rate nanoseconds.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True)
class Arrival:
    """A packet as it comes to the queue.

    Attributes:
        size: Ethernet frame bytes without FCS.
    """

    time_ns: int
    size: int


@dataclass(frozen=True)
class Outcome:
    """What becomes of one arrival.

    Attributes:
        queue_bytes: Bytes in the queue at its arrival, without it.
        departure_ns: End of its serialisation, whole nanoseconds rounded down;
            the arrival time for a dropped packet.
    """

    dropped: bool
    queue_bytes: int
    departure_ns: int


def occupied(size: int, unit: str, cell_bytes: int) -> int:
    """Units of the limit that a packet takes."""
    if unit == "packets":
        return 1
    if unit == "cells":
        return math.ceil(size / cell_bytes)
    return size


def droptail(
    arrivals: Iterable[Arrival],
    rate_bps: int,
    limit: int,
    unit: str = "bytes",
    cell_bytes: int = 80,
    overhead: int = 0,
    trains: Sequence[int] | None = None,
    *,
    counts: str = "system",
) -> list[Outcome]:
    """Run arrivals, in the order of their times, through the bottleneck.

    A packet is in the queue from its arrival until its last bit is out:
    departure = max(arrival, previous departure) + 8 (size + overhead) / rate.
    It counts against the limit for as long, or until its first bit leaves.

    Args:
        arrivals: Packets in the order of their times.
        limit: Drop-tail limit in `unit`.
        unit: "bytes", "packets" or "cells".
        overhead: Bytes per packet that take time but no room.
        trains: The train of each arrival, in their order: all of it is taken or none; None: each
            arrival by itself.

    Returns:
        One outcome per arrival, in their order.
    """
    queue: deque[tuple[int, int]] = deque()  # (departure rounded down, size)
    counted: deque[tuple[int, int]] = deque()  # (until when, how much)
    used = 0
    queue_bytes = 0
    last = 0  # the last departure in nanoseconds times the rate
    outcomes: list[Outcome] = []
    arrivals = list(arrivals)
    numbers = range(len(arrivals)) if trains is None else trains
    for _, members in groupby(zip(numbers, arrivals, strict=True), key=lambda pair: pair[0]):
        train = [arrival for _, arrival in members]
        now_ns = train[0].time_ns
        while queue and queue[0][0] <= now_ns:
            _, size = queue.popleft()
            queue_bytes -= size
        while counted and counted[0][0] <= now_ns:
            used -= counted.popleft()[1]
        units = sum(occupied(arrival.size, unit, cell_bytes) for arrival in train)
        if used + units > limit:
            outcomes += [Outcome(True, queue_bytes, now_ns)] * len(train)
            continue
        used += units
        if counts == "queue":
            counted.append((max(now_ns * rate_bps, last) // rate_bps, units))
        for arrival in train:
            start = max(now_ns * rate_bps, last)
            last = start + 8 * (arrival.size + overhead) * 10**9
            departure = last // rate_bps
            outcomes.append(Outcome(False, queue_bytes, departure))
            queue.append((departure, arrival.size))
            if counts == "system":
                counted.append((departure, occupied(arrival.size, unit, cell_bytes)))
            queue_bytes += arrival.size
    return outcomes
