"""BfRt over gRPC: a subscribed and bound client by names, and changes that are taken back."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import grpc
from grpc.experimental import ChannelOptions

from ...contract.errors import TargetError
from ...contract.model import JsonObject
from . import bfruntime_pb2 as pb
from .info import Change, Entry, Info, Query, Table, Value

TIMEOUT_S = 10.0
BATCH = 512
_SERVICE = "/bfrt_proto.BfRuntime/"
_VERBS = {
    "add": pb.Update.INSERT,
    "modify": pb.Update.MODIFY,
    "set": pb.Update.INSERT_OR_MODIFY,
    "delete": pb.Update.DELETE,
    "clear": pb.Update.DELETE,
}
# A bf-rt.json of a large program is longer than gRPC's default of 4 MiB.
_OPTIONS = (
    ("grpc.max_receive_message_length", 64 * 2**20),
    # Answers are taken in the thread that asks. With grpcio's own thread for a channel's calls a
    # read now and then waited forever, deadline or not, when the switch went away at that very
    # moment (grpcio 1.85: that thread was gone).
    (ChannelOptions.SingleThreadedUnaryStream, 1),
)
NOT_FOUND = grpc.StatusCode.NOT_FOUND.value[0]


class MissingEntryError(TargetError):
    """An entry that was asked for is not there."""


class BfRtClient:
    """A client of a BfRt server. Safe between threads.

    Args:
        address: The server, host:port.
        device: Number of the device at that server.
        program: Name under which the P4 program is loaded.
        client_id: Number of this client; two clients of one number exclude each other.
        timeout_s: How long a request may take.
    """

    def __init__(
        self,
        address: str,
        device: int,
        program: str,
        client_id: int = 0x6E62,
        timeout_s: float | None = None,
    ) -> None:
        self._address = address
        self._device = device
        self._program = program
        self._client_id = client_id
        self._timeout_s = TIMEOUT_S if timeout_s is None else timeout_s
        self._lock = threading.Lock()
        self._requests: queue.SimpleQueue[pb.StreamMessageRequest | None] = queue.SimpleQueue()
        self._channel = grpc.insecure_channel(address, options=_OPTIONS)
        self._stream: Any = None
        self.info = Info()

    def open(self) -> None:
        """Connect, subscribe, bind to the program and learn all tables.

        Raises:
            TargetError: Nobody answers, it refuses, or the program is not loaded.
        """
        self._reach()
        self._subscribe()
        self._learn()
        self._bind()

    def write(self, changes: Sequence[Change]) -> None:
        """Make changes, in their order.

        Raises:
            TargetError: The switch refuses one; the line names it.
        """
        for first in range(0, len(changes), BATCH):
            batch = changes[first : first + BATCH]
            updates = [self._update(change) for change in batch]
            request = pb.WriteRequest(
                target=self._target(batch[0].pipe),
                client_id=self._client_id,
                updates=updates,
                p4_name=self._program,
            )
            with self._lock:
                self._unary("Write", request, pb.WriteResponse, batch)

    def read(self, queries: Sequence[Query]) -> list[JsonObject]:
        """Read entries; one dictionary of data fields each, in their order.

        Raises:
            MissingEntryError: One is not there.
            TargetError: The switch refuses, or answers something else than was asked.
        """
        rows: list[JsonObject] = []
        for first in range(0, len(queries), BATCH):
            batch = queries[first : first + BATCH]
            rows += [entry.data for entry in self._read_batch(batch)]
        return rows

    def entry(self, query: Query) -> Entry:
        """Read one entry with its action; see `read`."""
        return self._read_batch([query])[0]

    def close(self) -> None:
        """End the session; the switch keeps its settings."""
        self._requests.put(None)
        if self._stream is not None:
            self._stream.cancel()
            self._stream = None
        self._channel.close()

    def _read_batch(self, batch: Sequence[Query]) -> list[Entry]:
        tables = [self.info.table(query.table) for query in batch]
        entities = [self._asked(query, t) for query, t in zip(batch, tables, strict=True)]
        request = pb.ReadRequest(
            target=self._target(batch[0].pipe),
            client_id=self._client_id,
            entities=entities,
            p4_name=self._program,
        )
        with self._lock:
            answered = self._streamed(request)
        if len(answered) != len(batch):
            raise self._error(f"read {batch[0].table}: {len(answered)} answers to {len(batch)}")
        return [
            self._of(entry, table, query)
            for entry, table, query in zip(answered, tables, batch, strict=True)
        ]

    def _of(self, entry: pb.TableEntry, table: Table, query: Query) -> Entry:
        if entry.table_id != table.id:
            raise self._error(f"read {query.table}: the answer is of table {entry.table_id}")
        return table.decoded(entry.data)

    def _reach(self) -> None:
        try:
            grpc.channel_ready_future(self._channel).result(timeout=self._timeout_s)
        except grpc.FutureTimeoutError as error:
            raise self._error(
                f"no BfRt server answers within {self._timeout_s:g} s; is bf_switchd running, and "
                "switch.grpc right?"
            ) from error

    def _subscribe(self) -> None:
        call = self._channel.stream_stream(
            f"{_SERVICE}StreamChannel",
            request_serializer=pb.StreamMessageRequest.SerializeToString,
            response_deserializer=pb.StreamMessageResponse.FromString,
        )
        self._requests.put(
            pb.StreamMessageRequest(
                client_id=self._client_id, subscribe=pb.Subscribe(device_id=self._device)
            )
        )
        self._stream = call(iter(self._requests.get, None))
        answers: queue.SimpleQueue[pb.StreamMessageResponse | Exception] = queue.SimpleQueue()
        threading.Thread(target=_follow, args=(self._stream, answers), daemon=True).start()
        try:
            answer = answers.get(timeout=self._timeout_s)
        except queue.Empty as error:
            raise self._error("subscribing: no answer") from error
        if isinstance(answer, grpc.RpcError):
            raise self._error(f"subscribing: {_reason(answer)}") from answer
        if isinstance(answer, Exception) or answer.subscribe.status.code:
            words = "" if isinstance(answer, Exception) else answer.subscribe.status.message
            raise self._error(f"subscribing: refused ({words or 'no reason given'})")

    def _learn(self) -> None:
        request = pb.GetForwardingPipelineConfigRequest(
            device_id=self._device, client_id=self._client_id
        )
        answer = self._unary(
            "GetForwardingPipelineConfig", request, pb.GetForwardingPipelineConfigResponse
        )
        programs = {config.p4_name: config.bfruntime_info for config in answer.config}
        if self._program not in programs:
            raise self._error(
                f"P4 program {self._program!r} is not loaded (loaded: "
                f"{', '.join(programs) or 'none'}); see p4src/README.md"
            )
        self.info = Info(programs[self._program], answer.non_p4_config.bfruntime_info)

    def _bind(self) -> None:
        request = pb.SetForwardingPipelineConfigRequest(
            device_id=self._device,
            client_id=self._client_id,
            action=pb.SetForwardingPipelineConfigRequest.BIND,
            config=[pb.ForwardingPipelineConfig(p4_name=self._program)],
        )
        self._unary("SetForwardingPipelineConfig", request, pb.SetForwardingPipelineConfigResponse)

    def _update(self, change: Change) -> pb.Update:
        table = self.info.table(change.table)
        if change.verb == "clear":  # a deletion that names no entry
            entry = pb.TableEntry(table_id=table.id, entry_tgt=self._target(change.pipe))
        else:
            entry = self._entry(table, change.key, change.pipe)
        if change.verb not in ("delete", "clear"):
            entry.data.CopyFrom(table.entry_data(change.data, change.action))
        return pb.Update(type=_VERBS[change.verb], entity=pb.Entity(table_entry=entry))

    def _asked(self, query: Query, table: Table) -> pb.Entity:
        entry = self._entry(table, query.key, query.pipe)
        entry.table_flags.from_hw = query.from_hardware
        return pb.Entity(table_entry=entry)

    def _entry(self, table: Table, key: dict[str, Value], pipe: int) -> pb.TableEntry:
        """An entry; the only one of a table without a key is its default entry."""
        entry = pb.TableEntry(table_id=table.id, entry_tgt=self._target(pipe))
        if table.keys:
            entry.key.CopyFrom(table.key(key))
        else:
            entry.is_default_entry = True
        return entry

    def _target(self, pipe: int) -> pb.TargetDevice:
        return pb.TargetDevice(device_id=self._device, pipe_id=pipe)

    def _unary(self, name: str, request: Any, answer: Any, batch: Sequence[Change] = ()) -> Any:
        call = self._channel.unary_unary(
            _SERVICE + name,
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        try:
            return call(request, timeout=self._timeout_s)
        except grpc.RpcError as error:
            what = _refused_change(error, batch)
            raise self._error(f"{what or name}: {_reason(error)}") from error

    def _streamed(self, request: pb.ReadRequest) -> list[pb.TableEntry]:
        call = self._channel.unary_stream(
            f"{_SERVICE}Read",
            request_serializer=pb.ReadRequest.SerializeToString,
            response_deserializer=pb.ReadResponse.FromString,
        )
        try:
            answers = list(call(request, timeout=self._timeout_s))
        except grpc.RpcError as error:
            kind = MissingEntryError if _code(error) == NOT_FOUND else TargetError
            raise kind(self._line(f"Read: {_reason(error)}")) from error
        return [entity.table_entry for answer in answers for entity in answer.entities]

    def _error(self, problem: str) -> TargetError:
        return TargetError(self._line(problem))

    def _line(self, problem: str) -> str:
        return f"switch at {self._address}: {problem}"


def _follow(stream: Iterator[pb.StreamMessageResponse], answers: Any) -> None:
    """Take what the server says on the stream until it ends; only the first is waited for."""
    try:
        for answer in stream:
            answers.put(answer)
        answers.put(ConnectionError("the stream ended"))
    except grpc.RpcError as error:
        answers.put(error)


def _details(error: grpc.RpcError) -> list[pb.Error]:
    """What was wrong with each update, where the server says so: BfRt puts it in the trailer."""
    trailer: JsonObject = dict(error.trailing_metadata() or ())  # type: ignore[arg-type]
    status = pb.Status()
    status.ParseFromString(bytes(trailer.get("grpc-status-details-bin", b"")))
    return [pb.Error.FromString(detail.value) for detail in status.details]


def _refused_change(error: grpc.RpcError, batch: Sequence[Change]) -> str:
    details = _details(error)
    if len(details) != len(batch):
        return str(batch[0]) if len(batch) == 1 else ""
    refused = (str(c) for c, d in zip(batch, details, strict=True) if d.canonical_code)
    return next(refused, "")


def _code(error: grpc.RpcError) -> int:
    """The first code that says what was wrong: an update's own, or the request's."""
    codes = (detail.canonical_code for detail in _details(error) if detail.canonical_code)
    return next(codes, error.code().value[0])


def _reason(error: grpc.RpcError) -> str:
    """One line for a person."""
    for detail in _details(error):
        if detail.canonical_code:
            return _line(detail.message) or f"error {detail.canonical_code}"
    return f"{_line(error.details() or '') or 'no reason given'} ({error.code().name})"


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


class UndoLog:
    """Makes changes and remembers how to take each back.

    Args:
        client: An open client.
    """

    def __init__(self, client: BfRtClient) -> None:
        self._client = client
        self._undo: dict[tuple[str, str, int], Change] = {}

    def apply(self, changes: Sequence[Change]) -> None:
        """Make changes; what an entry was before our first change of it is remembered."""
        for change in changes:
            if change.verb != "clear" and _place(change) not in self._undo:
                self._undo[_place(change)] = self._inverse(change)
        self._client.write(changes)

    def take_back(self, changes: Sequence[Change]) -> None:
        """Take back only these."""
        undone = [self._undo.pop(_place(c)) for c in changes if _place(c) in self._undo]
        self._client.write(undone[::-1])

    def undo(self) -> None:
        """Take everything back, the last first; one that fails does not keep the others.

        Raises:
            TargetError: Something could not be taken back; the line names the first.
        """
        failed: list[TargetError] = []
        for change in reversed(self._undo.values()):
            try:
                self._client.write([change])
            except TargetError as error:
                failed.append(error)
        self._undo.clear()
        if failed:
            raise TargetError(f"{failed[0].message} (while leaving the switch as it was found)")

    def _inverse(self, change: Change) -> Change:
        """The change that brings the entry back as it is now.

        What is modified is the chip's and was there before; what is added is ours.
        """
        if change.verb != "modify":
            return Change("delete", change.table, change.key, pipe=change.pipe)
        query = Query(change.table, change.key, change.pipe, from_hardware=False)
        entry = self._client.entry(query)
        table = self._client.info.table(change.table)
        known = table.written_fields(entry.action)
        same = entry.action == change.action
        names = [n for n in entry.data if n in known and (n in change.data or not same)]
        data = {name: entry.data[name] for name in names}
        return Change("modify", change.table, change.key, data, entry.action, change.pipe)


def _place(change: Change) -> tuple[str, str, int]:
    return change.table, repr(sorted(change.key.items())), change.pipe
