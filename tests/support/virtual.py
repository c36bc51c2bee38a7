"""The data plane as the library that a guest's kernel loads, driven by a test."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.control import Answer, Client
from tests.support.replay import BUILD, ROOT, SPEC, need_pipeline

LIBRARY = BUILD / "hosts" / "dpdk" / "nashbed-virtual.so"

SENDERS, RECEIVERS = 0, 1
"""Wires, as enum nashbed_virtual_wire numbers them."""

LONGEST_FRAME = 65535
REQUEST_BYTES = 65536
"""What the guest's kernel takes at a time."""

TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Packets:
    """Frames at the wires.

    Attributes:
        times: Shape (n,), ns, not falling.
        wires: Shape (n,), SENDERS or RECEIVERS.
        lengths: Shape (n,), bytes of each frame.
        captured: Shape (n,), how many of them are in `data`; the others are zeros.
        data: Shape (m,), uint8: the captured bytes, one frame after the other.
    """

    times: NDArray[np.int64]
    wires: NDArray[np.int64]
    lengths: NDArray[np.int64]
    captured: NDArray[np.int64]
    data: NDArray[np.uint8]

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each frame begins in `data`, shape (n,)."""
        return np.cumsum(self.captured) - self.captured

    @property
    def frames(self) -> list[bytes]:
        """What is captured of each frame."""
        data = self.data.tobytes()
        spans = zip(self.starts.tolist(), self.captured.tolist(), strict=True)
        return [data[start : start + n] for start, n in spans]

    def in_file(self) -> bytes:
        """As `tests/support/guest_kernel.py` reads them."""
        columns = (self.times, self.wires, self.lengths, self.captured)
        return np.stack(columns).astype(np.int64).tobytes() + self.data.tobytes()

    def on(self, wire: int) -> list[tuple[int, bytes]]:
        """The frames of one wire: (time in ns, captured bytes) each."""
        rows = zip(self.times.tolist(), self.wires.tolist(), self.frames, strict=True)
        return [(time_ns, frame) for time_ns, mine, frame in rows if mine == wire]


def from_file(content: bytes, count: int) -> Packets:
    """So many packets, as `tests/support/guest_kernel.py` writes them."""
    times, wires, lengths, captured = np.frombuffer(content, np.int64, 4 * count).reshape(4, count)
    data = np.frombuffer(content, np.uint8, offset=32 * count)
    return Packets(times, wires, lengths, captured, data)


def whole_frames(packets: list[tuple[int, int, bytes]]) -> Packets:
    """Packets from (time in ns, wire, frame) triples."""
    lengths = np.array([len(frame) for _, _, frame in packets], np.int64)
    return Packets(
        times=np.array([time_ns for time_ns, _, _ in packets], np.int64),
        wires=np.array([wire for _, wire, _ in packets], np.int64),
        lengths=lengths,
        captured=lengths,
        data=np.frombuffer(b"".join(frame for _, _, frame in packets), np.uint8),
    )


class Library:
    """A process with the library in it, from its start to its end.

    The control socket is served while a request is waited for: between `wait` and `waited`.
    """

    def __init__(self, folder: Path, socket: Path, **config: Any) -> None:
        self.folder = folder
        self.socket = socket
        path = folder / "dataplane.json"
        path.write_text(json.dumps(library_config(socket) | config))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.guest_kernel", str(LIBRARY), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert self._answer() == {"open": True}
        self.wait()
        self.ready = self._answer()

    def wait(self, room: int = REQUEST_BYTES) -> None:
        """Wait for the next request, in parts of `room` bytes."""
        self._do("request", room=room)

    def waited(self) -> str:
        """The request that was waited for; empty when the guest is to end."""
        request = self._answer()["request"]
        assert isinstance(request, str)
        return request

    def answer(self, *parts: str) -> None:
        """Answer the request; the last part ends with the newline."""
        self._do("answer", parts=parts)

    def play(self, client: Client, packets: Packets, snap: int = LONGEST_FRAME) -> Packets:
        """Put packets through, on a request of the client's, until nothing is left to do.

        Args:
            snap: How many bytes to keep of each frame that leaves.

        Returns:
            The frames that left, in their order, with their times and wires.
        """
        into, out = self.folder / "packets", self.folder / "departures"
        into.write_bytes(packets.in_file())
        client.send(b'{"op":"play"}\n')
        assert json.loads(self.waited()) == {"op": "play"}
        count = len(packets.times)
        self._do("play", packets=str(into), departures=str(out), count=count, snap=snap)
        played = self._answer()
        now_ns = played["now_ns"]
        self.answer(json.dumps({"ok": True, "now_ns": now_ns}) + "\n")
        self.wait()
        assert client.answer() == {"ok": True, "now_ns": now_ns}
        return from_file(out.read_bytes(), played["left"])

    def end(self) -> str:
        """Close the library, which must be waited for; what it said on standard error."""
        assert self.waited() == ""
        _, said = self.process.communicate(timeout=TIMEOUT_S)
        assert self.process.returncode == 0, said
        return said

    def kill(self) -> None:
        """Take it away, however it stands."""
        self.process.kill()
        self.process.communicate()

    def _do(self, what: str, **arguments: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": what} | arguments) + "\n")
        self.process.stdin.flush()

    def _answer(self) -> Answer:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            _, said = self.process.communicate()
            raise AssertionError(f"the library's process has ended: {said}")
        answer: Answer = json.loads(line)
        return answer


def library_config(socket: Path) -> dict[str, Any]:
    """The data plane's configuration inside a guest."""
    return {
        "spec": str(SPEC),
        "control_socket": str(socket),
        "huge_pages": False,
        "memory_mb": 96,
        "queue_packets": 8192,
        "lanes": 1,
        "ports": {
            "senders": {"driver": "virtual", "iface": "nb0"},
            "receivers": {"driver": "virtual", "iface": "nb1"},
        },
    }


def need_library(pipeline: str = "auto") -> None:
    """Skip, with the reason, where the library is not built."""
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY} is not built: run `make build`")
    need_pipeline(pipeline)


@contextmanager
def library(folder: Path, **config: Any) -> Iterator[Library]:
    """A library in a process of its own, taken away at the end whatever happens.

    Args:
        folder: Where it may write; made where it is missing.
        config: What differs from `library_config`.
    """
    need_library(config.get("pipeline", "auto"))
    folder.mkdir(parents=True, exist_ok=True)
    # pytest's paths are too long for a socket's.
    with tempfile.TemporaryDirectory(prefix="nbt-") as short:
        made = Library(folder, Path(short) / "control.sock", **config)
        try:
            yield made
        finally:
            made.kill()
