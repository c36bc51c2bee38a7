"""Intent -> changes of tables, in the order in which the chip wants them. Pure."""

from dataclasses import dataclass
from ipaddress import IPv4Address

from ...contract.shared import PROGRAMS
from ...contract.target import FlowEntry
from ...contract.testbed import SwitchPort, SwitchTofino
from .capabilities import CHIPS, Chip, Shaper, pipe_of
from .info import Change, Value
from .undo import ENABLED, GENERATOR_TABLE, MIRROR_TABLE

_TOFINO = PROGRAMS["tofino"]
MIRROR_SESSION = _TOFINO.constants["MIRROR_SESSION"]
FLOW_TABLE = _TOFINO.tables["flow_table"]
TO_QUEUE = _TOFINO.tables["to_queue"]
MIRROR_BYTES = 64
"""Length of a mirrored packet: 32 bytes of header, and too little of the frame to matter."""
TELEMETRY_QUEUE = 0
DEFLECTED_QUEUE = 1
"""Queues of the telemetry port: postcards, and dropped packets on their way to one."""
FIRST_LANE_QUEUE = 1
"""First shaped queue of the receivers' port; unshaped packets use queue 0."""
GENERATOR_APP = 0
TICK_NS = 1_000_000
TICK_BYTES = 64
INGRESS_POOL = "IG_APP_POOL_0"
_FEC = {"none": "BF_FEC_TYP_NONE", "fc": "BF_FEC_TYP_FC", "rs": "BF_FEC_TYP_RS"}
_NEGOTIATION = {
    "default": "PM_AN_DEFAULT",
    "on": "PM_AN_FORCE_ENABLE",
    "off": "PM_AN_FORCE_DISABLE",
}


@dataclass(frozen=True)
class QueueAddress:
    """Where the traffic manager has a queue of a port."""

    pipe: int
    pg_id: Value
    pg_queue: Value

    @property
    def key(self) -> dict[str, Value]:
        """Key of the tables of queues."""
        return {"pg_id": self.pg_id, "pg_queue": self.pg_queue}


def add_port(port: SwitchPort, chip: Chip) -> Change:
    """Bring a port up."""
    data: dict[str, Value] = {
        "$SPEED": chip.speeds[port.speed.bps],
        "$FEC": _FEC[port.fec],
        "$AUTO_NEGOTIATION": _NEGOTIATION[port.auto_negotiation],
        "$PORT_ENABLE": True,
    }
    return Change("add", "$PORT", {"$DEV_PORT": port.port}, data)


def wires(settings: SwitchTofino, chip: Chip) -> list[Change]:
    """What each port is, in the P4 program."""
    senders, receivers, _ = settings.ports.numbers
    table = "BottleneckIngress.wires"
    generator = generator_port(settings, chip)
    return [
        Change("set", table, {"port": senders}, {"receivers_port": receivers}, "from_senders"),
        Change("set", table, {"port": receivers}, {"senders_port": senders}, "pass_reverse"),
        Change("set", table, {"port": generator}, {}, "tick"),
    ]


def mirror_session(settings: SwitchTofino) -> Change:
    """Where postcards go."""
    data: dict[str, Value] = {
        "$session_enable": True,
        "$direction": "EGRESS",
        "$ucast_egress_port": settings.ports.telemetry.port,
        "$ucast_egress_port_valid": True,
        "$egress_port_queue": TELEMETRY_QUEUE,
        "$max_pkt_len": MIRROR_BYTES,
    }
    return Change("set", MIRROR_TABLE, {"$sid": MIRROR_SESSION}, data, "$normal")


def deflection(chip: Chip, queue: QueueAddress) -> Change:
    """Where the traffic manager sends the packets that it drops, in their pipe."""
    data: dict[str, Value] = {"mirror_drop_pg_id": queue.pg_id}
    data["mirror_drop_pg_queue"] = queue.pg_queue
    if chip.name == "tofino2":
        data["mirror_drop_enable"] = True
    return Change("modify", chip.table("tm.pipe.cfg"), data=data, pipe=queue.pipe)


def admission(settings: SwitchTofino, chip: Chip) -> list[Change]:
    """Let the queues be where packets are dropped: ingress admits whatever they may hold."""
    port = settings.ports.senders.port
    pool: dict[str, Value] = {"size_cells": chip.usable_cells}
    limit: dict[str, Value] = {
        "pool_id": INGRESS_POOL,
        "pool_max_cells": chip.usable_cells,
        "dynamic_baf": "DISABLE",
    }
    return [
        Change("modify", chip.table("tm.pool.cfg"), {"pool": INGRESS_POOL}, pool),
        Change("modify", chip.table("tm.port.dpg"), {"dev_port": port}, limit),
    ]


def ticks(settings: SwitchTofino, chip: Chip) -> list[Change]:
    """A packet every millisecond, by which the chip's clock is read.

    An application keeps its trigger while it is enabled; so it is disabled first.
    """
    app: dict[str, Value] = {"app_id": GENERATOR_APP}
    port: dict[str, Value] = {"dev_port": generator_port(settings, chip)}
    data: dict[str, Value] = {
        "timer_nanosec": TICK_NS,
        "pkt_len": TICK_BYTES,
        "pkt_buffer_offset": 0,
        "pipe_local_source_port": chip.generator_port,
        "increment_source_port": False,
        "batch_count_cfg": 0,
        "packets_per_batch_cfg": 0,
        "ibg": 0,
        "ipg": 0,
    }
    table, action = chip.table(GENERATOR_TABLE), "trigger_timer_periodic"
    return [
        Change("modify", chip.table("pktgen.port_cfg"), port, {"pktgen_enable": True}),
        Change("modify", table, app, {ENABLED: False}, action),
        Change("modify", table, app, data, action),
        Change("modify", table, app, {ENABLED: True}, action),
    ]


def generator_port(settings: SwitchTofino, chip: Chip) -> int:
    """The packet generator's port in the senders' pipe."""
    return pipe_of(settings.ports.senders.port) * 128 + chip.generator_port


def bottleneck(
    settings: SwitchTofino, chip: Chip, queue: QueueAddress, shaper: Shaper, cells: int
) -> list[Change]:
    """A queue's rate and limit: a static limit of its own, tail drop, no share of a pool."""
    rate = rate_data(settings, chip, shaper)
    limit: dict[str, Value] = {
        "guaranteed_cells": cells,
        "hysteresis_cells": 0,
        "tail_drop_enable": True,
    }
    table = chip.table
    key, pipe = queue.key, queue.pipe
    return [
        Change("modify", table("tm.queue.buffer"), key, limit, "buffer_only", pipe),
        Change("modify", table("tm.queue.sched_shaping"), key, rate, pipe=pipe),
        Change("modify", table("tm.queue.sched_cfg"), key, {"max_rate_enable": True}, pipe=pipe),
    ]


def rate_data(settings: SwitchTofino, chip: Chip, shaper: Shaper) -> dict[str, Value]:
    """A shaper's rate and burst, of a queue or of a port."""
    return {
        "unit": "BPS",
        "provisioning": "MIN_ERROR",
        "max_rate": round(shaper.rate_bps / 1000),
        "max_burst_size": chip.burst_bytes(settings.burst.bytes),
    }


def lane_limit(lane: int, cells: int) -> Change:
    """What P4 reports as the queue that a dropped packet met."""
    return Change(
        "set", "BottleneckEgress.limits", {"lane": lane}, {"limit_cells": cells}, "set_limit"
    )


def flow_entry(lane: int, flow: FlowEntry) -> Change:
    """One entry of the flow table."""
    data: dict[str, Value] = {
        "lane": lane,
        "flow": flow.flow,
        "queue": lane_queue(lane) + flow.queue,
    }
    return Change("set", FLOW_TABLE, flow_key(flow), data, TO_QUEUE)


def flow_key(flow: FlowEntry) -> dict[str, Value]:
    """Key of a flow's entry."""
    return {
        "src_addr": int(IPv4Address(flow.src)),
        "dst_addr": int(IPv4Address(flow.dst)),
        "src_port": flow.sport,
        "dst_port": flow.dport,
        "protocol": flow.proto,
    }


def lane_queue(lane: int) -> int:
    """The queue of the receivers' port that a lane is, or the first of several."""
    return FIRST_LANE_QUEUE + lane


def session(settings: SwitchTofino, deflected: QueueAddress) -> list[Change]:
    """Everything that all lanes share, after the ports are up."""
    chip = CHIPS[settings.chip]
    # Flows that a killed run has left behind.
    leftovers = [Change("clear", FLOW_TABLE), Change("clear", "BottleneckEgress.limits")]
    return [
        *leftovers,
        *admission(settings, chip),
        deflection(chip, deflected),
        mirror_session(settings),
        *wires(settings, chip),
        *ticks(settings, chip),
    ]


def lane(
    settings: SwitchTofino, number: int, queue: QueueAddress, shaper: Shaper, cells: int
) -> list[Change]:
    """A lane's queue and what P4 knows of it, without its flows."""
    chip = CHIPS[settings.chip]
    return [*bottleneck(settings, chip, queue, shaper, cells), lane_limit(number, cells)]
