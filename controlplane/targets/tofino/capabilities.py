"""What a Tofino testbed can do, and what it would do; pure, no switch needed."""

from __future__ import annotations

from ...contract.errors import ConfigError
from ...contract.shared import PROGRAMS
from ...contract.switch_tofino import SwitchTofino
from ...contract.target import Applied, BottleneckProgram, Capabilities, Limit
from ...contract.testbed import Testbed
from ...contract.units import PACKET_BYTES, Rate
from .chip import CHIPS, Chip, Shaper, full_packet_cells

DEPARTURE_TOLERANCE_NS = 1_000_000
MEGABIT = 10**6


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
    return Capabilities(
        target="tofino",
        lanes=min(chip.queues - 1, PROGRAMS["tofino"].lane_capacity),
        flows=PROGRAMS["tofino"].flow_capacity,
        limit_units=("bytes", "packets", "cells"),
        max_rate_bps=fastest // MEGABIT * MEGABIT,
        max_buffer_bytes=packets * PACKET_BYTES,
        postcards=("all", "sample", "bins"),
        departure_tolerance_ns=DEPARTURE_TOLERANCE_NS,
        queue_tolerance_bytes=None,
        in_queue_registers=False,
        verified_on="no hardware yet: it compiles and assembles, and has run on a fake only",
        traffic_manager=f"the chip's ({settings.chip})",
        limit_detail=f"whole cells of {chip.cell_bytes} B",
    )


def tofino_resolve(testbed: Testbed, program: BottleneckProgram) -> Applied:
    """What a testbed's switch would do.

    Raises:
        ConfigError: It cannot; the line says why.
    """
    return resolve(tofino_section(testbed), program)


def resolve(settings: SwitchTofino, program: BottleneckProgram) -> Applied:
    """What a switch would do; see `tofino_resolve`."""
    chip = CHIPS[settings.chip]
    _check_port(settings, chip)
    return applied(settings, chip, shaper_for(settings, chip, program), cells_for(chip, program))


def applied(settings: SwitchTofino, chip: Chip, shaper: Shaper, cells: int) -> Applied:
    """What a shaper and a limit in cells mean."""
    overhead = settings.shaper_overhead.bytes
    packets = cells // full_packet_cells(chip)
    return Applied(
        rate_bps=shaper.rate_bps,
        limit=Limit(unit="cells", value=cells, cell_bytes=chip.cell_bytes),
        buffer_bytes=packets * PACKET_BYTES,
        overhead_bytes=overhead,
        detail=f"shaper {shaper.rate_bps / 1e6:.3f} Mbit/s ({shaper.mantissa} / 2^"
        f"{shaper.exponent} bytes in 80 clocks) counting {overhead} B beside each frame, burst "
        f"{chip.burst_bytes(settings.burst.bytes)} B; {cells} cells of {chip.cell_bytes} B = "
        f"{packets} packets of {PACKET_BYTES} B",
    )


def shaper_for(settings: SwitchTofino, chip: Chip, program: BottleneckProgram) -> Shaper:
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


def cells_for(chip: Chip, program: BottleneckProgram) -> int:
    """The limit in cells that holds as many full-sized packets as the one asked for."""
    limit = program.limit
    if limit.unit == "cells" and limit.cell_bytes == chip.cell_bytes:
        cells = limit.value
    elif limit.unit == "cells":
        raise ConfigError(
            f"target tofino: bottleneck.cell is {limit.cell_bytes}B, {chip.name} has cells of "
            f"{chip.cell_bytes}B"
        )
    else:
        packets = limit.value if limit.unit == "packets" else limit.value // PACKET_BYTES
        cells = packets * full_packet_cells(chip)
    if not full_packet_cells(chip) <= cells <= chip.usable_cells:
        raise ConfigError(
            f"target tofino: a limit of {limit.value} {limit.unit} is {cells} cells; {chip.name} "
            f"takes {full_packet_cells(chip)} (one packet) to {chip.usable_cells}"
        )
    return cells


def _check_port(settings: SwitchTofino, chip: Chip) -> None:
    for port in (settings.ports.senders, settings.ports.receivers, settings.ports.telemetry):
        if port.speed.bps not in chip.speeds:
            raise ConfigError(
                f"target tofino: port {port.port}: {chip.name} has no speed {port.speed}; write "
                f"{', '.join(str(Rate(bps)) for bps in chip.speeds)}"
            )
