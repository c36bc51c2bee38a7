"""The lanes of a real testbed: a trial takes one once the testbed carries it beside the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..contract.errors import HostError
from ..contract.trial import Setting, TrialRecord
from ..machine.log import LOG
from ..plan.estimates import NO_RESOURCES, Resources, demand_of
from ..run.load_limit import LoadLimit

OnEnd = Callable[[TrialRecord], None]
"""To be called with the record of the trial that had the lane."""


class SharedLanes:
    """Lanes that share rate and packet memory. Safe between threads.

    Args:
        lanes: How many there are.
        available: What trials may take at once; less rate while departures are late (see
            `load_limit`).
    """

    def __init__(self, lanes: int, available: Resources) -> None:
        self._free = list(range(lanes))
        self._packets = available.packets
        self._limit = LoadLimit(available.rate_bps)
        self._taken: dict[int, Resources] = {}
        self._closed = False
        self._changed = threading.Condition()

    @contextmanager
    def lane_for(self, setting: Setting) -> Iterator[tuple[int, OnEnd]]:
        """Wait for a lane, and have it while the block lasts.

        Args:
            setting: What the trial asks for.

        Yields:
            The lane's number, and what to call with the trial's record.

        Raises:
            HostError: The lanes were closed meanwhile.
        """
        lane, started = self._take(demand_of(setting)), time.monotonic()
        try:
            yield lane, lambda record: self._ended(record, started)
        finally:
            with self._changed:
                del self._taken[lane]
                self._free.append(lane)
                self._changed.notify_all()

    def close(self) -> None:
        """Give no lane out any more, and wait until nobody has one."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._taken)

    def _take(self, demand: Resources) -> int:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._fits(demand))
            if self._closed:
                raise HostError("the run has left this testbed")
            lane = min(self._free)
            self._free.remove(lane)
            self._taken[lane] = demand
            return lane

    def _fits(self, demand: Resources) -> bool:
        """Whether a trial may start now; a single one always may, however low the limit."""
        if not self._taken:
            return True
        free = Resources(self._limit.allowed_bps, self._packets) - self._in_use()
        return bool(self._free) and free.covers(demand)

    def _in_use(self) -> Resources:
        return sum(self._taken.values(), NO_RESOURCES)

    def _ended(self, record: TrialRecord, started: float) -> None:
        failed = frozenset(gate.name for gate in record.gates if not gate.passed)
        with self._changed:
            load_bps = self._in_use().rate_bps
            if self._limit.trial_ended(started, record.valid, failed, load_bps):
                LOG.warning(
                    "%s failed %s: at most %d Mbit/s at once from now on",
                    record.id,
                    ", ".join(sorted(failed)),
                    self._limit.allowed_bps // 10**6,
                )
