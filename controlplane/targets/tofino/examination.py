"""What a reachable switch is asked before a run: it is left as it was found."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import grpc

from ...contract.errors import TargetError
from ...contract.shared import PROGRAMS
from ...contract.testbed import SwitchPort, SwitchTofino
from ..base import Finding
from . import programming, registers
from .capabilities import CHIPS, Chip, pipe_of
from .client import BfRtClient, MissingEntryError, UnreachableError
from .info import Change, Info, Query
from .programming import QueueAddress
from .registers import whole
from .undo import UndoLog

LAST_LANE = PROGRAMS["tofino"].lane_capacity - 1
PROBE_CELLS = 1
READ_ONLY_TABLES = ("tm.cfg", "tm.port.cfg", "tm.counter.queue", "tm.counter.ig_port")
START = "start bf_switchd with our program on the switch, or correct switch.grpc"
IN_USE = "end the run that uses the switch, or wait until it has ended"


def examine_switch(
    settings: SwitchTofino, artefact: Path, client: BfRtClient | None = None
) -> list[Finding]:
    """Look at a switch: server, program, tables, chip, ports, a write and its undo.

    Args:
        settings: The testbed's `switch` section.
        artefact: The bf-rt.json that p4c made of our sources.
        client: The connection; made from the settings by default.
    """
    asked = client or BfRtClient(settings.grpc, settings.device, settings.p4_name)
    try:
        return list(_findings(settings, Info(artefact.read_bytes()), asked))
    finally:
        asked.close()


def _findings(settings: SwitchTofino, ours: Info, client: BfRtClient) -> Iterator[Finding]:
    server = _look("server", IN_USE, lambda: _server(settings, client))
    yield server
    if not server.ok:
        return
    build = f"compile p4src/tofino for {settings.chip} and load that"
    program = _look("program", build, lambda: _program(settings, ours, client.info))
    yield program
    chip = CHIPS[settings.chip]
    driver = "load it with a driver of SDE 9.13, or tell us what differs"
    tables = _look("tables", driver, lambda: _tables(settings, chip, client.info))
    yield tables
    yield _look("chip", "see switch.chip in the testbed file", lambda: _chip(chip, client))
    for role, port in _ports(settings).items():
        remedy = f"see switch.ports.{role}, the cable, speed and FEC (`ucli: pm show`)"
        yield _look(f"port {role}", remedy, partial(_port, port, chip, client))
    if program.ok and tables.ok:
        yield _look("write and undo", IN_USE, lambda: _write_and_undo(client))


def _look(name: str, remedy: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(f"switch: {name}", True, look(), "")
    except TargetError as error:
        told = START if isinstance(error, UnreachableError) else remedy
        return Finding(f"switch: {name}", False, error.message, told)


def _server(settings: SwitchTofino, client: BfRtClient) -> str:
    client.open()
    return f"{settings.grpc} answers as device {settings.device} (grpc {grpc.__version__} here)"


def _program(settings: SwitchTofino, ours: Info, theirs: Info) -> str:
    if not ours.same_tables(theirs):
        raise TargetError(f"{settings.p4_name!r} is another build than ours")
    versions = ", ".join(theirs.schema_versions)
    return f"{settings.p4_name}, our build; bf-rt.json of schema {versions}"


def _tables(settings: SwitchTofino, chip: Chip, info: Info) -> str:
    """Every change of a run, as it would be sent: names, keys, fields and choices are there."""
    changes = every_change(settings, chip)
    for change in changes:
        table = info.table(change.table)
        if change.verb != "clear":
            table.key(change.key)
            table.entry_data(change.data, change.action)
    read = [chip.table(name) for name in READ_ONLY_TABLES]
    names = {change.table for change in changes} | {info.table(name).name for name in read}
    return f"{len(names)} tables take the {len(changes)} changes of a run"


def every_change(settings: SwitchTofino, chip: Chip) -> list[Change]:
    """What a run of one lane changes, but for its flows; queues have numbers of no meaning."""
    ports = _ports(settings)
    deflected = QueueAddress(pipe_of(ports["telemetry"].port), 0, 0)
    queue = QueueAddress(pipe_of(ports["receivers"].port), 0, 0)
    shaper = chip.shaper(chip.slowest_bps)
    zero = [count.zeros(range(1)) for count in registers.FLOW_COUNTS]
    return [
        *(programming.add_port(port, chip) for port in ports.values()),
        *programming.session(settings, deflected),
        *programming.lane(settings, LAST_LANE, queue, shaper, PROBE_CELLS),
        *(change for changes in zero for change in changes),
        registers.zero_counter(registers.HISTOGRAM, 0),
    ]


def _ports(settings: SwitchTofino) -> dict[str, SwitchPort]:
    ports = settings.ports
    return {
        "senders": ports.senders,
        "receivers": ports.receivers,
        "telemetry": ports.telemetry,
    }


def _chip(chip: Chip, client: BfRtClient) -> str:
    tables = (chip.table("dev.device_configuration"), chip.table("tm.cfg"))
    device, buffer = client.read([Query(table, from_hardware=False) for table in tables])
    cells, size = whole(buffer, "total_cells"), whole(buffer, "cell_size_bytes")
    told = f"{device.get('sku')}, {device.get('num_pipes')} pipes, {cells} cells of {size} B"
    if size != chip.cell_bytes or cells < chip.usable_cells:
        raise TargetError(f"{told}; {chip.name} has cells of {chip.cell_bytes} B")
    return told


def _port(port: SwitchPort, chip: Chip, client: BfRtClient) -> str:
    query = Query("$PORT", {"$DEV_PORT": port.port}, from_hardware=False)
    try:
        [entry] = client.read([query])
    except MissingEntryError:
        return f"{port.port} is not there: a run adds it, and only then has it a link"
    speed = entry.get("$SPEED")
    if speed != chip.speeds.get(port.speed.bps):
        raise TargetError(f"{port.port} has {speed}, the testbed says {port.speed}")
    if entry.get("$PORT_ENABLE") is False:
        raise TargetError(f"{port.port} is disabled")
    if not entry.get("$PORT_UP"):
        raise TargetError(f"{port.port} has no link")
    return f"{port.port} is up, {speed}"


def _write_and_undo(client: BfRtClient) -> str:
    """The limit that P4 reports for the last lane: no packet is of it while there is no run."""
    probe = programming.lane_limit(LAST_LANE, PROBE_CELLS)
    query = Query(probe.table, probe.key, from_hardware=False)
    before = _entry(client, query)
    log = UndoLog(client)
    log.apply([probe])
    try:
        written = _entry(client, query)
    finally:
        log.undo()
    if written is None or any(written.get(n) != value for n, value in probe.data.items()):
        raise TargetError(f"{probe.table}: {written} is read where {probe.data} was written")
    if _entry(client, query) != before:
        raise TargetError(f"{probe.table}: the entry is not what it was before")
    return f"{probe.table} of lane {LAST_LANE} took a limit, and was put back"


def _entry(client: BfRtClient, query: Query) -> dict[str, object] | None:
    try:
        [entry] = client.read([query])
    except MissingEntryError:
        return None
    return entry
