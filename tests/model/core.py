"""The data plane's pure core as Python objects: hosts/dpdk/test/core_shim.c through ctypes.

The shim takes and gives plain numbers, so no struct's layout is repeated here.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping, Sequence
from ctypes import c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract import messages
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.records import BIN, DISTURBANCE, PAUSE, POSTCARD, RETURN_QUEUE
from numpy.typing import NDArray
from tests.model.trains import Segment
from tests.support.replay import BUILD

LIBRARY = BUILD / "hosts" / "dpdk" / "test" / "libnashbed-core.so"
NEVER = 2**64 - 1
"""EVENT_NEVER: no event is known."""

PARAMETERS = json.loads(Path(messages.__file__).with_name("lane.json").read_text())["parameters"]
"""Of each discipline and policy, as the contract describes them."""
MODES = ("all", "bins")

SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    **{
        f"{kind}_{what}": signature
        for kind in (
            *("event_heap", "delay_line", "traffic_manager", "returns", "train", "lateness"),
            *("round_trips", "disturbance"),
        )
        for what, signature in (("new", (c_void_p, [c_uint64])), ("delete", (None, [c_void_p])))
    },
    "prng_next": (c_uint64, [c_void_p]),
    "event_heap_set": (None, [c_void_p, c_uint32, c_uint64]),
    "event_heap_next_ns": (c_uint64, [c_void_p]),
    "event_heap_next_source": (c_uint32, [c_void_p]),
    "return_queues_configure": (c_int, [c_void_p, c_uint32, c_void_p]),
    "returns_put": (c_int, [c_void_p, c_uint32, c_uint64, c_uint32, c_uint64]),
    "returns_get": (c_int, [c_void_p, c_uint64, c_void_p]),
    "returns_write": (c_int, [c_void_p, c_uint32, c_char_p]),
    "delay_line_configure": (c_int, [c_void_p, c_uint32, c_uint64, c_uint64, c_uint32, c_uint64]),
    "delay_line_impair": (c_int, [c_void_p, c_uint32, c_char_p]),
    "delay_line_begin": (None, [c_void_p, c_uint32, c_uint64]),
    "delay_line_clear": (None, [c_void_p, c_uint32]),
    "delay_line_put": (c_int, [c_void_p, c_uint32, c_uint64, c_uint64, c_uint64]),
    "delay_line_get": (c_int, [c_void_p, c_uint64, c_void_p]),
    "delay_line_next_ns": (c_uint64, [c_void_p]),
    "delay_line_lost": (c_uint64, [c_void_p, c_uint32]),
    "delay_line_waiting": (c_uint64, [c_void_p, c_uint32]),
    "config_new": (c_void_p, [c_char_p, c_char_p]),
    "config_delete": (None, [c_void_p]),
    "config_write": (c_int, [c_void_p, c_char_p]),
    "play": (c_int, [c_void_p, c_void_p, c_uint32, c_void_p]),
    "traffic_manager_begin": (None, [c_void_p, c_uint32, c_uint64]),
    "queues_seed": (c_uint64, [c_uint64, c_uint32]),
    "traffic_manager_configure": (c_int, [c_void_p, c_uint32, c_void_p]),
    "traffic_manager_enqueue": (
        c_int,
        [c_void_p, c_uint32, c_uint64, c_void_p, *[c_uint32] * 4, c_uint64, c_void_p],
    ),
    "traffic_manager_describe": (c_int, [c_void_p, c_uint32, c_char_p, c_size_t]),
    "traffic_manager_dequeue": (c_int, [c_void_p, c_uint64, c_void_p]),
    "traffic_manager_discard": (c_int, [c_void_p, c_uint32]),
    "traffic_manager_next_ns": (c_uint64, [c_void_p]),
    "traffic_manager_stats": (None, [c_void_p, c_uint32, c_void_p]),
    "train_add": (c_int, [c_void_p, *[c_uint32] * 6, c_uint64]),
    "lateness_add": (None, [c_void_p, c_uint64]),
    "lateness_percentile": (c_uint64, [c_void_p, c_uint32]),
    "round_trips_sent": (None, [c_void_p, *[c_uint32] * 4]),
    "round_trips_departed": (None, [c_void_p, *[c_uint32] * 3, c_uint64, c_uint64]),
    "round_trips_cause": (None, [c_void_p, *[c_uint32] * 5, c_uint64, c_void_p]),
    **{
        f"disturbance_{what}": (None, [c_void_p, c_uint64, c_uint64])
        for what in ("departed", "returned", "answered", "paused")
    },
    "disturbance_finish": (None, [c_void_p]),
    "disturbance_write": (c_int, [c_void_p, c_char_p, c_char_p]),
    "bins_new": (c_void_p, [c_uint64, c_uint64, c_uint32, c_uint32, c_uint64]),
    "bins_delete": (None, [c_void_p]),
    "bins_add": (c_int, [c_void_p, c_char_p]),
    "bins_finish": (c_int, [c_void_p]),
    "bins_records": (c_void_p, [c_void_p, c_void_p]),
    "collector_open": (
        c_void_p,
        [c_char_p, c_uint32, c_uint64, c_uint64, c_uint32, c_uint32],
    ),
    "collector_add": (None, [c_void_p, c_char_p, c_size_t]),
    "collector_close": (None, [c_void_p, c_void_p]),
}


class Library:
    """The loaded shim; loaded at the first call, so that a missing build skips tests."""

    def __init__(self) -> None:
        self._loaded: ctypes.CDLL | None = None

    def call(self, name: str, *arguments: Any) -> Any:
        """The shim's function of a name, or the core's own."""
        if self._loaded is None:
            self._loaded = load()
        return function_of(self._loaded, name)(*arguments)


def function_of(loaded: ctypes.CDLL, name: str) -> Any:
    """shim_<name>, or <name> where the core's own takes plain numbers."""
    shim = f"shim_{name}"
    return getattr(loaded, shim if hasattr(loaded, shim) else name)


def load() -> ctypes.CDLL:
    """The shim with every function's types; skips where it is not built."""
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY} is not built: run `make test-build`")
    loaded = ctypes.CDLL(str(LIBRARY), use_errno=True)
    for name, (result, arguments) in SIGNATURES.items():
        function = function_of(loaded, name)
        function.restype = result
        function.argtypes = arguments
    return loaded


CORE = Library()


def prng(state: int, n: int) -> list[int]:
    """The first n numbers of the core's generator."""
    held = c_uint64(state)
    return [CORE.call("prng_next", ctypes.byref(held)) for _ in range(n)]


class Owned:
    """An object of the core's, freed with this one."""

    kind = ""

    def __init__(self, *arguments: int) -> None:
        self.handle = CORE.call(f"{self.kind}_new", *(arguments or (0,)))
        assert self.handle

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            CORE.call(f"{self.kind}_delete", self.handle)

    def call(self, name: str, *arguments: Any) -> Any:
        """A function of this kind on this object."""
        return CORE.call(f"{self.kind}_{name}", self.handle, *arguments)


class EventHeap(Owned):
    """common/event_heap.h."""

    kind = "event_heap"

    def set(self, source: int, at_ns: int) -> None:
        """Set a source's next event; NEVER takes it out."""
        self.call("set", source, at_ns)

    def next(self) -> tuple[int, int] | None:
        """(time, source) of the earliest event."""
        at_ns = self.call("next_ns")
        return None if at_ns == NEVER else (at_ns, self.call("next_source"))


@dataclass(frozen=True)
class Delayed:
    """What came out of the delay line."""

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
        """As a data plane is told it."""
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
        return int(self.call("configure", path, delay_ns, jitter_ns, loss_ppb, seed))

    def impair(self, path: int, impaired: Impaired) -> int:
        """0 or a negative errno."""
        return int(self.call("impair", path, json.dumps(impaired.told()).encode()))

    def begin(self, path: int, t0_ns: int) -> None:
        """A path's changes count from here on."""
        self.call("begin", path, t0_ns)

    def clear(self, path: int) -> None:
        """Forget a path."""
        self.call("clear", path)

    def put(self, path: int, packet: int, arrival_ns: int, less_ns: int = 0) -> bool:
        """Whether the packet was taken; else it is lost."""
        return bool(self.call("put", path, packet, arrival_ns, less_ns))

    def get(self, now_ns: int) -> Delayed | None:
        """The next packet due."""
        out = (c_uint64 * 3)()
        got = self.call("get", now_ns, out)
        return Delayed(out[0], out[1], out[2], got == 2) if got else None

    def next_ns(self) -> int:
        """When the next one is due."""
        return int(self.call("next_ns"))

    def lost(self, path: int) -> int:
        """Packets lost at random."""
        return int(self.call("lost", path))

    def waiting(self, path: int) -> int:
        """Packets on their way."""
        return int(self.call("waiting", path))


class ReturnQueues(Owned):
    """core/return_queue.h."""

    kind = "returns"

    def configure(self, lane: int, config: Lane) -> int:
        """0 or a negative errno."""
        return int(CORE.call("return_queues_configure", self.handle, lane, config.handle))

    def put(self, lane: int, packet: int, size: int, now_ns: int) -> bool:
        """Whether it was taken; else it is dropped."""
        return bool(self.call("put", lane, packet, size, now_ns))

    def get(self, now_ns: int) -> tuple[int, int, int] | None:
        """Packet, departure and lane of the next that has left."""
        out = (c_uint64 * 3)()
        return (out[0], out[1], out[2]) if self.call("get", now_ns, out) else None

    def records(self, lane: int, path: Path) -> NDArray[Any]:
        """Records of RETURN_QUEUE, which are taken out."""
        assert self.call("write", lane, str(path).encode()) == 0
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
        self.call("sent", connection, end % 2**32, size, is_first)

    def departed(self, connection: int, end: int, size: int, scheduled: int, departed: int) -> None:
        """Data left, scheduled at one time and really at another."""
        self.call("departed", connection, end % 2**32, size, scheduled, departed)

    def cause(
        self,
        connection: int,
        number: int,
        arrival: int,
        block: int | None = None,
        waits: bool = False,
    ) -> Cause:
        """What caused an acknowledgement, with the end of its first SACK block.

        Args:
            block: The end of its first SACK block.
            waits: Whether the receiver reads at intervals.
        """
        out = (c_uint64 * 3)()
        edge = (block or 0) % 2**32
        number %= 2**32
        self.call("cause", connection, number, block is not None, edge, waits, arrival, out)
        return Cause(out[0], out[2] if out[1] else None)


class Disturbance(Owned):
    """core/disturbance.h."""

    kind = "disturbance"

    def departed(self, now_ns: int, late_ns: int) -> None:
        """A frame left towards the receivers."""
        self.call("departed", now_ns, late_ns)

    def returned(self, now_ns: int, error_ns: int) -> None:
        """A frame left towards the senders."""
        self.call("returned", now_ns, error_ns)

    def answered(self, now_ns: int, response_ns: int) -> None:
        """An acknowledgement arrived."""
        self.call("answered", now_ns, response_ns)

    def paused(self, from_ns: int, length_ns: int) -> None:
        """The loop did not run."""
        self.call("paused", from_ns, length_ns)

    def records(self, folder: Path) -> tuple[NDArray[Any], NDArray[Any]]:
        """All bins and all pauses, by way of files."""
        bins, pauses = folder / "disturbances.bin", folder / "pauses.bin"
        self.call("finish")
        assert self.call("write", str(bins).encode(), str(pauses).encode()) == 0
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
    def exported(cls, fields: Sequence[int]) -> Queued:
        """From what the shim gives."""
        *numbers, mark, dropped, reason, queue, own = fields
        return cls(*numbers, bool(mark), bool(dropped), reason, queue, own)


EXPORTED = c_uint64 * 10


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
        """As a data plane is told it."""
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
        self.handle = None
        self._told: JsonObject = {}
        limited = {"unit": unit, "value": limit, "cell_bytes": cell_bytes}
        self._tell(rate_bps=rate_bps, limit=limited, limit_counts=counts, overhead_bytes=overhead)

    def __del__(self) -> None:
        if self.handle:
            CORE.call("config_delete", self.handle)

    def _tell(self, **more: Any) -> Lane:
        told, problem = {**self._told, **more}, ctypes.create_string_buffer(1024)
        handle = CORE.call("config_new", json.dumps(told).encode(), problem)
        if not handle:
            raise ValueError(problem.value.decode())
        self.__del__()
        self.handle, self._told = handle, told
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
        return int(self.call("configure", lane, config.handle))

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
        n = len(sizes)
        out = (EXPORTED * n)()
        given = ((c_uint32 * n)(*sizes), n, flow, ecn, queue, now_ns, out)
        taken = self.call("enqueue", lane, first_packet, *given)
        return bool(taken), [Queued.exported(each) for each in out]

    def dequeue(self, now_ns: int) -> Queued | None:
        """The earliest that has left, or was dropped out of its queue."""
        out = EXPORTED()
        return Queued.exported(out) if self.call("dequeue", now_ns, out) else None

    def describe(self, lane: int) -> str:
        """A lane's configuration in words."""
        text = ctypes.create_string_buffer(2048)
        self.call("describe", lane, text, len(text))
        return text.value.decode()

    def discard(self, lane: int) -> bool:
        """Take one packet out of a lane."""
        return bool(self.call("discard", lane))

    def begin(self, lane: int, t0_ns: int) -> None:
        """A lane's schedule begins."""
        self.call("begin", lane, t0_ns)

    def next_ns(self) -> int:
        """The next departure."""
        return int(self.call("next_ns"))

    def stats(self, lane: int) -> QueueStats:
        """A lane's counts."""
        out = (c_uint64 * 4)()
        self.call("stats", lane, out)
        return QueueStats(*out)


class Train(Owned):
    """core/train.h."""

    kind = "train"

    def add(self, lane: int, size: int, segment: Segment, now_ns: int) -> bool:
        """Add a packet; whether it continues the train, else another begins with it."""
        fields = (segment.flow, segment.seq, segment.payload, segment.flags)
        return bool(self.call("add", lane, size, *fields, now_ns))


class Lateness(Owned):
    """core/lateness.h."""

    kind = "lateness"

    def add(self, ns: int) -> None:
        """One frame."""
        self.call("add", ns)

    def percentile(self, per_mille: int) -> int:
        """Nanoseconds."""
        return int(self.call("percentile", per_mille))


class Bins(Owned):
    """core/bins.h; Bins(bin_ns, start_ns, first_flow, n_flows, overtaken_ns)."""

    kind = "bins"

    def add(self, card: NDArray[Any]) -> int:
        """One postcard: 0 or a negative errno."""
        return int(self.call("add", card.tobytes()))

    def finish(self) -> int:
        """After the last postcard."""
        return int(self.call("finish"))

    def records(self) -> NDArray[Any]:
        """What was emitted up to now, shape (n,), dtype records.BIN."""
        n = c_size_t()
        address = self.call("records", ctypes.byref(n))
        data = ctypes.string_at(address, n.value * BIN.itemsize) if n.value else b""
        return np.frombuffer(data, BIN)


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
    handle = CORE.call(
        "collector_open",
        os.fsencode(path),
        MODES.index(config.mode),
        config.bin_ns,
        config.start_ns,
        config.first_flow,
        config.n_flows,
    )
    if not handle:
        raise OSError(ctypes.get_errno(), "collector_open", str(path))
    data = np.asarray(cards, POSTCARD).tobytes()
    CORE.call("collector_add", handle, data, len(data) // POSTCARD.itemsize)
    out = (c_uint64 * 4)()
    CORE.call("collector_close", handle, out)
    return CollectorStats(*out)
