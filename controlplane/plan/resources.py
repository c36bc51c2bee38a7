"""What trials take of a testbed while they run side by side: rate, and packet memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..contract.plan import Plan
from ..contract.testbed import Testbed
from ..contract.trial import Setting
from ..contract.units import PACKET_BYTES


@dataclass(frozen=True)
class Resources:
    """What a testbed has, or a trial takes.

    Attributes:
        rate_bps: Sum of bottleneck rates.
        packets: Packets in queues and delay lines.
    """

    rate_bps: int
    packets: int

    def covers(self, demand: Resources) -> bool:
        """Whether this is enough for a demand."""
        return demand.rate_bps <= self.rate_bps and demand.packets <= self.packets

    def __add__(self, other: Resources) -> Resources:
        return Resources(self.rate_bps + other.rate_bps, self.packets + other.packets)

    def __sub__(self, other: Resources) -> Resources:
        return Resources(self.rate_bps - other.rate_bps, self.packets - other.packets)


NO_RESOURCES = Resources(0, 0)
UNLIMITED_RESOURCES = Resources(2**62, 2**62)
"""Where lanes share nothing: what one takes is not missing elsewhere."""


def resources_of(testbed: Testbed, plan: Plan | None = None) -> Resources:
    """What a testbed has; with a plan, the capacity that the plan was made for."""
    if plan is not None and plan.isolated:
        return UNLIMITED_RESOURCES
    capacity = plan.capacity if plan is not None and plan.capacity else testbed.capacity
    return Resources(capacity.rate.bps, testbed.dataplane.queue_packets)


def demand_of(setting: Setting) -> Resources:
    """What a trial takes."""
    return Resources(setting.rate_bps, held_packets(setting))


def held_packets(setting: Setting) -> int:
    """Packets that a lane's queue and delay lines may hold: data, and an ACK for each."""
    return 2 * setting.largest_window_bytes // PACKET_BYTES + 64
