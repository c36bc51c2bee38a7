"""Bits per second as simple_switch has them: packets per second, each packet a slot.

simple_switch lets one packet go every 1/pps, whatever its length. A rate in bits per second
is therefore one for full-sized packets, and a short packet takes a full slot as well.
"""

from dataclasses import dataclass

from ...contract.errors import ConfigError
from ...contract.shared import PROGRAMS
from ...contract.target import PLAIN_LANE, Applied, Capabilities, Lane
from ...contract.units import NS_PER_S, PACKET_BYTES, Rate

MAX_PPS = 80_000
"""What simple_switch forwards at best, on a core of its own."""
MAX_BUFFER_BYTES = 16 * 10**6
"""simple_switch keeps some tens of kilobytes of memory for each packet that waits."""
CLOCK_STEP_NS = 1000
DEPARTURE_TOLERANCE_NS = 10_000_000
"""Its threads sleep until a packet is due, and then wait for a core: two ticks of a kernel of
250 Hz, and what the rest of its path takes. A wrong rate adds up to more in any long queue."""


@dataclass(frozen=True)
class PacketRate:
    """A rate as simple_switch has it.

    Attributes:
        packet_bytes: Bytes that the rate counts for each packet.
    """

    pps: int
    packet_bytes: int

    @property
    def slot_ns(self) -> int:
        """Time from one packet to the next: simple_switch cuts 1/pps to nanoseconds."""
        return NS_PER_S // self.pps

    @property
    def rate_bps(self) -> int:
        """Rate of full-sized packets in bit/s."""
        return round(8 * self.packet_bytes * NS_PER_S / self.slot_ns)


def pace_of(rate_bps: int, overhead_bytes: int = 0) -> PacketRate:
    """The nearest rate that simple_switch has.

    Raises:
        ConfigError: simple_switch cannot do it.
    """
    packet_bytes = PACKET_BYTES + overhead_bytes
    pps = round(rate_bps / (8 * packet_bytes))
    if not 1 <= pps <= MAX_PPS:
        lowest, highest = (Rate(8 * packet_bytes * bound) for bound in (1, MAX_PPS))
        raise ConfigError(
            f"bottleneck.rate: {Rate(rate_bps)} is {pps} packets/s of {packet_bytes} bytes; bmv2's "
            f"simple_switch does 1 to {MAX_PPS} packets/s: write {lowest} to {highest}"
        )
    return PacketRate(pps, packet_bytes)


def bmv2_resolve(program: Lane) -> Applied:
    """What simple_switch would really do; see pace_of for errors."""
    pace = pace_of(program.rate_bps, program.overhead_bytes)
    return program.applied(
        rate_bps=pace.rate_bps,
        slot_bytes=PACKET_BYTES,
        detail=(
            f"{pace.pps} packets/s, each {pace.slot_ns} ns: {Rate(program.rate_bps)} / "
            f"(8 x {pace.packet_bytes} bytes), rounded to whole packets"
        ),
    )


def bmv2_capabilities() -> Capabilities:
    """One bottleneck, limited in bytes."""
    return Capabilities(
        target="bmv2",
        lanes=PROGRAMS["bmv2"].lane_capacity,
        flows=PROGRAMS["bmv2"].flow_capacity,
        lane=PLAIN_LANE,
        max_rate_bps=MAX_PPS * 8 * PACKET_BYTES,
        max_buffer_bytes=MAX_BUFFER_BYTES,
        without_queues="each priority queue of simple_switch has a rate of its own",
        clock_step_ns=CLOCK_STEP_NS,
        departure_tolerance_ns=DEPARTURE_TOLERANCE_NS,
        verified_on="software: kernel TCP through simple_switch",
        traffic_manager="simple_switch: packets per second",
        limit_detail="bytes, exact (P4 registers)",
    )
