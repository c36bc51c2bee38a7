"""simple_switch's Thrift services, as much of them as is needed, and the client for them.

The client is generated from bmv2's own service description and is of the release that runs; so it
is imported from where simple_switch is installed, and none is kept here.
"""

from __future__ import annotations

import importlib
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, TypeVar

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TMultiplexedProtocol import TMultiplexedProtocol
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from ...contract.errors import HostError, TargetError

CONTEXT = 0
"""The only one: simple_switch runs one program."""
TIMEOUT_S = 20.0
Answer = TypeVar("Answer")
MODULES = (
    "bm_runtime.standard.Standard",
    "bm_runtime.standard.ttypes",
    "sswitch_runtime.SimpleSwitch",
    "sswitch_runtime.ttypes",
)
PACKAGE_FOLDERS = ("lib/python3*/site-packages", "lib/python3*/dist-packages")


class Runtime(Protocol):
    """What the adapter asks of a running simple_switch. Each raises TargetError."""

    def program_md5(self) -> bytes:
        """MD5 of the compiled program that it runs."""

    def elapsed_us(self) -> int:
        """Its clock."""

    def set_depths(self, packets: int) -> None:
        """Room of every queue."""

    def set_rate(self, port: int, queue: int, pps: int) -> None:
        """Packets per second of a queue; 0: no limit."""

    def add_clone_session(self, session: int, port: int) -> None:
        """Where clones go."""

    def add_entry(
        self, table: str, key: Sequence[bytes], action: str, data: Sequence[bytes]
    ) -> None:
        """An entry of a table of exact matches."""

    def clear_table(self, table: str) -> None:
        """Remove all entries."""

    def read_register(self, name: str) -> list[int]:
        """A whole array; cells are at most 64 bits wide."""

    def write_register(self, name: str, index: int, value: int) -> None:
        """One cell."""

    def reset_register(self, name: str) -> None:
        """Zero a whole array."""

    def close(self) -> None:
        """End the connection."""


class ThriftRuntime:
    """Runtime over a connected socket.

    Args:
        connection: To simple_switch's Thrift port; closed with this object.
        bindings: bmv2's generated client.
    """

    def __init__(self, connection: socket.socket, bindings: Bindings) -> None:
        connection.settimeout(TIMEOUT_S)
        transport = TSocket()
        transport.setHandle(connection)
        self._transport = TBufferedTransport(transport)
        protocol = TBinaryProtocolAccelerated(self._transport)  # arrays of thousands of cells
        self._types = bindings.standard_types
        self._sswitch_types = bindings.sswitch_types
        self._standard = bindings.standard.Client(TMultiplexedProtocol(protocol, "standard"))
        self._sswitch = bindings.sswitch.Client(TMultiplexedProtocol(protocol, "simple_switch"))
        self._lock = threading.Lock()
        self._broken = ""

    def program_md5(self) -> bytes:
        """See Runtime."""
        return bytes(self._call("program", self._standard.bm_get_config_md5))

    def elapsed_us(self) -> int:
        """See Runtime."""
        return int(self._call("clock", self._sswitch.get_time_elapsed_us))

    def set_depths(self, packets: int) -> None:
        """See Runtime."""
        self._call("queue depth", self._sswitch.set_all_egress_queue_depths, packets)

    def set_rate(self, port: int, queue: int, pps: int) -> None:
        """See Runtime."""
        rate = self._sswitch.set_egress_priority_queue_rate
        self._call(f"rate of port {port} queue {queue}", rate, port, queue, pps)

    def add_clone_session(self, session: int, port: int) -> None:
        """See Runtime."""
        config = self._sswitch_types.MirroringSessionConfig(port=port)
        self._call("clone session", self._sswitch.mirroring_session_add, session, config)

    def add_entry(
        self, table: str, key: Sequence[bytes], action: str, data: Sequence[bytes]
    ) -> None:
        """See Runtime."""
        types = self._types
        match = [
            types.BmMatchParam(
                type=types.BmMatchParamType.EXACT, exact=types.BmMatchParamExact(key=field)
            )
            for field in key
        ]
        options = types.BmAddEntryOptions()
        add = self._standard.bm_mt_add_entry
        self._call(f"entry of {table}", add, CONTEXT, table, match, action, list(data), options)

    def clear_table(self, table: str) -> None:
        """See Runtime."""
        self._call(f"table {table}", self._standard.bm_mt_clear_entries, CONTEXT, table, False)

    def read_register(self, name: str) -> list[int]:
        """See Runtime."""
        read = self._standard.bm_register_read_all
        signed = self._call(f"register {name}", read, CONTEXT, name)
        return [value & (2**64 - 1) for value in signed]

    def write_register(self, name: str, index: int, value: int) -> None:
        """See Runtime."""
        signed = value - 2**64 if value >= 2**63 else value
        write = self._standard.bm_register_write
        self._call(f"register {name}", write, CONTEXT, name, index, signed)

    def reset_register(self, name: str) -> None:
        """See Runtime."""
        self._call(f"register {name}", self._standard.bm_register_reset, CONTEXT, name)

    def close(self) -> None:
        """See Runtime."""
        self._broken = self._broken or "the connection is closed"
        self._transport.close()

    def _call(self, what: str, operation: Callable[..., Answer], *arguments: Any) -> Answer:
        with self._lock:
            if self._broken:
                raise TargetError(f"simple_switch: {what}: {self._broken}")
            try:
                return operation(*arguments)
            except TApplicationException as error:
                raise TargetError(f"simple_switch: {what}: failed: {error}") from error
            except (TTransportException, OSError, EOFError) as error:
                # A late answer would be taken for that of the next question.
                self._broken = "the connection is broken"
                self._transport.close()
                raise TargetError(f"simple_switch: {what}: no answer ({error})") from error
            except TException as error:
                raise TargetError(f"simple_switch: {what}: refused: {self._name(error)}") from error

    def _name(self, error: TException) -> str:
        """bmv2 says why by a number, for which its generated types have a name."""
        kind = type(error).__name__.removeprefix("Invalid") + "ErrorCode"
        codes = getattr(self._types, kind, None) or getattr(self._sswitch_types, kind, None)
        names: dict[int, str] = getattr(codes, "_VALUES_TO_NAMES", {})
        return names.get(getattr(error, "code", 0), repr(error))


@dataclass(frozen=True)
class Bindings:
    """bmv2's generated modules.

    Attributes:
        standard: Client of every bmv2 target: tables, registers.
        sswitch: Client of simple_switch: queues, clone sessions, clock.
    """

    standard: ModuleType
    standard_types: ModuleType
    sswitch: ModuleType
    sswitch_types: ModuleType


def load_bindings(program: str) -> Bindings:
    """Import the client, from PYTHONPATH or from beside simple_switch.

    Args:
        program: simple_switch: a name on PATH or a path.

    Raises:
        HostError: It is not there.
    """
    for folder in ("", *package_folders(program)):
        try:
            return _imported(folder)
        except ImportError:
            continue
    raise HostError(
        f"bmv2's Python client (bm_runtime, sswitch_runtime) is neither beside {program} nor on "
        "PYTHONPATH; it comes with bmv2 (package p4lang-bmv2): name its folder in PYTHONPATH"
    )


def package_folders(program: str) -> Iterator[str]:
    """Folders of Python packages in the prefix that a program is installed in."""
    place = shutil.which(program)
    if place is None:
        return
    prefix = Path(place).resolve().parents[1]
    for pattern in PACKAGE_FOLDERS:
        yield from map(str, sorted(prefix.glob(pattern)))


def _imported(folder: str) -> Bindings:
    """Behind all other folders, so that nothing of ours is replaced by what is in there."""
    if not folder:
        return Bindings(*map(importlib.import_module, MODULES))
    sys.path.append(folder)
    try:
        importlib.invalidate_caches()
        return Bindings(*map(importlib.import_module, MODULES))
    finally:
        sys.path.remove(folder)
