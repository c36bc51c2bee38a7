"""The data plane's pure core as Python objects: hosts/dpdk/core through cffi.

Structures and functions are those of its headers; hosts/dpdk/test/core_shim.c has what they lack.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import pytest
from cffi import FFI
from nashbed.controlplane.contract import messages
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.records import BIN, DISTURBANCE, PAUSE, POSTCARD, RETURN_QUEUE
from nashbed.controlplane.machine.paths import ROOT
from numpy.typing import NDArray
from tests.model.trains import Segment
from tests.support.replay import BUILD

LIBRARY = BUILD / "hosts" / "dpdk" / "test" / "libnashbed-core.so"
SOURCES = (
    BUILD / "hosts" / "common" / "shared.h",
    ROOT / "hosts" / "common" / "event_heap.h",
    *sorted((ROOT / "hosts" / "dpdk" / "core").glob("*.h")),
    *sorted((ROOT / "hosts" / "dpdk" / "test").glob("*_shim.c")),
)
NEVER = 2**64 - 1
"""EVENT_NEVER: no event is known."""

PARAMETERS = json.loads(Path(messages.__file__).with_name("lane.json").read_text())["parameters"]
"""Of each discipline and policy, as the contract describes them."""
MODES = ("all", "bins")
STRUCT = re.compile(r"^struct \w+ \{\n(?:[ \t][^\n[(]*\n|\n)*\};\n", re.MULTILINE)
NESTED = re.compile(r"^\s+struct \w+ \w", re.MULTILINE)
FUNCTION = re.compile(
    r"^(?:static inline )?((?:const )?(?:struct )?\w+(?: \*)?)\s*(\b\w+)\(([^(){};]*)\)\s*[;{]",
    re.MULTILINE,
)
ARRAY = re.compile(r"\[[^]]*\]")
FFI_OF_CORE = FFI()


def declarations() -> Iterator[str]:
    """Structures without arrays or others in them, and functions, as cffi reads them."""
    yield "typedef int (*bins_emit_t)(void *context, const struct bin_record *record);"
    for source in SOURCES:
        text = re.sub(r"/\*.*?\*/", "", source.read_text(encoding="utf-8"), flags=re.DOTALL)
        text = re.sub(r"\benum \w+", "int", text)
        yield from (each for each in STRUCT.findall(text) if not NESTED.search(each))
        for kind in re.findall(r"^OWNED\((\w+)", text, re.MULTILINE):
            yield f"struct {kind} *shim_{kind}_new(uint64_t number);"
            yield f"void shim_{kind}_delete(struct {kind} *made);"
        for kind, name, arguments in FUNCTION.findall(text):
            yield f"{kind} {name}({ARRAY.sub('[]', arguments)});"


class Library:
    """The core; loaded at the first call, so that a missing build skips tests."""

    @cached_property
    def loaded(self) -> Any:
        if not LIBRARY.exists():
            pytest.skip(f"{LIBRARY} is not built: run `make test-build`")
        FFI_OF_CORE.cdef("\n".join(declarations()))
        return FFI_OF_CORE.dlopen(str(LIBRARY))

    def function(self, name: str) -> Any:
        """The shim's function of a name, or the core's own."""
        shim = f"shim_{name}"
        return getattr(self.loaded, shim if hasattr(self.loaded, shim) else name)

    def call(self, name: str, *arguments: Any) -> Any:
        return self.function(name)(*arguments)


CORE = Library()


def made(kind: str, value: Any = None) -> Any:
    """A C object of the test's."""
    assert CORE.loaded
    return FFI_OF_CORE.new(kind, value)


def array(kind: str, values: NDArray[Any]) -> Any:
    """The memory of an array as C's."""
    return FFI_OF_CORE.from_buffer(kind, values)


def numbered(packet: int, **fields: Any) -> dict[str, Any]:
    """A struct queue_packet; its handle is a number."""
    return {"handle": handle(packet), **fields}


def handle(packet: int) -> Any:
    return FFI_OF_CORE.cast("void *", packet)


def number(handle: Any) -> int:
    return int(FFI_OF_CORE.cast("uintptr_t", handle))


def prng(state: int, n: int) -> list[int]:
    """The first n numbers of the core's generator."""
    held = made("uint64_t *", state)
    return [CORE.call("prng_next", held) for _ in range(n)]


class Owned:
    """An object of the core's, freed with this one; functions of its kind are its methods."""

    kind = ""

    def __init__(self, number: int = 0) -> None:
        new, delete = (CORE.function(f"{self.kind}_{what}") for what in ("new", "delete"))
        self.handle = FFI_OF_CORE.gc(new(number), delete)
        assert self.handle

    def __getattr__(self, name: str) -> Any:
        return partial(CORE.function(f"{self.kind}_{name}"), self.handle)


class EventHeap(Owned):
    """common/event_heap.h."""

    kind = "event_heap"

    def next(self) -> tuple[int, int] | None:
        """(time, source) of the earliest event."""
        at_ns = self.next_ns()
        return None if at_ns == NEVER else (at_ns, self.next_source())


@dataclass(frozen=True)
class Delayed:
    packet: int
    due_ns: int
    path: int
    stale: bool


@dataclass(frozen=True)
class Impaired:
    """struct impairment_settings.

    Attributes:
        changes: (time after t0, delay, loss, retries) each.
        jitter_points: Quantiles of what packets take more.
        jitter_every_ns: How long a draw holds.
        retries: Share of the packets that Wi-Fi sends again; None: the points are the jitter.
        reorder: Share and by how much.
        gilbert: p, r, 1-h, 1-k.
        seeds: Of jitter, reordering and bursts.
    """

    changes: tuple[tuple[int, int, int, int], ...] = ()
    jitter_points: tuple[int, ...] = ()
    jitter_every_ns: int = 0
    retries: int | None = None
    reorder: tuple[int, int] = (0, 0)
    gilbert: tuple[int, int, int, int] | None = None
    seeds: tuple[int, int, int] = (1, 2, 3)

    def told(self) -> JsonObject:
        keys = ("at_ns", "delay_ns", "loss_ppb", "retry_ppb")
        odds = ("p_ppb", "r_ppb", "loss_bad_ppb", "loss_good_ppb")
        jitter, reorder, gilbert = self.seeds
        share, by_ns = self.reorder
        told: JsonObject = {
            "changes": [dict(zip(keys, each, strict=True)) for each in self.changes],
            "reorder": {"share_ppb": share, "by_ns": by_ns, "seed": reorder},
        }
        if self.jitter_points:
            told["jitter"] = {"points_ns": self.jitter_points}
        elif self.retries is not None:
            told["jitter"] = {"is_wifi": True, "retry_ppb": self.retries}
        if "jitter" in told:
            told["jitter"] |= {"every_ns": self.jitter_every_ns, "seed": jitter}
        if self.gilbert is not None:
            told["gilbert"] = dict(zip(odds, self.gilbert, strict=True)) | {"seed": gilbert}
        return told


class DelayLine(Owned):
    """core/delay_line.h."""

    kind = "delay_line"

    def configure(
        self, path: int, delay_ns: int, loss_ppb: int = 0, seed: int = 0, jitter_ns: int = 0
    ) -> int:
        """0 or a negative errno."""
        settings = {
            "delay_ns": delay_ns,
            "jitter_ns": jitter_ns,
            "loss_ppb": loss_ppb,
            "seed": seed,
        }
        told = made("struct delay_settings *", settings)
        return int(CORE.call("delay_line_configure", self.handle, path, told))

    def impair(self, path: int, impaired: Impaired) -> int:
        """0 or a negative errno."""
        told = json.dumps(impaired.told()).encode()
        return int(CORE.call("delay_line_impair", self.handle, path, told))

    def put(self, path: int, packet: int, arrival_ns: int, less_ns: int = 0) -> bool:
        """Whether the packet was taken; else it is lost."""
        put = CORE.function("delay_line_put")
        return put(self.handle, path, handle(packet), arrival_ns, less_ns) == 0

    def get(self, now_ns: int) -> Delayed | None:
        out, stale = made("struct delayed *"), made("bool *")
        if not CORE.call("delay_line_get", self.handle, now_ns, out, stale):
            return None
        return Delayed(number(out.handle), out.due_ns, out.path, stale[0])

    def next_ns(self) -> int:
        return int(self.next_event())


class ReturnQueues(Owned):
    """core/return_queue.h."""

    kind = "return_queues"

    def configure(self, lane: int, config: Lane) -> int:
        """0 or a negative errno."""
        return int(CORE.call("return_queues_configure", self.handle, lane, config.handle))

    def put(self, lane: int, packet: int, size: int, now_ns: int) -> bool:
        """Whether it was taken; else it is dropped."""
        queued = made("struct queue_packet *", numbered(packet, lane=lane, bytes=size))
        return bool(CORE.call("return_queues_put", self.handle, queued, now_ns))

    def get(self, now_ns: int) -> tuple[int, int, int] | None:
        """Packet, departure and lane of the next that has left."""
        out = made("struct queue_packet *")
        if not CORE.call("return_queues_get", self.handle, out, now_ns):
            return None
        return number(out.handle), out.dequeue_ns, out.lane

    def records(self, lane: int, path: Path) -> NDArray[Any]:
        """Records of RETURN_QUEUE, which are taken out."""
        assert self.write(lane, str(path).encode()) == 0
        return np.fromfile(path, RETURN_QUEUE)


@dataclass(frozen=True)
class Cause:
    """What caused an acknowledgement; no response where the receiver may have waited."""

    late_ns: int
    response_ns: int | None


class RoundTrips(Owned):
    """core/round_trips.h."""

    kind = "round_trips"

    def sent(self, connection: int, end: int, size: int, is_first: bool = False) -> None:
        """Data came from its sender; the first is a SYN."""
        data = made("struct round_trip_data *", (connection, end % 2**32, size, is_first))
        CORE.call("round_trips_sent", self.handle, data)

    def departed(self, connection: int, end: int, size: int, scheduled: int, departed: int) -> None:
        """Data left, scheduled at one time and really at another."""
        data = made("struct round_trip_data *", (connection, end % 2**32, size, False))
        CORE.call("round_trips_departed", self.handle, data, scheduled, departed)

    def cause(
        self,
        connection: int,
        number: int,
        arrival: int,
        block: int | None = None,
        waits: bool = False,
    ) -> Cause:
        """What caused an acknowledgement.

        Args:
            block: The end of its first SACK block.
            waits: Whether the receiver reads at intervals.
        """
        edge = (block or 0) % 2**32
        fields = (connection, number % 2**32, block is not None, edge, waits)
        ack = made("struct round_trip_ack *", fields)
        found = CORE.call("round_trips_cause", self.handle, ack, arrival)
        return Cause(found.late_ns, found.response_ns if found.has_response else None)


class Disturbance(Owned):
    """core/disturbance.h."""

    kind = "disturbance"

    def records(self, folder: Path) -> tuple[NDArray[Any], NDArray[Any]]:
        """All bins and all pauses, by way of files."""
        bins, pauses = folder / "disturbances.bin", folder / "pauses.bin"
        self.finish()
        assert self.write(str(bins).encode(), str(pauses).encode()) == 0
        return np.fromfile(bins, DISTURBANCE), np.fromfile(pauses, PAUSE)


@dataclass(frozen=True)
class Queued:
    """A packet with its metadata; `reason` is one of a drop."""

    packet: int
    lane: int
    queue_bytes: int
    enqueue_ns: int
    dequeue_ns: int
    mark: bool
    dropped: bool
    reason: int
    queue: int = 0
    own_queue_bytes: int = 0

    @classmethod
    def exported(cls, packet: Any) -> Queued:
        return cls(
            number(packet.handle),
            packet.lane,
            packet.queue_bytes,
            packet.enqueue_ns,
            packet.dequeue_ns,
            packet.mark,
            packet.dropped,
            packet.reason,
            packet.queue,
            packet.own_queue_bytes,
        )


@dataclass(frozen=True)
class QueueStats:
    """A lane's."""

    queue_bytes: int
    queue_packets: int
    peak_bytes: int
    dropped_packets: int


@dataclass(frozen=True)
class Queue:
    """One of several queues of a lane.

    Attributes:
        weight: Its share of the line, with deficit round robin.
        limit: Its own limit in bytes; 0: none.
        discipline: Its discipline; None: drop-tail.
        params: The discipline's.
        seed: The discipline's; 0: one of its own.
    """

    weight: int = 1
    limit: int = 0
    discipline: str | None = None
    params: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0

    def told(self) -> JsonObject:
        told: JsonObject = {"weight": self.weight, "limit_bytes": self.limit}
        if self.discipline is not None:
            told["discipline"] = named(self.discipline, self.seed, self.params)
        return told


def parameters(name: str) -> list[JsonObject]:
    """Those of a discipline or a policy, with those of the one that it is made of."""
    own = PARAMETERS.get(name, {"holds": "", "fields": []})
    return (parameters(own["holds"]) if own["holds"] else []) + own["fields"]


def named(name: str, seed: int, params: Mapping[str, Any]) -> JsonObject:
    """A discipline or a policy as a data plane is told it; flags may be 0 and 1."""
    told = {"name": name, "seed": seed, **params}
    for each in parameters(name):
        if (key := each["name"]) in params:
            value = told.pop(key)
            unit = {"time": "_ns", "bytes": "_bytes"}.get(each["kind"], "")
            told[key + unit] = bool(value) if each["kind"] == "flag" and value in (0, 1) else value
    return told


class Lane:
    """A lane's configuration: struct lane_config.

    Raises:
        ValueError: It cannot be; so do the methods, which add to it.
    """

    def __init__(
        self,
        rate_bps: int,
        limit: int,
        unit: str = "bytes",
        cell_bytes: int = 0,
        counts: str = "system",
        overhead: int = 0,
    ) -> None:
        self._told: JsonObject = {}
        limited = {"unit": unit, "value": limit, "cell_bytes": cell_bytes}
        self._tell(rate_bps=rate_bps, limit=limited, limit_counts=counts, overhead_bytes=overhead)

    def _tell(self, **more: Any) -> Lane:
        told, problem = {**self._told, **more}, made("char[1024]")
        handle = CORE.call("config_new", json.dumps(told).encode(), problem)
        if not handle:
            raise ValueError(FFI_OF_CORE.string(problem).decode())
        self.handle, self._told = FFI_OF_CORE.gc(handle, CORE.function("config_delete")), told
        return self

    def discipline(self, name: str, seed: int = 0, **params: float) -> Lane:
        """Decide by a discipline; without this it is drop-tail."""
        return self._tell(discipline=named(name, seed, params))

    def states(self, states: Sequence[tuple[int, int, int]], period_ns: int = 0) -> Lane:
        """Time, rate and limit from then on."""
        keys = ("at_ns", "rate_bps", "limit")
        listed = [dict(zip(keys, each, strict=True)) for each in states]
        return self._tell(schedule={"states": listed, "period_ns": period_ns})

    def opportunities(self, times_ns: Sequence[int], bits: int, period_ns: int = 0) -> Lane:
        """So many bits at each of these times."""
        with NamedTemporaryFile() as file:
            np.array(times_ns, "<u8").tofile(file.name)
            told = {"opportunities": file.name, "opportunity_bits": bits, "period_ns": period_ns}
            return self._tell(schedule=told)

    def policer(self, rate_bps: int, burst_bytes: int) -> Lane:
        """A token bucket in front of the queue."""
        return self._tell(policer={"rate_bps": rate_bps, "burst_bytes": burst_bytes})

    def shaper(self, burst_bytes: int, peak_bps: int = 0, mtu_bytes: int = 0) -> Lane:
        """A token bucket in place of the line; a peak rate of 0: there is none."""
        told = {"burst_bytes": burst_bytes, "peak_bps": peak_bps, "mtu_bytes": mtu_bytes}
        return self._tell(shaper={key: value for key, value in told.items() if value})

    def queues(
        self,
        queues: Sequence[Queue],
        scheduler: str = "drr",
        memory: str = "complete_sharing",
        **params: Any,
    ) -> Lane:
        """Several queues.

        Args:
            queues: In the order of priority.
            scheduler: Who is served next.
            memory: The policy of the memory, which is the lane's limit.
            params: The policy's.
        """
        listed = [queue.told() for queue in queues]
        shared = named(memory, 1, params)
        return self._tell(queues={"queues": listed, "scheduler": scheduler, "memory": shared})

    def values(self) -> JsonObject:
        """The discipline's parameters, with what was computed for those that were left out."""
        with NamedTemporaryFile() as file:
            assert CORE.call("config_write", self.handle, file.name.encode()) == 0
            return dict(json.load(file)["discipline"])


class TrafficManager(Owned):
    """core/traffic_manager.h; lanes are drop-tail unless they are set up otherwise."""

    kind = "traffic_manager"

    def configure(
        self,
        lane: int,
        rate_bps: int,
        limit: int,
        unit: str = "bytes",
        cell_bytes: int = 0,
        counts: str = "system",
    ) -> int:
        """A lane with drop-tail: 0 or a negative errno."""
        return self.set_up(lane, Lane(rate_bps, limit, unit, cell_bytes, counts))

    def set_up(self, lane: int, config: Lane) -> int:
        """0 or a negative errno."""
        return int(CORE.call("traffic_manager_configure", self.handle, lane, config.handle))

    def enqueue(
        self,
        lane: int,
        packet: int,
        size: int,
        now_ns: int,
        flow: int = 0,
        ecn: int = 0,
        queue: int = 0,
    ) -> tuple[bool, Queued]:
        """Whether it was taken, and its metadata."""
        taken, (queued,) = self.enqueue_train(lane, packet, [size], now_ns, flow, ecn, queue)
        return taken, queued

    def enqueue_train(
        self,
        lane: int,
        first_packet: int,
        sizes: Sequence[int],
        now_ns: int,
        flow: int = 0,
        ecn: int = 0,
        queue: int = 0,
    ) -> tuple[bool, list[Queued]]:
        """Packets as one: whether they were taken, and their metadata.

        Args:
            first_packet: Number of the first; the others follow.
        """
        fields = {"lane": lane, "flow": flow, "ecn": ecn, "queue": queue}
        given = [numbered(first_packet + i, bytes=n, **fields) for i, n in enumerate(sizes)]
        packets = made("struct queue_packet[]", given)
        enqueue = CORE.function("traffic_manager_enqueue")
        taken = enqueue(self.handle, packets, len(sizes), now_ns)
        return taken, [Queued.exported(each) for each in packets]

    def dequeue(self, now_ns: int) -> Queued | None:
        """The earliest that has left, or was dropped out of its queue."""
        out = made("struct queue_packet *")
        left = CORE.call("traffic_manager_dequeue", self.handle, out, now_ns)
        return Queued.exported(out) if left else None

    def drain(self, now_ns: int) -> list[Queued]:
        """All that has left, or was dropped out of its queue."""
        return list(iter(lambda: self.dequeue(now_ns), None))

    def describe(self, lane: int) -> str:
        text = made("char[2048]")
        CORE.call("traffic_manager_describe", self.handle, lane, text, len(text))
        return str(FFI_OF_CORE.string(text).decode())

    def discard(self, lane: int) -> bool:
        """Take one packet out of a lane."""
        packet = made("struct queue_packet *")
        return bool(CORE.call("traffic_manager_discard", self.handle, lane, packet))

    def next_ns(self) -> int:
        return int(self.next_event())

    def stats(self, lane: int) -> QueueStats:
        """A lane's counts."""
        out = made("struct lane_stats *")
        CORE.call("traffic_manager_stats", self.handle, lane, out)
        return QueueStats(out.queue_bytes, out.queue_packets, out.peak_bytes, out.dropped_packets)


class Train(Owned):
    """core/train.h."""

    kind = "train"

    def add(self, lane: int, size: int, segment: Segment, now_ns: int) -> bool:
        """Add a packet; whether it continues the train, else another begins with it."""
        fields = (segment.flow, segment.seq, segment.payload, segment.flags)
        return bool(CORE.call("train_add", self.handle, lane, size, *fields, now_ns))


class Lateness(Owned):
    """core/lateness.h."""

    kind = "lateness"


class Bins:
    """core/bins.h; times in ns."""

    def __init__(
        self, bin_ns: int, start_ns: int, first_flow: int, n_flows: int, overtaken_ns: int
    ) -> None:
        create, destroy = (CORE.function(f"bins_{what}") for what in ("create", "destroy"))
        made_bins = create(bin_ns, start_ns, overtaken_ns, first_flow, n_flows)
        self._bins = FFI_OF_CORE.gc(made_bins, destroy)
        self._emitted = b""
        self._emit = FFI_OF_CORE.callback("bins_emit_t", self._keep)

    def _keep(self, _context: Any, record: Any) -> int:
        self._emitted += bytes(FFI_OF_CORE.buffer(record))
        return 0

    def add(self, card: NDArray[Any]) -> int:
        """One postcard: 0 or a negative errno."""
        decoded = made("struct postcard *")
        CORE.call("postcard_decode", card.tobytes(), decoded)
        return int(CORE.call("bins_add", self._bins, decoded, self._emit, FFI_OF_CORE.NULL))

    def finish(self) -> int:
        return int(CORE.call("bins_finish", self._bins, self._emit, FFI_OF_CORE.NULL))

    def records(self) -> NDArray[Any]:
        """What was emitted up to now, shape (n,), dtype records.BIN."""
        return np.frombuffer(self._emitted, BIN)


@dataclass(frozen=True)
class CollectorStats:
    """Counts of a closed collector."""

    seen: int
    written: int
    gaps: int
    error: int


@dataclass(frozen=True)
class CollectorConfig:
    """As in core/collector.h."""

    mode: str = "all"
    bin_ns: int = 0
    start_ns: int = 0
    first_flow: int = 0
    n_flows: int = 0


def collect(
    path: Path, config: CollectorConfig, cards: Sequence[NDArray[Any]] | NDArray[Any]
) -> CollectorStats:
    """Open, add all postcards, close.

    Raises:
        OSError: The file cannot be opened.
    """
    fields = vars(config) | {"mode": MODES.index(config.mode)}
    handle = CORE.call(
        "collector_open", os.fsencode(path), made("struct collector_config *", fields)
    )
    if not handle:
        raise OSError(FFI_OF_CORE.errno, "collector_open", str(path))
    for card in np.asarray(cards, POSTCARD):
        CORE.call("collector_add", handle, card.tobytes())
    stats = CORE.call("collector_close", handle)
    return CollectorStats(stats.seen, stats.written, stats.gaps, stats.error)
