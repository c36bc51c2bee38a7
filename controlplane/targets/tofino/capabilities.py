"""What a Tofino can do, and what it would do; pure, no switch needed.

Intents are rounded to the chips' cells, shapers and ports. Facts from the chips' own public driver
(SDE 9.13): a shaper's rate is a mantissa divided by a power of two, in bytes per 80 clocks; a burst
is a shorter mantissa shifted left, rounded down; a packet takes whole cells of the buffer.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...contract.errors import ConfigError
from ...contract.queues import MOST
from ...contract.shared import PROGRAMS
from ...contract.target import EVERY_LANE, PLAIN_LANE, Applied, Capabilities, Lane, Limit
from ...contract.testbed import ChipName, SwitchTofino, Testbed
from ...contract.units import PACKET_BYTES, Rate

SHAPER_CLOCKS = 80
MAX_EXPONENT = 15
LEAST_MANTISSA = 50
"""A smaller mantissa is more than a per cent from the next."""
BRIDGED_BYTES = 26
"""Headers that ingress puts before a packet: it stands in the buffer with them (p4src)."""
GIGABIT = 10**9
DEPARTURE_TOLERANCE_NS = 1_000_000
MEGABIT = 10**6


@dataclass(frozen=True)
class Chip:
    """One generation.

    Attributes:
        name: As in a testbed file.
        prefix: First part of the names of its fixed tables.
        usable_cells: Cells that queues may hold; the rest is the chip's own.
        clock_hz: Clock that the shapers count.
        mantissa_bits: Of a shaper's rate.
        burst_bits: Of the mantissa of a shaper's burst.
        queues: Queues of a port.
        generator_port: Packet generator's port within a pipe.
        speeds: Port speeds, bit/s -> name in the table $PORT.
    """

    name: ChipName
    prefix: str
    cell_bytes: int
    usable_cells: int
    clock_hz: int
    mantissa_bits: int
    burst_bits: int
    queues: int
    generator_port: int
    speeds: dict[int, str]

    def table(self, name: str) -> str:
        """Full name of a fixed table."""
        return f"{self.prefix}.{name}"

    def cells_of(self, frame_bytes: int) -> int:
        """Cells that a frame takes in the buffer."""
        return -(-(frame_bytes + BRIDGED_BYTES) // self.cell_bytes)

    def shaper(self, rate_bps: int) -> Shaper:
        """The shaper setting nearest to a rate.

        Raises:
            ValueError: It is beyond the shapers.
        """
        bytes_per_period = Fraction(rate_bps * SHAPER_CLOCKS, 8 * self.clock_hz)
        largest = (1 << self.mantissa_bits) - 1
        for exponent in range(MAX_EXPONENT, -1, -1):
            mantissa = round(bytes_per_period * (1 << exponent))
            if mantissa <= largest:
                break
        if not LEAST_MANTISSA <= mantissa <= largest:
            raise ValueError(
                f"{rate_bps} bit/s is beyond the shapers of {self.name} "
                f"({self.slowest_bps} to {self.fastest_bps} bit/s)"
            )
        return Shaper(self, mantissa, exponent)

    @property
    def slowest_bps(self) -> int:
        """Lowest rate that a shaper meets within a per cent."""
        return Shaper(self, LEAST_MANTISSA, MAX_EXPONENT).rate_bps

    @property
    def fastest_bps(self) -> int:
        """Highest rate of a shaper."""
        return Shaper(self, (1 << self.mantissa_bits) - 1, 0).rate_bps

    def burst_bytes(self, requested: int) -> int:
        """The burst that a shaper really gets: rounded down."""
        shift = max(0, requested.bit_length() - self.burst_bits)
        if shift > MAX_EXPONENT:
            return ((1 << self.burst_bits) - 1) << MAX_EXPONENT
        return requested >> shift << shift


@dataclass(frozen=True)
class Shaper:
    """A shaper's setting.

    Attributes:
        mantissa: Bytes in 80 clocks, before the division.
        exponent: Power of two that divides them.
    """

    chip: Chip
    mantissa: int
    exponent: int

    @property
    def rate_bps(self) -> int:
        """Its rate in bit/s, rounded down."""
        bits = self.mantissa * 8 * self.chip.clock_hz
        return bits // (SHAPER_CLOCKS << self.exponent)


TOFINO1 = Chip(
    name="tofino1",
    prefix="tf1",
    cell_bytes=80,
    usable_cells=250_000,
    clock_hz=1_220_000_000,
    mantissa_bits=10,
    burst_bits=4,
    queues=8,
    generator_port=68,
    speeds={
        1 * GIGABIT: "BF_SPEED_1G",
        10 * GIGABIT: "BF_SPEED_10G",
        25 * GIGABIT: "BF_SPEED_25G",
        40 * GIGABIT: "BF_SPEED_40G",
        50 * GIGABIT: "BF_SPEED_50G",
        100 * GIGABIT: "BF_SPEED_100G",
    },
)
TOFINO2 = Chip(
    name="tofino2",
    prefix="tf2",
    cell_bytes=176,
    usable_cells=370_000,
    clock_hz=1_000_000_000,
    mantissa_bits=12,
    burst_bits=8,
    queues=16,
    generator_port=6,
    speeds={
        10 * GIGABIT: "BF_SPEED_10G",
        25 * GIGABIT: "BF_SPEED_25G",
        40 * GIGABIT: "BF_SPEED_40G",
        50 * GIGABIT: "BF_SPEED_50G",
        100 * GIGABIT: "BF_SPEED_100G",
        200 * GIGABIT: "BF_SPEED_200G",
        400 * GIGABIT: "BF_SPEED_400G",
    },
)
CHIPS: dict[ChipName, Chip] = {chip.name: chip for chip in (TOFINO1, TOFINO2)}


def pipe_of(port: int) -> int:
    """The pipe of a device port."""
    return port >> 7


def full_packet_cells(chip: Chip) -> int:
    """Cells of a full-sized packet."""
    return chip.cells_of(PACKET_BYTES)


def tofino_section(testbed: Testbed) -> SwitchTofino:
    """The testbed's `switch`; the contract has checked that it is there."""
    assert isinstance(testbed.switch, SwitchTofino)
    return testbed.switch


def tofino_capabilities(testbed: Testbed) -> Capabilities:
    """What a testbed's switch can do. Lanes share the buffer in equal parts."""
    settings = tofino_section(testbed)
    return switch_capabilities(settings, testbed.capacity.lanes)


def switch_capabilities(settings: SwitchTofino, lanes: int) -> Capabilities:
    """What a switch can do when so many lanes run side by side."""
    chip = CHIPS[settings.chip]
    packets = chip.usable_cells // lanes // full_packet_cells(chip)
    # What is left of the port's speed for frames, as the shaper counts them.
    port = settings.ports.receivers.speed.bps
    counted = PACKET_BYTES + settings.shaper_overhead.bytes
    fastest = min(port, chip.fastest_bps) * PACKET_BYTES // counted
    several = lanes == 1
    return Capabilities(
        target="tofino",
        lanes=min(chip.queues - 1, PROGRAMS["tofino"].lane_capacity),
        flows=PROGRAMS["tofino"].flow_capacity,
        lane=PLAIN_LANE
        | {
            **{name: EVERY_LANE[name] for name in ("unit", "scheduler", "memory")},
            "limit_counts": ("queue",),
            "queues": min(MOST, chip.queues - 1) if several else 1,
        },
        max_rate_bps=fastest // MEGABIT * MEGABIT,
        max_buffer_bytes=packets * PACKET_BYTES,
        without_queues="" if several else "several share the port's shaper; set capacity.lanes: 1",
        departure_tolerance_ns=DEPARTURE_TOLERANCE_NS,
        queue_tolerance_bytes=None,
        in_queue_registers=False,
        verified_on="no hardware yet: it compiles and assembles, and has run on a fake only",
        traffic_manager=f"the chip's ({settings.chip})",
        limit_detail=f"whole cells of {chip.cell_bytes} B",
        queues_detail="one bottleneck has the port alone (capacity.lanes: 1)",
    )


def applied(settings: SwitchTofino, chip: Chip, shaper: Shaper, cells: int) -> Applied:
    """What a shaper and a limit in cells mean."""
    overhead = settings.shaper_overhead.bytes
    packets = cells // full_packet_cells(chip)
    return Applied(
        rate_bps=shaper.rate_bps,
        limit=Limit(unit="cells", value=cells, cell_bytes=chip.cell_bytes),
        buffer_bytes=packets * PACKET_BYTES,
        overhead_bytes=overhead,
        limit_counts="queue",
        detail=f"shaper {shaper.rate_bps / 1e6:.3f} Mbit/s ({shaper.mantissa} / 2^"
        f"{shaper.exponent} bytes in 80 clocks) counting {overhead} B beside each frame, burst "
        f"{chip.burst_bytes(settings.burst.bytes)} B; {cells} cells of {chip.cell_bytes} B = "
        f"{packets} packets of {PACKET_BYTES} B",
    )


def shaper_for(settings: SwitchTofino, chip: Chip, program: Lane) -> Shaper:
    """The shaper that gives full-sized packets the rate that is asked for.

    It counts other bytes beside a frame than the scenario does, so its rate is another.
    """
    counted = PACKET_BYTES + settings.shaper_overhead.bytes
    line_rate = program.rate_bps * counted // (PACKET_BYTES + program.overhead_bytes)
    if line_rate > settings.ports.receivers.speed.bps:
        raise ConfigError(
            f"target tofino: a rate of {Rate(program.rate_bps)} takes {Rate(line_rate)} of port "
            f"{settings.ports.receivers.port}, which has {settings.ports.receivers.speed}"
        )
    try:
        return chip.shaper(line_rate)
    except ValueError as error:
        raise ConfigError(f"target tofino: {error}") from error


def cells_for(chip: Chip, program: Lane) -> int:
    """The limit in cells that holds as many full-sized packets as the one asked for."""
    limit = program.limit
    packets = limit.value if limit.unit == "packets" else limit.value // PACKET_BYTES
    cells = packets * full_packet_cells(chip)
    if not full_packet_cells(chip) <= cells <= chip.usable_cells:
        raise ConfigError(
            f"target tofino: a limit of {limit.value} {limit.unit} is {cells} cells; {chip.name} "
            f"takes {full_packet_cells(chip)} (one packet) to {chip.usable_cells}"
        )
    return cells


def check_ports(settings: SwitchTofino, chip: Chip) -> None:
    """Refuse ports of speeds that a chip has not.

    Raises:
        ConfigError: It names port and speeds.
    """
    for port in (settings.ports.senders, settings.ports.receivers, settings.ports.telemetry):
        if port.speed.bps not in chip.speeds:
            raise ConfigError(
                f"target tofino: port {port.port}: {chip.name} has no speed {port.speed}; write "
                f"{', '.join(str(Rate(bps)) for bps in chip.speeds)}"
            )
