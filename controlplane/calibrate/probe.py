"""nashbed-probe: its configuration, its files, and one process of either role."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.errors import HostError
from ..contract.messages.flows import ProberReport, ReflectorReport
from ..contract.messages.message import read_message
from ..contract.records import PROBED, SEEN
from ..contract.shared import CONSTANTS
from ..machine.host.layout import Side
from ..machine.host.session import Session
from ..machine.process.managed import ManagedProcess

START_TIMEOUT_S = 10.0
END_MARGIN_S = 20.0
LINGER_NS = 300_000_000
"""After the last frame: room for its echo, besides the base RTT."""

Records = NDArray[np.void]


@dataclass(frozen=True)
class Socket:
    """A prober's socket."""

    local: str
    local_port: int
    remote: str
    remote_port: int


class Prober:
    """Sends a schedule and notes what comes back.

    Args:
        folder: Where its files go; made for it.
        sockets: What the schedule's socket numbers mean.
        schedule: PROBE_SCHEDULE records.
        linger_ns: How long to wait for echoes after the last frame.
    """

    def __init__(
        self,
        session: Session,
        folder: Path,
        sockets: list[Socket],
        schedule: Records,
        linger_ns: int = 0,
    ) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        schedule.tofile(folder / "schedule.bin")
        config = {
            "role": "prober",
            "out": str(folder),
            "schedule": str(folder / "schedule.bin"),
            "linger_ns": linger_ns,
            "sockets": [vars(each) for each in sockets],
        }
        self._takes_s = int(schedule["at_ns"][-1]) / 1e9 + linger_ns / 1e9
        self._count = len(schedule)
        self._process = _start(session, "snd", folder, config)

    def start(self) -> None:
        """Start sending, once it is ready."""
        self._process.wait_event("ready", START_TIMEOUT_S)
        self._process.send({"start": True})

    def finish(self) -> Records:
        """Wait for its end; returns a PROBED record for each frame."""
        done = self._process.wait_event("done", self._takes_s + END_MARGIN_S)
        read_message(ProberReport, done, f"{self._process.name}: done", HostError)
        _await_exit(self._process)
        return _read(self._folder / CONSTANTS.probed_file, PROBED, self._count)

    def stop(self) -> None:
        """End it, if it has not ended."""
        self._process.stop()


class Reflector:
    """Notes every datagram that arrives at the receivers and sends echoes back."""

    def __init__(self, session: Session, folder: Path, sockets: list[tuple[str, int]]) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        config = {
            "role": "reflector",
            "out": str(folder),
            "sockets": [{"local": address, "local_port": port} for address, port in sockets],
        }
        self._process = _start(session, "rcv", folder, config)
        self._process.wait_event("listening", START_TIMEOUT_S)

    def finish(self) -> Records:
        """Have it end; returns SEEN records in the order of their arrival."""
        self._process.send({"stop": True})
        done = self._process.wait_event("done", END_MARGIN_S)
        report = read_message(ReflectorReport, done, f"{self._process.name}: done", HostError)
        _await_exit(self._process)
        seen = _read(self._folder / CONSTANTS.seen_file, SEEN, report.received)
        return seen[np.argsort(seen["received_ns"], kind="stable")]

    def stop(self) -> None:
        """End it, if it has not ended."""
        self._process.stop()


def _start(
    session: Session, side: Side, folder: Path, config: Mapping[str, object]
) -> ManagedProcess:
    path = folder / "config.json"
    path.write_text(json.dumps(config) + "\n")
    return session.start_probe(side, path)


def _await_exit(process: ManagedProcess) -> None:
    code = process.wait_exit(END_MARGIN_S)
    if code != 0:
        raise HostError(f"{process.name} ended with exit code {code}")


def _read(path: Path, record: np.dtype[Any], count: int) -> Records:
    size = path.stat().st_size
    if size != count * record.itemsize:
        raise HostError(f"{path}: {size} bytes are not {count} records")
    return np.fromfile(path, record)
