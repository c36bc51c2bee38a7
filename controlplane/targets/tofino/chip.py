"""What the chips are: cells, shapers, ports. Pure functions round an intent to them.

Facts from the chips' own public driver (SDE 9.13): a shaper's rate is a mantissa divided by
a power of two, in bytes per 80 clocks; a burst is a shorter mantissa shifted left, rounded
down; a packet takes whole cells of the buffer.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...contract.switch_tofino import ChipName
from ...contract.units import PACKET_BYTES

SHAPER_CLOCKS = 80
MAX_EXPONENT = 15
LEAST_MANTISSA = 50
"""A smaller mantissa is more than a per cent from the next."""
BRIDGED_BYTES = 26
"""Headers that ingress puts before a packet: it stands in the buffer with them (p4src)."""


@dataclass(frozen=True)
class Chip:
    """One generation.

    Attributes:
        name: As in a testbed file.
        prefix: First part of the names of its fixed tables.
        cell_bytes: Bytes of a buffer cell.
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
        chip: Of which chip.
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


GIGABIT = 10**9
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
