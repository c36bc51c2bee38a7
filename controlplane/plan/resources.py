"""What trials take of a testbed while they run side by side: rate, and packet memory."""

from __future__ import annotations

from typing import NamedTuple

from ..contract.plan import Plan
from ..contract.testbed import Testbed
from ..contract.trial import Setting
from ..contract.units import PACKET_BYTES


class Room(NamedTuple):
    """What a testbed has, or a trial takes.

    Attributes:
        rate_bps: Sum of bottleneck rates.
        packets: Packets in queues and delay lines.
    """

    rate_bps: int
    packets: int

    def holds(self, other: Room) -> bool:
        """Whether this is enough for another."""
        return other.rate_bps <= self.rate_bps and other.packets <= self.packets

    def plus(self, other: Room) -> Room:
        """Both together."""
        return Room(self.rate_bps + other.rate_bps, self.packets + other.packets)

    def less(self, other: Room) -> Room:
        """What another leaves of this."""
        return Room(self.rate_bps - other.rate_bps, self.packets - other.packets)


NOTHING = Room(0, 0)


def room_of(testbed: Testbed, plan: Plan | None = None) -> Room:
    """What a testbed has; by a plan, what it was believed to have when that was made."""
    capacity = plan.capacity if plan is not None and plan.capacity else testbed.capacity
    return Room(capacity.rate.bps, testbed.dataplane.queue_packets)


def taken_by(setting: Setting) -> Room:
    """What a trial takes."""
    return Room(setting.rate_bps, held_packets(setting))


def held_packets(setting: Setting) -> int:
    """Packets that a lane's queue and delay lines may hold: data, and an ACK for each."""
    in_flight = setting.rate_bps * max(setting.base_rtt_ns) // (8 * 10**9)
    return 2 * (setting.buffer_bytes + in_flight) // PACKET_BYTES + 64
