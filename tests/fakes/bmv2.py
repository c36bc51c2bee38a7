"""A simple_switch that only remembers: it knows what the compiled program has, and nothing else."""

import hashlib
import json
import socket
from collections.abc import Sequence
from pathlib import Path

from nashbed.controlplane.contract.errors import TargetError

QUEUES = 2


class FakeRuntime:
    """Runtime of a compiled program; refuses names, indices and widths that it has not."""

    def __init__(self, artefact: Path) -> None:
        content = json.loads(artefact.read_text())
        self.md5 = hashlib.md5(artefact.read_bytes(), usedforsecurity=False).digest()
        self.registers = {a["name"]: [0] * a["size"] for a in content["register_arrays"]}
        self.widths = {a["name"]: a["bitwidth"] for a in content["register_arrays"]}
        self.tables = {t["name"]: t for p in content["pipelines"] for t in p["tables"]}
        self.actions = {a["name"]: a["runtime_data"] for a in content["actions"]}
        self.fields = field_widths(content)
        self.entries: dict[tuple[bytes, ...], tuple[str, tuple[bytes, ...]]] = {}
        self.rates: dict[tuple[int, int], int] = {}
        self.sessions: dict[int, int] = {}
        self.depth = 64
        self.clock_us = 5_000_000
        self.refused_first = 0
        self.closed = False

    def program_md5(self) -> bytes:
        return self.md5

    def elapsed_us(self) -> int:
        if self.refused_first > 0:
            # As simple_switch 1.15.5 answers before its own service is registered.
            self.refused_first -= 1
            raise TargetError(
                "simple_switch: clock: failed: TMultiplexedProcessor: Unknown service: "
                "simple_switch. Did you forget to call registerProcessor()?"
            )
        self.clock_us += 10
        return self.clock_us

    def set_depths(self, packets: int) -> None:
        assert 0 < packets < 2**31
        self.depth = packets

    def set_rate(self, port: int, queue: int, pps: int) -> None:
        assert 0 <= queue < QUEUES
        self.rates[(port, queue)] = pps

    def add_clone_session(self, session: int, port: int) -> None:
        self.sessions[session] = port

    def add_entry(
        self, table: str, key: Sequence[bytes], action: str, data: Sequence[bytes]
    ) -> None:
        known = self.tables[table]
        assert action in known["actions"]
        widths = [self.fields[tuple(field["target"])] for field in known["key"]]
        assert [8 * len(each) for each in key] == widths
        assert [8 * len(each) for each in data] == [d["bitwidth"] for d in self.actions[action]]
        if tuple(key) in self.entries:
            raise TargetError(f"simple_switch: entry of {table}: refused: DUPLICATE_ENTRY")
        self.entries[tuple(key)] = (action, tuple(data))

    def clear_table(self, table: str) -> None:
        assert table in self.tables
        self.entries.clear()

    def read_register(self, name: str) -> list[int]:
        return list(self.registers[name])

    def write_register(self, name: str, index: int, value: int) -> None:
        assert 0 <= value < 2 ** self.widths[name]
        self.registers[name][index] = value

    def reset_register(self, name: str) -> None:
        self.registers[name] = [0] * len(self.registers[name])

    def close(self) -> None:
        self.closed = True


def field_widths(content: dict[str, object]) -> dict[tuple[str, str], int]:
    """Bits of each field, by the names of its header and its own."""
    types = {t["name"]: t["fields"] for t in content["header_types"]}  # type: ignore[attr-defined]
    return {
        (header["name"], field[0]): field[1]
        for header in content["headers"]  # type: ignore[attr-defined]
        for field in types[header["header_type"]]
    }


class FakeProcess:
    """simple_switch's process."""

    def __init__(self) -> None:
        self.code: int | None = None
        self.stopped = False

    def poll(self) -> int | None:
        return self.code

    def wait_event(self, event: str, timeout_s: float) -> dict[str, object]:
        raise AssertionError("simple_switch reports nothing")

    def wait_exit(self, timeout_s: float) -> int:
        raise AssertionError("simple_switch never ends by itself")

    def stop(self) -> None:
        self.stopped = True

    def failure(self, problem: str) -> Exception:
        return TargetError(f"switch {problem} (exit code {self.code})")


class FakeHost:
    """The machine of a switch program; its connections lead nowhere."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.process = FakeProcess()
        self.started: list[tuple[Path, tuple[str, ...]]] = []
        self.connections = 0

    def start_switch(self, artefact: Path, options: Sequence[str] = ()) -> FakeProcess:
        self.started.append((artefact, tuple(options)))
        return self.process

    def connect_switch(self, timeout_s: float) -> socket.socket:
        self.connections += 1
        return socket.socket()
