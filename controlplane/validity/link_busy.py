"""Whether the link, as its postcards show, sent at the applied rate whenever there was a queue."""

from __future__ import annotations

import numpy as np

from ..store.postcards import PostcardBatch
from ..store.raw_files import Ints

NS = 10**9
EXACT_NS = 1
"""The nanosecond that a carried remainder may add to a scheduled departure."""


class LinkBusy:
    """Whether every departure is when the link, never idle with a queue, is done with it.

    departure = max(arrival, previous departure) + bits / rate. Where departures are scheduled
    that holds from each one to the next. Where they are seen, one that is late says nothing
    about those behind it: all are compared with the schedule that the arrivals make.

    Args:
        rate_bps: Applied rate.
        overhead_bytes: Bytes counted for each packet besides the frame.
        slot_bytes: Length that every packet counts with; 0: its own.
        tolerance_ns: How far a departure may be off; EXACT_NS where it is scheduled.
    """

    def __init__(
        self,
        rate_bps: int,
        overhead_bytes: int,
        slot_bytes: int = 0,
        tolerance_ns: int = EXACT_NS,
    ) -> None:
        self._rate = rate_bps
        self._overhead = overhead_bytes
        self._slot = slot_bytes
        self._tolerance_ns = tolerance_ns
        self._due = self._after_previous if self.is_exact else self._by_schedule
        self._last: int | None = None
        self.checked = 0
        self.wrong = 0
        self.worst_ns = 0

    @property
    def is_exact(self) -> bool:
        """Whether departures are scheduled times."""
        return self._tolerance_ns <= EXACT_NS

    def feed(self, batch: PostcardBatch) -> None:
        """Take a batch in."""
        out = ~batch.dropped
        enqueue, dequeue = batch.enqueue_ns[out], batch.dequeue_ns[out]
        if len(dequeue) == 0:
            return
        length = np.full(len(dequeue), self._slot) if self._slot else batch.packet_bytes[out]
        takes = (length + self._overhead) * 8 * NS // self._rate
        deviation = dequeue - self._due(enqueue, dequeue, takes)
        wrong = (deviation < EXACT_NS - self._tolerance_ns) | (deviation > self._tolerance_ns)
        self.checked += len(dequeue)
        self.wrong += int(np.count_nonzero(wrong))
        self.worst_ns = max(self.worst_ns, int(np.max(np.abs(deviation))))

    def _after_previous(self, enqueue: Ints, dequeue: Ints, takes: Ints) -> Ints:
        first = int(enqueue[0]) if self._last is None else self._last
        previous = np.concatenate(([first], dequeue[:-1]))
        self._last = int(dequeue[-1])
        due: Ints = np.maximum(enqueue, previous) + takes
        return due

    def _by_schedule(self, enqueue: Ints, dequeue: Ints, takes: Ints) -> Ints:
        """due[i] = max(enqueue[i], due[i-1]) + takes[i], written without a loop."""
        through = np.cumsum(takes)
        begun = enqueue - (through - takes)
        if self._last is not None:
            begun[0] = max(int(begun[0]), self._last)
        due: Ints = np.maximum.accumulate(begun) + through
        self._last = int(due[-1])
        return due
