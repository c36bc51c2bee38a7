"""BfRt over gRPC: a subscribed and bound client by names."""

import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import grpc
from grpc.experimental import ChannelOptions

from ...contract.errors import TargetError
from ...contract.model import JsonObject
from . import bfruntime_pb2 as pb
from .info import Change, Entry, Info, Query, Table, Value

CLIENT_ID = 0x6E62
"""Two clients of one number exclude each other."""
TIMEOUT_S = 10.0
BATCH = 512
_SERVICE = "/bfrt_proto.BfRuntime/"
_VERBS = {
    "add": pb.Update.INSERT,
    "modify": pb.Update.MODIFY,
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
Item = TypeVar("Item", Change, Query)
NOT_FOUND = grpc.StatusCode.NOT_FOUND.value[0]


class UnreachableError(TargetError):
    """No server is there."""


class MissingEntryError(TargetError):
    """An entry that was asked for is not there."""


class RefusedError(TargetError):
    """The switch refuses changes.

    Attributes:
        not_made: Those that were refused, and those that were therefore not sent. The server goes
            on after one that it refuses, so any of the others has been made.
    """

    def __init__(self, message: str, not_made: Sequence[Change]) -> None:
        super().__init__(message)
        self.not_made = tuple(not_made)


class BfRtClient:
    """A client of a BfRt server. Safe between threads.

    Args:
        address: The server, host:port.
        device: Number of the device at that server.
        program: Name under which the P4 program is loaded.
    """

    def __init__(
        self,
        address: str,
        device: int,
        program: str,
        timeout_s: float | None = None,
    ) -> None:
        self._address = address
        self._device = device
        self._program = program
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
        """Add, modify, delete and clear, in this order; `set` is for an UndoLog to resolve.

        Raises:
            RefusedError: The switch refuses one; the line names it.
            TargetError: It does not answer.
        """
        requests = [self._write_request(batch) for batch in batches(changes)]
        for number, request in enumerate(requests):
            try:
                with self._lock:
                    self._call("Write", request, pb.WriteResponse)
            except grpc.RpcError as error:
                at_once = changes[number * BATCH : (number + 1) * BATCH]
                refused = _refused(error, at_once)
                if not refused:
                    raise self._error(f"Write: {_reason(error)}") from error
                line = self._line(f"{refused[0]}: {_reason(error)}")
                unsent = changes[(number + 1) * BATCH :]
                raise RefusedError(line, [*refused, *unsent]) from error

    def read(self, queries: Sequence[Query]) -> list[JsonObject]:
        """Read entries; one dictionary of data fields each, in their order.

        Raises:
            MissingEntryError: One is not there.
            TargetError: The switch refuses, or answers something else than was asked.
        """
        found = (entry for batch in batches(queries) for entry in self._read_batch(batch))
        return [entry.data for entry in found]

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
            client_id=CLIENT_ID,
            entities=entities,
            p4_name=self._program,
        )
        with self._lock:
            answered = self._streamed(request, batch)
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
            raise UnreachableError(
                self._line(
                    f"no BfRt server answers within {self._timeout_s:g} s; is bf_switchd running, "
                    "and switch.grpc right?"
                )
            ) from error

    def _subscribe(self) -> None:
        call = self._channel.stream_stream(
            f"{_SERVICE}StreamChannel",
            request_serializer=pb.StreamMessageRequest.SerializeToString,
            response_deserializer=pb.StreamMessageResponse.FromString,
        )
        self._requests.put(
            pb.StreamMessageRequest(
                client_id=CLIENT_ID, subscribe=pb.Subscribe(device_id=self._device)
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
            problem = f"subscribing: {_reason(answer)}; does another run use the switch?"
            raise self._error(problem) from answer
        if isinstance(answer, Exception) or answer.subscribe.status.code:
            words = "" if isinstance(answer, Exception) else answer.subscribe.status.message
            raise self._error(f"subscribing: refused ({words or 'no reason given'})")

    def _learn(self) -> None:
        request = pb.GetForwardingPipelineConfigRequest(device_id=self._device, client_id=CLIENT_ID)
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
            client_id=CLIENT_ID,
            action=pb.SetForwardingPipelineConfigRequest.BIND,
            config=[pb.ForwardingPipelineConfig(p4_name=self._program)],
        )
        self._unary("SetForwardingPipelineConfig", request, pb.SetForwardingPipelineConfigResponse)

    def _write_request(self, batch: Sequence[Change]) -> pb.WriteRequest:
        return pb.WriteRequest(
            target=self._target(batch[0].pipe),
            client_id=CLIENT_ID,
            updates=[self._update(change) for change in batch],
            p4_name=self._program,
        )

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

    def _unary(self, name: str, request: Any, answer: Any) -> Any:
        try:
            return self._call(name, request, answer)
        except grpc.RpcError as error:
            raise self._error(f"{name}: {_reason(error)}") from error

    def _call(self, name: str, request: Any, answer: Any) -> Any:
        call = self._channel.unary_unary(
            _SERVICE + name,
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        return call(request, timeout=self._timeout_s)

    def _streamed(self, request: pb.ReadRequest, batch: Sequence[Query]) -> list[pb.TableEntry]:
        call = self._channel.unary_stream(
            f"{_SERVICE}Read",
            request_serializer=pb.ReadRequest.SerializeToString,
            response_deserializer=pb.ReadResponse.FromString,
        )
        try:
            answers = list(call(request, timeout=self._timeout_s))
        except grpc.RpcError as error:
            kind = MissingEntryError if _code(error) == NOT_FOUND else TargetError
            refused = _refused(error, batch)
            what = f"Read {refused[0].table}" if refused else "Read"
            raise kind(self._line(f"{what}: {_reason(error)}")) from error
        return [entity.table_entry for answer in answers for entity in answer.entities]

    def _error(self, problem: str) -> TargetError:
        return TargetError(self._line(problem))

    def _line(self, problem: str) -> str:
        return f"switch at {self._address}: {problem}"


def batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Parts of a sequence that one request takes."""
    return (items[first : first + BATCH] for first in range(0, len(items), BATCH))


def _follow(stream: Iterator[pb.StreamMessageResponse], answers: Any) -> None:
    """Take what the server says on the stream until it ends; only its answer is waited for.

    It tells every client when a program is loaded anew. Of ports, idle entries and learning it
    tells those who have asked for it, which we have not.
    """
    try:
        for answer in stream:
            if answer.HasField("subscribe"):
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


def _refused(error: grpc.RpcError, batch: Sequence[Item]) -> list[Item]:
    """What of a request the server has refused; nothing: it says nothing of single items.

    It tells about each in turn, and stops after the last one that it has refused.
    """
    details = _details(error)
    if len(details) > len(batch):
        return []
    told = zip(batch, details, strict=False)
    return [item for item, detail in told if detail.canonical_code]


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
