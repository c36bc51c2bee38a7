"""What trials take of a testbed side by side: rate, packet memory, and the memory of guests."""

from __future__ import annotations

from dataclasses import dataclass

from ..contract.plan import Plan
from ..contract.testbed import SMALL_PAGE_BYTES, Testbed
from ..contract.trial import Setting
from ..contract.units import PACKET_BYTES

UNLIMITED = 2**62
LEAST_GUEST_PACKETS = 8192
"""Packet buffers of a guest whose queue and delay lines hold next to nothing."""
GUEST_BASE_BYTES = 110 * 10**6
"""What a guest takes whatever it carries: its kernel, its programs, and the data plane's tables;
measured: 72 MB, and 0.3 MB for each flow."""
GUEST_WINDOW_COPIES = 4
"""What is in flight is in the senders' buffers, and what waits for it at the receivers, with the
kernel's own overhead; measured: 0.6 (85 MB in flight) to 4.2 (15 MB)."""


@dataclass(frozen=True)
class Resources:
    """What a testbed has, or a trial takes.

    Attributes:
        rate_bps: Sum of bottleneck rates.
        packets: Packets in queues and delay lines.
        memory_bytes: Memory of guests, where each trial has a machine of its own.
    """

    rate_bps: int
    packets: int
    memory_bytes: int = UNLIMITED

    def covers(self, demand: Resources) -> bool:
        """Whether this is enough for a demand."""
        return (
            demand.rate_bps <= self.rate_bps
            and demand.packets <= self.packets
            and demand.memory_bytes <= self.memory_bytes
        )

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            self.rate_bps + other.rate_bps,
            self.packets + other.packets,
            self.memory_bytes + other.memory_bytes,
        )

    def __sub__(self, other: Resources) -> Resources:
        return Resources(
            self.rate_bps - other.rate_bps,
            self.packets - other.packets,
            self.memory_bytes - other.memory_bytes,
        )


NO_RESOURCES = Resources(0, 0, 0)
UNLIMITED_RESOURCES = Resources(UNLIMITED, UNLIMITED)
"""Where lanes share nothing: what one takes is not missing elsewhere."""


def resources_of(testbed: Testbed, plan: Plan | None = None) -> Resources:
    """What a testbed has; with a plan, the capacity that the plan was made for."""
    if plan is not None and plan.isolated:
        return UNLIMITED_RESOURCES
    capacity = plan.capacity if plan is not None and plan.capacity else testbed.capacity
    return Resources(capacity.rate.bps, testbed.dataplane.queue_packets)


def demand_of(setting: Setting) -> Resources:
    """What a trial takes."""
    return Resources(setting.rate_bps, held_packets(setting), guest_takes_bytes(setting))


def held_packets(setting: Setting) -> int:
    """Packets that a lane's queue and delay lines may hold: data, and an ACK for each."""
    return 2 * setting.largest_window_bytes // PACKET_BYTES + 64


def guest_packets(held_bytes: int) -> int:
    """Packet buffers of a guest: twice the full-sized packets that are held, and an ACK for each.

    Args:
        held_bytes: What queue and delay lines hold at most.
    """
    return max(LEAST_GUEST_PACKETS, 2 * 2 * held_bytes // PACKET_BYTES)


def guest_takes_bytes(setting: Setting) -> int:
    """The most memory that a guest is expected to take of this machine for a trial."""
    window_bytes = setting.largest_window_bytes
    buffers = guest_packets(window_bytes) * SMALL_PAGE_BYTES
    return GUEST_BASE_BYTES + buffers + GUEST_WINDOW_COPIES * window_bytes
