"""Which trials run side by side: lanes that share rate, packet memory, and the memory of guests."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..contract.errors import HostError
from ..contract.testbed import MIB
from ..contract.trial import Setting, TrialRecord
from ..machine.guest.memory import MEMORY_PAUSE_S, MemoryRoom, memory_room
from ..plan.estimates import (
    NO_RESOURCES,
    UNLIMITED_RESOURCES,
    Resources,
    demand_of,
    guest_takes_bytes,
    held_packets,
)

LOG = logging.getLogger(__name__)

BACK_OFF = 0.8
RECOVER = 1.05
SLOW_GATES = frozenset(
    {
        "lateness",
        "loop_gap",
        "round_trips",
        "paused",
        "responses",
        "no_other_loss",
        "no_repaired_loss",
    }
)
"""Gates that fail when a machine has too much to do."""
OnEnd = Callable[[TrialRecord], None]
"""Called with the record of the trial that had a lane."""


@dataclass(frozen=True)
class OccupiedLane:
    """A lane that a trial has.

    Attributes:
        since: When it started, in seconds of time.monotonic.
    """

    setting: Setting
    since: float = field(default_factory=time.monotonic)


class SharedLanes:
    """The lanes of a machine; a trial takes one once the machine carries it beside the others.

    Safe between threads.

    Args:
        available: What trials may take at once; less rate while departures are late (see
            `LoadLimit`), unless lanes share nothing.
        memory: What guests may still take; None: there are none.
        loops: Packet loops, each with its lanes and its part of the packets.
    """

    def __init__(
        self,
        number: int,
        available: Resources,
        memory: GuestMemory | None = None,
        loops: int = 1,
    ) -> None:
        self._free = list(range(number))
        self._loops = loops
        self._loop_packets = available.packets // loops
        self._limit = LoadLimit(available.rate_bps, adapts=available != UNLIMITED_RESOURCES)
        self._memory = memory
        self._taken: dict[int, OccupiedLane] = {}
        self._closed = False
        self._pause_until_s = 0.0
        self._changed = threading.Condition()
        self.held_up = ""
        """Why a lane waits for memory though there are trials; empty: none does."""

    @property
    def allowed_bps(self) -> int:
        """The largest sum of rates at once, now."""
        return self._limit.allowed_bps

    @property
    def reduced(self) -> bool:
        """Whether that is less than the capacity: departures were late."""
        return self._limit.reduced

    def first_fitting(self, settings: Sequence[Setting]) -> int | None:
        """The number of the first trial that may start now; None: none may.

        A single one always does, however low the limit; only after one that has failed, and where
        memory is short, it waits a while.

        Args:
            settings: What trials ask for, in the order in which they should start.
        """
        with self._changed:
            self.held_up = ""
            fitting = (n for n, setting in enumerate(settings) if self._fits(setting))
            if self._memory is None:
                return next(fitting, None)
            return self._first_with_memory(self._memory, settings, fitting)

    def take(self, setting: Setting) -> int:
        """Have a lane of the packet loop with the most room, until it is given back by `free`."""
        with self._changed:
            held = self._held_by_loop()
            lane = min(self._free, key=lambda lane: (held[lane % self._loops], lane))
            self._free.remove(lane)
            self._taken[lane] = OccupiedLane(setting)
            return lane

    def free(self, lane: int) -> None:
        """Give a lane back."""
        with self._changed:
            del self._taken[lane]
            self._free.append(lane)
            self._changed.notify_all()

    def note_end(self, lane: int, record: TrialRecord) -> None:
        """Adapt the load to how a trial went, before its lane is given back."""
        failed = frozenset(gate.name for gate in record.gates if not gate.passed)
        with self._changed:
            since, load_bps = self._taken[lane].since, self._in_use().rate_bps
            if self._limit.trial_ended(since, record.valid, failed, load_bps):
                LOG.warning(
                    "%s failed %s: at most %d Mbit/s at once from now on",
                    record.id,
                    ", ".join(sorted(failed)),
                    self._limit.allowed_bps // 10**6,
                )

    def note_failure(self) -> None:
        """Have a single trial wait for memory for a while: one failed, perhaps for want of it."""
        with self._changed:
            self._pause_until_s = time.monotonic() + MEMORY_PAUSE_S

    @contextmanager
    def lane_for(self, setting: Setting) -> Iterator[tuple[int, OnEnd]]:
        """Wait for a lane, and have it while the block lasts.

        Yields:
            The lane's number, and what to call with the trial's record.

        Raises:
            HostError: The lanes were closed meanwhile.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._fits(setting))
            if self._closed:
                raise HostError("the run has left this testbed")
            lane = self.take(setting)
        try:
            yield lane, lambda record: self.note_end(lane, record)
        finally:
            self.free(lane)

    def close(self) -> None:
        """Give no lane out any more, and wait until nobody has one."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._taken)

    def _fits(self, setting: Setting) -> bool:
        """Whether a trial may start now beside the others."""
        if not self._taken:
            return True
        if not self._free:
            return False
        held = self._held_by_loop()
        room = self._loop_packets - min(held[lane % self._loops] for lane in self._free)
        left = Resources(self._limit.allowed_bps - self._in_use().rate_bps, room)
        return left.covers(demand_of(setting))

    def _in_use(self) -> Resources:
        return sum((demand_of(taken.setting) for taken in self._taken.values()), NO_RESOURCES)

    def _held_by_loop(self) -> list[int]:
        """Packets that the trials of each packet loop may hold."""
        held = [0] * self._loops
        for lane, taken in self._taken.items():
            held[lane % self._loops] += held_packets(taken.setting)
        return held

    def _first_with_memory(
        self, memory: GuestMemory, settings: Sequence[Setting], fitting: Iterator[int]
    ) -> int | None:
        """The first of those that fit for which there is memory as well."""
        room: MemoryRoom | None = None
        for number in fitting:
            if room is None:
                room = memory.left({lane: taken.setting for lane, taken in self._taken.items()})
            short = shortage(room, settings[number])
            if not short or not (self._taken or self._pauses(settings[number], room)):
                self.held_up = ""
                return number
            self.held_up = self.held_up or short
        return None

    def _pauses(self, setting: Setting, room: MemoryRoom) -> bool:
        """Whether a single trial waits for memory, of which there can be enough for it."""
        can_be = guest_takes_bytes(setting) <= room.total_bytes
        return can_be and time.monotonic() < self._pause_until_s


class LoadLimit:
    """The largest sum of rates that may run at once.

    A trial that failed a gate for too much load takes a fifth off what was running with it;
    each valid trial gives a twentieth back. Trials that ran side by side fail together from
    one cause, so only one that started after the last cut makes another.

    Args:
        adapts: Whether load can be why a trial fails; it cannot where time is virtual.
        now: Clock in seconds.
    """

    def __init__(
        self,
        capacity_bps: int,
        now: Callable[[], float] = time.monotonic,
        *,
        adapts: bool = True,
    ) -> None:
        self._adapts = adapts
        self._capacity = self._allowed = float(capacity_bps)
        self._now = now
        self._cut_at = -1.0

    @property
    def allowed_bps(self) -> int:
        """What may run at once now."""
        return int(self._allowed)

    @property
    def reduced(self) -> bool:
        """Whether it is less than the testbed's capacity."""
        return self._allowed < self._capacity

    def trial_ended(
        self, started: float, valid: bool, failed_gates: frozenset[str], load_bps: int
    ) -> bool:
        """Lower or raise the limit after a trial.

        Args:
            started: When it started, by the clock.
            load_bps: Sum of the rates that were running, its own included.

        Returns:
            Whether the limit was lowered because of it.
        """
        if not self._adapts:
            return False
        if valid:
            self._allowed = min(self._capacity, self._allowed * RECOVER)
            return False
        if not failed_gates & SLOW_GATES or started <= self._cut_at:
            return False
        self._allowed = min(self._allowed, load_bps) * BACK_OFF
        self._cut_at = self._now()
        return True


@dataclass(frozen=True)
class GuestMemory:
    """What a guest may take while others run.

    Attributes:
        held_bytes: Lane -> what the guest that runs there has taken so far.
        room: What this machine has left.
    """

    held_bytes: Callable[[Hashable], int]
    room: Callable[[], MemoryRoom] = memory_room

    def left(self, running: Mapping[Hashable, Setting]) -> MemoryRoom:
        """What is left when all guests that run have taken what they are expected to.

        Args:
            running: Lane -> setting of its trial.
        """
        room = self.room()
        growth = sum(
            max(0, guest_takes_bytes(setting) - self.held_bytes(lane))
            for lane, setting in running.items()
        )
        return MemoryRoom(room.free_bytes - growth, room.total_bytes, room.place)


def shortage(room: MemoryRoom, setting: Setting) -> str:
    """Why a trial waits for memory, in words; empty: there is enough for it."""
    needed = guest_takes_bytes(setting)
    if needed <= room.free_bytes:
        return ""
    free_mib = max(0, room.free_bytes) // MIB
    return f"{free_mib} MiB of memory left ({room.place}), a trial takes {needed // MIB}"
