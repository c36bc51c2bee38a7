"""A client of the data plane's control socket: one JSON object per line each way."""

from __future__ import annotations

import json
import re
import socket
import time
from pathlib import Path
from types import TracebackType
from typing import Any

Answer = dict[str, Any]
TIMEOUT_S = 30.0


class Client:
    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(path))
        self.socket.settimeout(TIMEOUT_S)
        self.received = b""

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def line(self) -> bytes | None:
        """The next line without its end; None where the other side has closed."""
        while b"\n" not in self.received:
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self.received += data
        line, self.received = self.received.split(b"\n", 1)
        return line

    def answer(self) -> Answer | None:
        """The next answer, which must be one."""
        line = self.line()
        if line is None:
            return None
        answer = json.loads(line)
        assert isinstance(answer, dict)
        assert isinstance(answer["ok"], bool)
        if not answer["ok"]:
            assert set(answer) == {"ok", "error"}
            assert answer["error"]
            assert not re.search(r"[\x00-\x1f\x7f]", answer["error"]), "an error is one line"
        return answer

    def ask(self, request: Any) -> Answer:
        """Send any JSON value; its answer."""
        self.send(json.dumps(request).encode() + b"\n")
        answer = self.answer()
        assert answer is not None, "the data plane closed the connection"
        return answer

    def call(self, op: str, **fields: Any) -> Answer:
        """A request that must be granted."""
        answer = self.ask({"op": op} | fields)
        assert answer["ok"], answer
        return answer

    def stop_telemetry(self, lane: int) -> Answer:
        """The totals of a lane whose postcards are all in its file."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            totals = self.call("telemetry_stop", lane=lane)["totals"]
            if totals is not None:
                assert isinstance(totals, dict)
                return totals
            time.sleep(0.005)
        raise AssertionError(f"the postcards of lane {lane} are not written in {TIMEOUT_S} s")

    def refused(self, op: str, **fields: Any) -> str:
        """The error of a request that must be refused."""
        answer = self.ask({"op": op} | fields)
        assert not answer["ok"], answer
        return str(answer["error"])
