"""A BfRt gRPC server in this process that checks every request as a switch would.

It knows the chip's fixed tables and the compiled program's, by their descriptions; it
rounds as the hardware does, refuses what the driver refuses, and keeps what it was told.
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
from tests.fakes.bfrt_tables import fixed_tables

SERVICE = "bfrt_proto.BfRuntime"
ALL_PIPES = 0xFFFF
PIPES = 2
CELLS = {"tofino1": (80, 266_240), "tofino2": (176, 393_216)}
CLOCK_HZ = {"tofino1": 1_220_000_000, "tofino2": 1_000_000_000}
MANTISSA_BITS = {"tofino1": 10, "tofino2": 12}
BURST_BITS = {"tofino1": 4, "tofino2": 8}
PORT_QUEUES = {"tofino1": (4, 8), "tofino2": (8, 16)}
"""Ports of a port group, and queues of a port."""
GENERATOR_PORT = {"tofino1": 68, "tofino2": 6}
WHOLE_BITS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}


class RefusedError(Exception):
    """What the driver says to a request, with its canonical code."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code.value[0]


def invalid(message: str) -> RefusedError:
    return RefusedError(grpc.StatusCode.INVALID_ARGUMENT, message)


@dataclass
class Stored:
    """An entry."""

    action: str = ""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Done:
    """A change that was accepted."""

    verb: str
    table: str
    key: dict[str, Any]
    action: str
    data: dict[str, Any]
    pipe: int


class FakeBfRt:
    """The server.

    Args:
        chip: Which chip it is.
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
        numbers = ("timer_nanosec", "pkt_len", "pkt_buffer_offset", "pipe_local_source_port",
                   "batch_count_cfg", "packets_per_batch_cfg", "ibg", "ipg")  # fmt: skip
        data = dict.fromkeys(numbers, 0) | {"app_enable": False, "increment_source_port": False}
        self.put(f"{self.prefix}.pktgen.app_cfg", data, app_id=0)
        self.entries[
            (f"{self.prefix}.pktgen.app_cfg", (("app_id", 0),), ALL_PIPES)
        ].action = "trigger_timer_one_shot"
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
        for key in keys:
            self.put(f"{name}.queue.sched_cfg", {"max_rate_enable": False}, pipe, **key)
            shaping = {"unit": "BPS", "provisioning": "UPPER", "max_rate": 10_000_000,
                       "max_burst_size": 16384}  # fmt: skip
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
        status = pb.Status()
        if first.client_id in self.subscribed:
            status = pb.Status(code=6, message=f"client {first.client_id} is subscribed already")
        elif first.subscribe.device_id != self.device:
            status = pb.Status(code=3, message=f"no device {first.subscribe.device_id}")
        else:
            self.subscribed.add(first.client_id)
            context.add_callback(lambda: self._gone(first.client_id))
        yield pb.StreamMessageResponse(subscribe=pb.Subscribe(status=status))
        if status.code:
            return
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
        if request.action != 0 or names != [self.p4_name] or self.program is None:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"cannot bind to {names}")
        if self.bound:
            context.abort(grpc.StatusCode.ALREADY_EXISTS, "the program has a client already")
        self.bound.add(request.client_id)
        return pb.SetForwardingPipelineConfigResponse()

    def _check_client(self, client: int, device: int, context: Any) -> None:
        if client not in self.subscribed:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"client {client} is unknown")
        if device != self.device:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"no device {device}")

    def _check_request(self, request: Any, context: Any) -> None:
        self._check_client(request.client_id, request.target.device_id, context)
        if request.client_id not in self.bound:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "the client is bound to no program")
        if request.p4_name != self.p4_name:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"no program {request.p4_name}")

    def _write(self, request: pb.WriteRequest, context: Any) -> pb.WriteResponse:
        self._check_request(request, context)
        self._answer([self._attempt(self._update, update) for update in request.updates], context)
        return pb.WriteResponse()

    def _read(self, request: pb.ReadRequest, context: Any) -> Iterator[pb.ReadResponse]:
        self._check_request(request, context)
        self.before_read()
        found: list[pb.Entity] = []
        results = [
            self._attempt(lambda e: found.append(self._found(e)), entity)
            for entity in request.entities
        ]
        # As a switch does it: what was found first, in more than one message.
        for first in range(0, len(found), 100):
            yield pb.ReadResponse(entities=found[first : first + 100])
        self._answer(results, context)

    def _attempt(self, function: Callable[[Any], Any], argument: Any) -> pb.Error:
        try:
            function(argument)
        except RefusedError as error:
            return pb.Error(canonical_code=error.code, message=str(error))
        return pb.Error()

    def _answer(self, results: list[pb.Error], context: Any) -> None:
        if not any(result.canonical_code for result in results):
            return
        status = pb.Status(code=grpc.StatusCode.UNKNOWN.value[0])
        for result in results:
            status.details.add().Pack(result)
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(grpc.StatusCode.UNKNOWN, "")

    # -- entries --------------------------------------------------------------------

    def _update(self, update: pb.Update) -> None:
        verb = pb.Update.Type.Name(update.type)
        entry = update.entity.table_entry
        table = self._table(entry)
        message = self.refuse(verb, table["name"])
        if message is not None:
            raise invalid(message)
        pipe = entry.entry_tgt.pipe_id
        self._check_pipe(table, entry)
        if verb == "DELETE" and not entry.key.fields and not entry.is_default_entry:
            self._clear(table)
            return
        key = self._key(table, entry)
        place = (table["name"], tuple(sorted(key.items())), pipe)
        if verb == "DELETE":
            if self.entries.pop(place, None) is None:
                raise RefusedError(grpc.StatusCode.NOT_FOUND, "no such entry")
            self.done.append(Done(verb, table["name"], key, "", {}, pipe))
            return
        action, data = self._data(table, entry.data)
        self._check_state(verb, place, table)
        self._accept(place, action, data)
        self.done.append(Done(verb, table["name"], key, action, data, pipe))

    def _clear(self, table: dict[str, Any]) -> None:
        if table["name"].startswith((self.prefix, "$")):
            raise RefusedError(grpc.StatusCode.UNIMPLEMENTED, f"{table['name']} cannot be cleared")
        for place in [place for place in self.entries if place[0] == table["name"]]:
            del self.entries[place]

    def _check_state(self, verb: str, place: Any, table: dict[str, Any]) -> None:
        exists = place in self.entries or "$REGISTER_INDEX" in dict(place[1])
        exists = exists or "$COUNTER_INDEX" in dict(place[1])
        if verb == "INSERT" and exists:
            raise RefusedError(grpc.StatusCode.ALREADY_EXISTS, "the entry exists")
        if verb == "MODIFY" and not exists:
            raise RefusedError(grpc.StatusCode.NOT_FOUND, f"no such entry in {table['name']}")
        if verb != "MODIFY" and table["name"].startswith(self.prefix):
            raise RefusedError(grpc.StatusCode.UNIMPLEMENTED, f"{table['name']} has fixed entries")
        if verb not in ("INSERT", "MODIFY", "INSERT_OR_MODIFY"):
            raise invalid(f"update type {verb}")

    def _accept(self, place: Any, action: str, data: dict[str, Any]) -> None:
        name = place[0]
        if name.endswith("tm.queue.sched_shaping"):
            data = self._shaped(data)
        elif name.endswith("tm.queue.buffer"):
            data = self._limited(place, data)
        stored = self.entries.setdefault(place, Stored())
        if name == "$mirror.cfg" and data.get("$max_pkt_len", 4) % 4:
            raise invalid("$max_pkt_len is no multiple of 4")
        stored.action = action or stored.action
        stored.data.update(data)
        if name == "$PORT":
            self._port_added(dict(place[1])["$DEV_PORT"])

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

    def _limited(self, place: Any, data: dict[str, Any]) -> dict[str, Any]:
        _, total = CELLS[self.chip]
        others = sum(
            stored.data["guaranteed_cells"]
            for other, stored in self.entries.items()
            if other[0] == place[0] and other != place
        )
        if others + data["guaranteed_cells"] > total:
            raise invalid("more cells are guaranteed than the buffer has")
        return data | {"hysteresis_cells": data["hysteresis_cells"] // 8 * 8}

    def _found(self, entity: pb.Entity) -> pb.Entity:
        entry = entity.table_entry
        table = self._table(entry)
        message = self.refuse("READ", table["name"])
        if message is not None:
            raise invalid(message)
        self._check_pipe(table, entry)
        key, pipe = self._key(table, entry), entry.entry_tgt.pipe_id
        place = (table["name"], tuple(sorted(key.items())), pipe)
        if table["name"].endswith("BottleneckIngress.clock"):
            stored = Stored(data=self._clock(table))
        elif {"$COUNTER_INDEX", "$REGISTER_INDEX"} & set(key):
            zeros = {f["singleton"]["name"]: 0 for f in table["data"]}
            known = self.entries.get(place, Stored()).data
            stored = Stored(data=zeros | known)
        elif place not in self.entries:
            raise RefusedError(grpc.StatusCode.NOT_FOUND, "no such entry")
        else:
            stored = self.entries[place]
        if table["name"] == "$PORT":
            stored = Stored(data=stored.data | {"$PORT_UP": self.link_up})
        found = pb.TableEntry(table_id=entry.table_id, entry_tgt=entry.entry_tgt)
        found.key.CopyFrom(entry.key)
        found.data.CopyFrom(self._encoded(table, stored))
        return pb.Entity(table_entry=found)

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
