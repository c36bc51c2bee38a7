"""A BfRt gRPC server in this process that checks every request as a switch would.

It knows the chip's fixed tables and the compiled program's, by their descriptions; it
rounds as the hardware does, refuses what the driver refuses, and keeps what it was told:
bfrt_driver.py says table by table what that is, with the places in the driver's source.
Tests can set counters, let it refuse or err, take its clock's packets away, or end it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import grpc
from nashbed.controlplane.targets.tofino import bfruntime_pb2 as pb
from tests.fakes.bfrt_driver import operations
from tests.fakes.bfrt_tables import POOLS, fixed_tables

SERVICE = "bfrt_proto.BfRuntime"
ALL_PIPES = 0xFFFF
PIPES = 2
CELLS = {"tofino1": (80, 280 * 1024), "tofino2": (176, 384 * 1024)}
CLOCK_HZ = {"tofino1": 1_220_000_000, "tofino2": 1_000_000_000}
MANTISSA_BITS = {"tofino1": 10, "tofino2": 12}
BURST_BITS = {"tofino1": 4, "tofino2": 8}
PORT_QUEUES = {"tofino1": (4, 8), "tofino2": (8, 16)}
"""Ports of a port group, and queues of a port."""
GENERATOR_PORT = {"tofino1": 68, "tofino2": 6}
APP = "pktgen.app_cfg"
UNCONFIGURED_BYTES = {"tofino1": 65532, "tofino2": 0}
"""Length with which the driver reads a generator's application that nobody has configured."""
SHORTEST_GENERATED = {"tofino1": 11, "tofino2": 59}
SESSIONS = {"tofino1": 1016, "tofino2": 256}
SESSION_QUEUES = {"tofino1": 32, "tofino2": 128}
NO_CONFIGURATION = {"app_enable", "batch_count_cfg", "packets_per_batch_cfg", "batch_counter",
                    "pkt_counter", "trigger_counter"}  # fmt: skip
"""Fields of an application that leave the others alone."""
SERVED = {"min_rate_enable": False, "min_priority": "7", "max_rate_enable": False,
          "max_priority": "7", "dwrr_weight": 1023}  # fmt: skip
"""How a queue is served that nobody has configured."""
LARGEST_WEIGHT = 1023
ZEROS: dict[str, Any] = {"bool": False, "string": ""}
WHOLE_BITS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}


class RefusedError(Exception):
    """What the driver says to a request, with its canonical code."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code.value[0]


def invalid(message: str) -> RefusedError:
    return RefusedError(grpc.StatusCode.INVALID_ARGUMENT, f"{message} Invalid arguments")


def not_found(message: str) -> RefusedError:
    return RefusedError(grpc.StatusCode.NOT_FOUND, f"{message} Object not found")


@dataclass
class Stored:
    action: str = ""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Done:
    verb: str
    table: str
    key: dict[str, Any]
    action: str
    data: dict[str, Any]
    pipe: int


class FakeBfRt:
    """The server.

    Args:
        program: Text of the loaded program's bf-rt.json; None: nothing is loaded.
        p4_name: Name that the program is loaded under.
        device: Number of its only device.
    """

    def __init__(
        self, chip: str, program: bytes | None, p4_name: str = "", device: int = 0
    ) -> None:
        self.chip = chip
        self.prefix = "tf1" if chip == "tofino1" else "tf2"
        self.p4_name = p4_name or f"bottleneck_{chip}"
        self.device = device
        self.program = program
        self.fixed = fixed_tables(chip)
        described = json.loads(self.fixed)["tables"]
        described += json.loads(program)["tables"] if program else []
        self.tables = {table["id"]: table for table in described}
        self.entries: dict[tuple[str, tuple[Any, ...], int], Stored] = {}
        self.read_before: dict[tuple[str, tuple[Any, ...], int], dict[str, Any]] = {}
        self.done: list[Done] = []
        self.bound: set[int] = set()
        self.subscribed: set[int] = set()
        self.refuse: Callable[[str, str], str | None] = lambda verb, table: None
        self.before_read: Callable[[], None] = lambda: None
        self.link_up = True
        self.generator_works = True
        self.clock_behind_ns = 12_345_678
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
        self._server.add_generic_rpc_handlers((self._handlers(),))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._reset_chip()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> FakeBfRt:
        self._server.start()
        return self

    def stop(self) -> None:
        self._server.stop(None).wait(5)

    def vanish(self) -> None:
        """End without waiting, in the middle of a request."""
        self._server.stop(None)

    def entry(self, table: str, pipe: int = ALL_PIPES, **key: Any) -> Stored | None:
        """What is stored, by full table name."""
        return self.entries.get((table, tuple(sorted(key.items())), pipe))

    def put(self, table: str, data: dict[str, Any], pipe: int = ALL_PIPES, **key: Any) -> None:
        """Store something as the data plane would."""
        place = (table, tuple(sorted(key.items())), pipe)
        self.entries.setdefault(place, Stored()).data.update(data)

    def _described(self, name: str) -> dict[str, Any]:
        return next(table for table in self.tables.values() if table["name"] == name)

    def _at(self, table: str, **key: Any) -> Stored:
        found = self.entry(table, **key)
        assert found is not None
        return found

    def put_flow(self, name: str, flow: int, packets: int, size: int) -> None:
        """Count packets and bytes of a flow: in the first pipe, as P4 does."""
        register, counter = self.named(f"{name}_bytes"), self.named(f"{name}_packets")
        field = register.split(".", 1)[1]
        words = {f"{field}.low": [size % 2**15, 0], f"{field}.high": [size >> 15, 0]}
        self.put(register, words, **{"$REGISTER_INDEX": flow})
        self.put(counter, {"$COUNTER_SPEC_PKTS": packets}, **{"$COUNTER_INDEX": flow})

    def named(self, name: str) -> str:
        """Full name of a program's table."""
        return next(t["name"] for t in self.tables.values() if t["name"].endswith(f".{name}"))

    def queue_key(self, port: int, queue: int) -> dict[str, int]:
        """Where the traffic manager has a queue of a port."""
        ports, queues = PORT_QUEUES[self.chip]
        local = port & 0x7F
        return {"pg_id": local // ports, "pg_queue": local % ports * queues + queue}

    def _reset_chip(self) -> None:
        cell, total = CELLS[self.chip]
        self.put(f"{self.prefix}.tm.cfg", {"cell_size_bytes": cell, "total_cells": total})
        for pipe in range(PIPES):
            data = {"mirror_drop_pg_id": 0, "mirror_drop_pg_queue": 0}
            if self.chip == "tofino2":
                data["mirror_drop_enable"] = False
            self.put(f"{self.prefix}.tm.pipe.cfg", data, pipe)
        self.put(f"{self.prefix}.tm.pool.cfg", {"size_cells": 90_000}, pool="IG_APP_POOL_0")
        for pool in POOLS:
            self.put(f"{self.prefix}.tm.pool.cfg", {"size_cells": 0}, pool=pool)
        sku = {"sku": "BFN-T10-032D", "num_pipes": PIPES, "num_stages": 12}
        self.put(f"{self.prefix}.dev.device_configuration", sku)
        app = self._described(f"{self.prefix}.{APP}")
        data = zeros(app, "trigger_timer_one_shot")
        self.put(app["name"], data | {"pkt_len": UNCONFIGURED_BYTES[self.chip]}, app_id=0)
        self._at(app["name"], app_id=0).action = "trigger_timer_one_shot"
        for pipe in range(PIPES):
            port = pipe * 128 + GENERATOR_PORT[self.chip]
            self.put(f"{self.prefix}.pktgen.port_cfg", {"pktgen_enable": False}, dev_port=port)

    def _port_added(self, port: int) -> None:
        """What the traffic manager has once a port is there: its defaults."""
        name, pipe, prefix = f"{self.prefix}.tm", port >> 7, self.prefix
        _, queues = PORT_QUEUES[self.chip]
        keys = [self.queue_key(port, queue) for queue in range(queues)]
        self.put(
            f"{name}.port.cfg",
            {"pg_id": keys[0]["pg_id"], "egress_qid_queues": [k["pg_queue"] for k in keys]},
            dev_port=port,
        )
        pool = {"pool_id": "IG_APP_POOL_0", "pool_max_cells": 40, "dynamic_baf": "80%"}
        self.put(f"{name}.port.dpg", pool, dev_port=port)
        self.put(f"{prefix}.tm.counter.ig_port", _no_counts(), dev_port=port)
        shaping = {"unit": "BPS", "provisioning": "UPPER", "max_rate": 10_000_000,
                   "max_burst_size": 16384}  # fmt: skip
        self.put(f"{name}.port.sched_cfg", {"max_rate_enable": False}, dev_port=port)
        self.put(f"{name}.port.sched_shaping", shaping, dev_port=port)
        for key in keys:
            self.put(f"{name}.queue.sched_cfg", dict(SERVED), pipe, **key)
            self.put(f"{name}.queue.sched_shaping", shaping, pipe, **key)
            limit = {"guaranteed_cells": 20, "hysteresis_cells": 32, "tail_drop_enable": True}
            pool = {"pool_id": "EG_APP_POOL_0", "pool_max_cells": 100, "dynamic_baf": "80%"}
            self.put(f"{name}.queue.buffer", limit | pool, pipe, **key)
            place = (f"{name}.queue.buffer", tuple(sorted(key.items())), pipe)
            self.entries[place].action = "shared_pool"
            self.put(f"{name}.counter.queue", _no_counts(), pipe, **key)

    # -- requests -------------------------------------------------------------------

    def _handlers(self) -> grpc.GenericRpcHandler:
        def unary(function: Any, request: Any) -> grpc.RpcMethodHandler:
            return grpc.unary_unary_rpc_method_handler(
                function, request.FromString, lambda answer: answer.SerializeToString()
            )

        methods = {
            "Write": unary(self._write, pb.WriteRequest),
            "Read": grpc.unary_stream_rpc_method_handler(
                self._read, pb.ReadRequest.FromString, lambda answer: answer.SerializeToString()
            ),
            "SetForwardingPipelineConfig": unary(self._set, pb.SetForwardingPipelineConfigRequest),
            "GetForwardingPipelineConfig": unary(self._get, pb.GetForwardingPipelineConfigRequest),
            "StreamChannel": grpc.stream_stream_rpc_method_handler(
                self._stream,
                pb.StreamMessageRequest.FromString,
                lambda answer: answer.SerializeToString(),
            ),
        }
        return grpc.method_handlers_generic_handler(SERVICE, methods)

    def _stream(self, requests: Iterator[pb.StreamMessageRequest], context: Any) -> Any:
        first = next(requests)
        if first.client_id in self.subscribed:
            same = "Can't have two clients with the same client id Invalid arguments"
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, same)
        self.subscribed.add(first.client_id)
        context.add_callback(lambda: self._gone(first.client_id))
        yield pb.StreamMessageResponse(subscribe=pb.Subscribe(status=pb.Status()))
        yield from (pb.StreamMessageResponse() for _ in requests)

    def _gone(self, client: int) -> None:
        self.subscribed.discard(client)
        self.bound.discard(client)

    def _get(self, request: Any, context: Any) -> pb.GetForwardingPipelineConfigResponse:
        self._check_client(request.client_id, request.device_id, context)
        answer = pb.GetForwardingPipelineConfigResponse(
            non_p4_config=pb.NonP4Config(bfruntime_info=self.fixed)
        )
        if self.program is not None:
            answer.config.add(p4_name=self.p4_name, bfruntime_info=self.program)
        return answer

    def _set(self, request: Any, context: Any) -> pb.SetForwardingPipelineConfigResponse:
        self._check_client(request.client_id, request.device_id, context)
        names = [config.p4_name for config in request.config]
        if request.action != 0 or len(names) != 1:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "Exactly one config message required.")
        if names != [self.p4_name] or self.program is None:
            problem = f"Failed to find BfRtInfo for program {names[0]} Object not found"
            context.abort(grpc.StatusCode.NOT_FOUND, problem)
        for owner in self.bound:
            problem = (
                f"Client ID {request.client_id} trying to bind but Client ID {owner} already owns "
                "this P4 Already exists"
            )
            context.abort(grpc.StatusCode.ALREADY_EXISTS, problem)
        self.bound.add(request.client_id)
        return pb.SetForwardingPipelineConfigResponse()

    def _check_client(self, client: int, device: int, context: Any) -> None:
        if client not in self.subscribed:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"client {client} is unknown")
        if device != self.device:  # the driver throws, and gRPC catches it
            context.abort(grpc.StatusCode.UNKNOWN, "Unexpected error in RPC handling")

    def _check_request(self, request: Any, context: Any) -> None:
        self._check_client(request.client_id, request.target.device_id, context)
        if request.client_id not in self.bound:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "the client is bound to no program")
        if request.p4_name != self.p4_name:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"no program {request.p4_name}")

    def _write(self, request: pb.WriteRequest, context: Any) -> pb.WriteResponse:
        self._check_request(request, context)
        results = [self._attempt(self._update, update) for update in request.updates]
        self._answer("Write", results, context)
        return pb.WriteResponse()

    def _read(self, request: pb.ReadRequest, context: Any) -> Iterator[pb.ReadResponse]:
        self._check_request(request, context)
        self.before_read()
        found: list[pb.Entity | None] = []
        results = [
            self._attempt(lambda e: found.append(self._found(e)), entity)
            for entity in request.entities
        ]
        entities = [entity for entity in found if entity is not None]
        yield pb.ReadResponse(entities=entities)  # also when something was not found
        self._answer("Read", results, context)

    def _attempt(self, function: Callable[[Any], Any], argument: Any) -> pb.Error:
        try:
            function(argument)
        except RefusedError as error:
            return pb.Error(canonical_code=error.code, message=str(error))
        return pb.Error()

    def _answer(self, verb: str, results: list[pb.Error], context: Any) -> None:
        """The details end with the last update that was refused."""
        refused = [number for number, result in enumerate(results) if result.canonical_code]
        if not refused:
            return
        status = pb.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=f"{verb} Error Status")
        for result in results[: refused[-1] + 1]:
            status.details.add().Pack(result)
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(grpc.StatusCode.UNKNOWN, "")

    # -- entries --------------------------------------------------------------------

    def _update(self, update: pb.Update) -> None:
        entry = update.entity.table_entry
        table = self._table(entry)
        verb = operation(pb.Update.Type.Name(update.type), entry)
        message = self.refuse(verb, table["name"])
        if message is not None:
            raise invalid(message)
        self._check_operation(table, verb)
        pipe = entry.entry_tgt.pipe_id
        self._check_pipe(table, entry)
        if verb == "CLEAR":
            self._clear(table)
            return
        key = self._key(table, entry)
        place = (table["name"], tuple(sorted(key.items())), pipe)
        if verb == "DELETE":
            self._delete(place)
            self.done.append(Done(verb, table["name"], key, "", {}, pipe))
            return
        action, data = self._data(table, entry.data)
        self._check_state(verb, place)
        self._accept(place, action, data)
        self.done.append(Done(verb, table["name"], key, action, data, pipe))

    def _check_operation(self, table: dict[str, Any], verb: str) -> None:
        can = operations(table, self.prefix)
        if verb not in can.names:
            problem = f"Table {verb} failed table:{table['name']} Operation not supported"
            raise RefusedError(grpc.StatusCode.UNIMPLEMENTED, f"{problem} ({can.source})")

    def _clear(self, table: dict[str, Any]) -> None:
        if table["name"].startswith((self.prefix, "$")):
            raise NotImplementedError(f"the fake clears no {table['name']}: who does?")
        for place in [place for place in self.entries if place[0] == table["name"]]:
            del self.entries[place]

    def _delete(self, place: Any) -> None:
        name = place[0]
        if self.entries.pop(place, None) is None and name != "$PORT":
            problem = f"Table Entry delete failed table:{name}"
            raise invalid(problem) if name == "$mirror.cfg" else not_found(problem)

    def _check_state(self, verb: str, place: Any) -> None:
        name, key = place[0], dict(place[1])
        exists = place in self.entries or {"$REGISTER_INDEX", "$COUNTER_INDEX"} & set(key)
        if verb == "INSERT" and exists and name == "$mirror.cfg":
            raise invalid(f"Table Add failed table:{name}")
        if verb == "INSERT" and exists and name != "$PORT":
            problem = f"Table Add failed table:{name} Already exists"
            raise RefusedError(grpc.StatusCode.ALREADY_EXISTS, problem)
        if verb not in ("MODIFY", "SET_DEFAULT") or exists:
            return
        problem = f"Table Entry modify failed table:{name}"
        if ".tm.queue." in name:  # no port has the queue
            raise RefusedError(grpc.StatusCode.UNAVAILABLE, f"{problem} Not ready")
        raise not_found(problem) if not name.startswith((self.prefix, "$")) else invalid(problem)

    def _accept(self, place: Any, action: str, data: dict[str, Any]) -> None:
        name = place[0].removeprefix(f"{self.prefix}.")
        stored = self.entries.get(place, Stored())
        if name == "$PORT":
            self._port_set(place, data)
        elif name == "$mirror.cfg":
            data = self._session(place, action, data)
        elif name == APP:
            action, data = self._application(stored, action, data)
        elif name in ("tm.queue.sched_shaping", "tm.port.sched_shaping"):
            data = self._shaped(stored.data | data)
        elif name == "tm.queue.sched_cfg":
            data = _served(place[0], data)
        elif name == "tm.queue.buffer":
            data = _limited(action, data)
        elif name == "tm.pipe.cfg":
            self._check_deflection(place[2], data)
        elif name in ("tm.pool.cfg", "tm.port.dpg"):
            self._check_cells(data)
        elif "$REGISTER_INDEX" in dict(place[1]):
            data = zeros(self._described(place[0])) | data
        stored = self.entries.setdefault(place, Stored())
        stored.action = action or stored.action
        stored.data.update(data)

    def _port_set(self, place: Any, data: dict[str, Any]) -> None:
        if place in self.entries:
            return
        if not {"$SPEED", "$FEC"} <= set(data):
            raise invalid("Table Add failed table:$PORT")
        self._port_added(dict(place[1])["$DEV_PORT"])

    def _session(self, place: Any, action: str, data: dict[str, Any]) -> dict[str, Any]:
        """A mirror session: what is left out is 0."""
        session = zeros(self._described("$mirror.cfg"), action) | {"$packet_color": "GREEN"} | data
        session["$direction"] = data.get("$direction", "NONE")
        sid, port = dict(place[1])["$sid"], session["$ucast_egress_port"]
        if sid >= SESSIONS[self.chip]:
            raise not_found("Table Add failed table:$mirror.cfg")
        lost = session["$session_enable"] and session["$direction"] == "NONE"
        absent = session["$ucast_egress_port_valid"] and port >> 7 >= PIPES
        if not action or lost or absent:
            raise invalid("Table Add failed table:$mirror.cfg")
        if session["$egress_port_queue"] >= SESSION_QUEUES[self.chip]:
            raise invalid("Table Add failed table:$mirror.cfg")
        if self.chip == "tofino2":
            session["$max_pkt_len"] &= 0xFFFC
        return session

    def _application(
        self, stored: Stored, action: str, data: dict[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """A generator's application: a configuration is all of it."""
        if not set(data) - NO_CONFIGURATION:
            return stored.action, {n: v for n, v in data.items() if n == "app_enable"}
        if stored.data["app_enable"] and stored.action != action:
            problem = f"Table Entry modify failed table:{self.prefix}.{APP} In use"
            raise RefusedError(grpc.StatusCode.UNAVAILABLE, problem)
        all_of_it = zeros(self._described(f"{self.prefix}.{APP}"), action)
        config = all_of_it | {"app_enable": stored.data["app_enable"]} | data
        too_short = config["pkt_len"] < SHORTEST_GENERATED[self.chip]
        if too_short or config["pkt_buffer_offset"] % 16 or config["pipe_local_source_port"] > 127:
            raise invalid(f"Table Entry modify failed table:{self.prefix}.{APP}")
        stored.data.clear()
        return action, config

    def _check_deflection(self, pipe: int, data: dict[str, Any]) -> None:
        """A queue is named in full, and is of a port of that pipe."""
        ids = [data.get(f"mirror_drop_pg_{part}") for part in ("id", "queue")]
        if (ids[0] is None) != (ids[1] is None) or pipe >= PIPES:
            raise invalid(f"Table Default entry set failed table:{self.prefix}.tm.pipe.cfg")

    def _check_cells(self, data: dict[str, Any]) -> None:
        _, total = CELLS[self.chip]
        if max(data.get("size_cells", 0), data.get("pool_max_cells", 0)) > total:
            raise invalid("Table Entry modify failed: more cells than the buffer has")

    def _shaped(self, data: dict[str, Any]) -> dict[str, Any]:
        """As the hardware has it: the nearest mantissa and exponent; read in whole kbit/s."""
        bits, clock = MANTISSA_BITS[self.chip], CLOCK_HZ[self.chip]
        wanted = data["max_rate"] * 1000
        steps = (
            (mantissa, exponent)
            for exponent in range(16)
            for ideal in (Fraction(wanted * 80 << exponent, 8 * clock),)
            for mantissa in (int(ideal), int(ideal) + 1)
            if 0 < mantissa < 1 << bits
        )
        rates = [Fraction(m * 8 * clock, 80 << e) for m, e in steps]
        if not rates or data["unit"] != "BPS":
            raise invalid(f"rate {wanted} bit/s cannot be represented")
        rate = min(rates, key=lambda r: abs(r - wanted))
        burst = data["max_burst_size"]
        burst = (burst >> max(0, burst.bit_length() - BURST_BITS[self.chip])) << max(
            0, burst.bit_length() - BURST_BITS[self.chip]
        )
        return data | {"max_rate": int(rate / 1000), "max_burst_size": burst}

    def _found(self, entity: pb.Entity) -> pb.Entity | None:
        entry = entity.table_entry
        table = self._table(entry)
        message = self.refuse("READ", table["name"])
        if message is not None:
            raise invalid(message)
        if entry.is_default_entry and "READ_DEFAULT" not in operations(table, self.prefix).names:
            return None
        if not entry.is_default_entry:
            self._check_operation(table, "READ")
        self._check_pipe(table, entry)
        if table["name"].endswith("pktgen.port_cfg") and entry.table_flags.from_hw:
            problem = f"Entry not found in table:{table['name']} Operation not supported"
            raise RefusedError(grpc.StatusCode.UNIMPLEMENTED, problem)
        key, pipe = self._key(table, entry), entry.entry_tgt.pipe_id
        place = (table["name"], tuple(sorted(key.items())), pipe)
        stored = self._stored(table, place, entry.table_flags.from_hw)
        found = pb.TableEntry(table_id=entry.table_id, entry_tgt=entry.entry_tgt)
        found.key.CopyFrom(entry.key)
        found.data.CopyFrom(self._encoded(table, stored))
        return pb.Entity(table_entry=found)

    def _stored(self, table: dict[str, Any], place: Any, from_hw: bool) -> Stored:
        """An entry as it is read."""
        name, key = place[0], dict(place[1])
        if {"$COUNTER_INDEX", "$REGISTER_INDEX"} & set(key):
            return Stored(data=self._counted(table, place, from_hw))
        if place not in self.entries:
            raise not_found(f"Entry not found in table:{name}")
        stored = self.entries[place]
        if name == "$PORT":
            return Stored(data=stored.data | {"$PORT_UP": self.link_up})
        if name.endswith("tm.queue.buffer"):
            return Stored("shared_pool", stored.data)
        return stored

    def _counted(self, table: dict[str, Any], place: Any, from_hw: bool) -> dict[str, Any]:
        """A counter or register: of the chip, or what the driver has read of it before."""
        if not from_hw:
            return self.read_before.get(place, zeros(table))
        known = self.entries.get(place, Stored()).data
        now = self._clock(table) if place[0].endswith("Ingress.clock") else zeros(table) | known
        self.read_before[place] = now
        return now

    def _clock(self, table: dict[str, Any]) -> dict[str, Any]:
        """The time of the generator's last packet: in its pipe, if everything for it is set."""
        app = self.entry(f"{self.prefix}.pktgen.app_cfg", app_id=0)
        assert app is not None
        running = app.data.get("app_enable") and app.action == "trigger_timer_periodic"
        period = app.data.get("timer_nanosec") or 1
        now = (time.monotonic_ns() - self.clock_behind_ns) // period * period
        times = [0] * PIPES
        for pipe in range(PIPES):
            port = pipe * 128 + GENERATOR_PORT[self.chip]
            enabled = self.entry(f"{self.prefix}.pktgen.port_cfg", dev_port=port)
            wire = self.entry(self.named("BottleneckIngress.wires"), port=port)
            ticks = wire is not None and wire.action.endswith("tick")
            if running and enabled and enabled.data["pktgen_enable"] and ticks:
                times[pipe] = now if self.generator_works else 0
        words = [field["singleton"]["name"] for field in table["data"]]
        high = next(word for word in words if word.endswith(".high"))
        low = next(word for word in words if word.endswith(".low"))
        return {high: [t >> 32 for t in times], low: [t & 0xFFFFFFFF for t in times]}

    # -- encoding -------------------------------------------------------------------

    def _table(self, entry: pb.TableEntry) -> dict[str, Any]:
        if entry.table_id not in self.tables:
            raise RefusedError(grpc.StatusCode.NOT_FOUND, f"no table {entry.table_id}")
        return self.tables[entry.table_id]

    def _check_pipe(self, table: dict[str, Any], entry: pb.TableEntry) -> None:
        target, name = entry.entry_tgt, table["name"]
        if target.device_id != self.device:
            raise invalid(f"no device {target.device_id}")
        of_pipe = ("tm.queue.", "tm.counter.queue", "tm.pipe.cfg")
        needs_pipe = any(part in name for part in of_pipe)
        if needs_pipe and target.pipe_id >= PIPES:
            raise invalid(f"{name}: pipe {target.pipe_id} is none")
        if not needs_pipe and target.pipe_id != ALL_PIPES:
            raise invalid(f"{name} is symmetric: all pipes, not {target.pipe_id}")

    def _key(self, table: dict[str, Any], entry: pb.TableEntry) -> dict[str, Any]:
        if not table["key"]:
            if not entry.is_default_entry:
                raise invalid(f"{table['name']} has only a default entry")
            return {}
        given = {f.field_id: f.exact.value for f in entry.key.fields}
        known = {field["id"]: field for field in table["key"]}
        if set(given) != set(known):
            raise invalid(f"{table['name']}: key fields {sorted(given)}, not {sorted(known)}")
        return {known[i]["name"]: _whole_or_text(known[i], raw) for i, raw in given.items()}

    def _data(self, table: dict[str, Any], data: pb.TableData) -> tuple[str, dict[str, Any]]:
        known = {f["singleton"]["id"]: f for f in table["data"] if "singleton" in f}
        action = ""
        if data.action_id or table.get("action_specs"):
            chosen = [a for a in table.get("action_specs") if a["id"] == data.action_id]
            if not chosen:
                raise invalid(f"{table['name']}: no action {data.action_id}")
            action = chosen[0]["name"]
            known |= {f.get("singleton", f)["id"]: f for f in chosen[0]["data"]}
            self._check_whole_action(table, chosen[0], data)
        found = {}
        for sent in data.fields:
            if sent.field_id not in known:
                raise invalid(f"{table['name']}: no data field {sent.field_id} in {action!r}")
            described = known[sent.field_id]
            if described.get("read_only"):
                raise invalid(f"{table['name']}: field {sent.field_id} is read only")
            inner = described.get("singleton", described)
            found[inner["name"]] = _sent_value(inner, sent)
        return action, found

    def _check_whole_action(self, table: dict[str, Any], action: Any, data: pb.TableData) -> None:
        """An entry of the program's tables names every parameter of its action."""
        if table["name"].startswith((self.prefix, "$")):
            return
        needed = {f["id"] for f in action["data"]}
        if needed != {f.field_id for f in data.fields}:
            raise invalid(f"{table['name']}: {action['name']} wants fields {sorted(needed)}")

    def _encoded(self, table: dict[str, Any], stored: Stored) -> pb.TableData:
        described = [f.get("singleton", f) for f in table["data"]]
        found = pb.TableData()
        for action in table.get("action_specs", []):
            if action["name"] == stored.action:
                found.action_id = action["id"]
                described += [f.get("singleton", f) for f in action["data"]]
        for inner in described:
            if inner["name"] in stored.data:
                _add_value(found, inner, stored.data[inner["name"]])
        return found


def operation(verb: str, entry: pb.TableEntry) -> str:
    """What the server asks of a table: the default entry apart, and a deletion of all."""
    if entry.is_default_entry:
        return {"MODIFY": "SET_DEFAULT", "DELETE": "RESET_DEFAULT"}.get(verb, verb)
    if verb == "DELETE" and not entry.HasField("key"):
        return "CLEAR"
    return verb


def zeros(table: dict[str, Any], action: str = "") -> dict[str, Any]:
    """Every data field of a table, of an action or of none, as the driver clears it."""
    described = list(table["data"])
    described += [
        f for a in table.get("action_specs", []) if a["name"] == action for f in a["data"]
    ]
    inner = [field.get("singleton", field) for field in described]
    return {field["name"]: ZEROS.get(field["type"]["type"], 0) for field in inner}


def _served(table: str, data: dict[str, Any]) -> dict[str, Any]:
    """Weights have ten bits; a priority is read by the first of its names."""
    if data.get("dwrr_weight", 0) > LARGEST_WEIGHT:
        raise invalid(f"Table Entry modify failed table:{table}")
    names = {"0": "LOW", "HIGH": "7"}
    priorities = {k: names.get(v, v) for k, v in data.items() if k.endswith("_priority")}
    return data | priorities


def _limited(action: str, data: dict[str, Any]) -> dict[str, Any]:
    """A queue's limit: of no pool is a pool of which it may have nothing."""
    pool = {"pool_max_cells": 0} if action == "buffer_only" else {}
    if "hysteresis_cells" in data:
        data = data | {"hysteresis_cells": data["hysteresis_cells"] // 8 * 8}
    return data | pool


def _no_counts() -> dict[str, int]:
    return {"drop_count_packets": 0, "usage_cells": 0, "watermark_cells": 0}


def _bits(described: dict[str, Any]) -> int:
    form = described["type"]
    return int(WHOLE_BITS.get(form["type"], form.get("width", 0)))


def _whole(described: dict[str, Any], raw: bytes) -> int:
    bits = _bits(described)
    if len(raw) != (bits + 7) // 8 or int.from_bytes(raw, "big") >= 1 << bits:
        raise invalid(f"{described['name']}: {raw.hex()} is not {bits} bits")
    return int.from_bytes(raw, "big")


def _whole_or_text(described: dict[str, Any], raw: bytes) -> int | str:
    return raw.decode() if described["type"]["type"] == "string" else _whole(described, raw)


def _sent_value(described: dict[str, Any], sent: pb.DataField) -> Any:
    kind, form = described["type"]["type"], sent.WhichOneof("value")
    wanted = {"bool": "bool_val", "string": "str_val"}.get(kind, "stream")
    if form != wanted:
        raise invalid(f"{described['name']}: sent as {form}, not {wanted}")
    if form == "stream":
        return _whole(described, sent.stream)
    value = sent.bool_val if form == "bool_val" else sent.str_val
    choices = described["type"].get("choices")
    if choices and value not in choices:
        raise invalid(f"{described['name']}: {value!r} is no choice")
    return value


def _add_value(found: pb.TableData, described: dict[str, Any], value: Any) -> None:
    number, kind = described["id"], described["type"]["type"]
    if described.get("repeated") and kind.startswith("uint"):
        found.fields.add(field_id=number, int_arr_val=pb.DataField.IntArray(val=value))
        return
    for one in value if isinstance(value, list) else [value]:
        if kind == "bool":
            found.fields.add(field_id=number, bool_val=one)
        elif kind == "string":
            found.fields.add(field_id=number, str_val=one)
        else:
            raw = int(one).to_bytes((_bits(described) + 7) // 8, "big")
            found.fields.add(field_id=number, stream=raw)
