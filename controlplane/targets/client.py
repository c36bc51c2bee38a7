"""JSON lines over a UNIX socket: one request, one answer, and never trust the answer."""

from __future__ import annotations

import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

from ..contract.errors import TargetError

MAX_ANSWER_BYTES = 64 * 2**20
TIMEOUT_S = 20.0


class ControlClient:
    """A connection to the data plane's control socket. Safe between threads."""

    def __init__(self, path: Path, timeout_s: float = TIMEOUT_S) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        self._rest = b""
        self._broken = ""
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise TargetError(f"{path}: cannot connect to the data plane: {error}") from error

    def call(self, op: str, **arguments: Any) -> dict[str, object]:
        """Send a request and return the answer, without its `ok`.

        Args:
            op: The operation.
            arguments: Its arguments.

        Raises:
            TargetError: The data plane refused, or the connection or the answer is broken.
        """
        with self._lock:
            if self._broken:
                raise TargetError(f"data plane: {op}: {self._broken}")
            try:
                line = self._exchange(json.dumps({"op": op, **arguments}).encode() + b"\n")
                answer = json.loads(line)
            except (OSError, ValueError, RecursionError, _ClosedError) as error:
                self._break(error)
                raise TargetError(f"data plane: {op}: {self._broken}") from error
        return _accepted(op, answer)

    @property
    def is_broken(self) -> bool:
        """Whether no further call can be answered."""
        return bool(self._broken)

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
        self._broken = self._broken or "the connection is closed"

    def _break(self, error: Exception) -> None:
        """After a failed exchange, answers could be taken for each other's: end the connection."""
        self._broken = {
            TimeoutError: f"no answer within {self._timeout_s:g} s",
            _ClosedError: "the data plane closed the connection",
        }.get(type(error), f"broken answer or connection ({error})")
        self._socket.close()

    def _exchange(self, request: bytes) -> bytes:
        self._socket.sendall(request)
        deadline = time.monotonic() + self._timeout_s
        chunks = [self._rest]
        size = len(self._rest)
        while b"\n" not in chunks[-1]:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            chunk = self._socket.recv(1 << 20)
            if not chunk:
                raise _ClosedError
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise ValueError(f"longer than {MAX_ANSWER_BYTES} bytes")
        line, _, self._rest = b"".join(chunks).partition(b"\n")
        if self._rest:
            raise ValueError("more than one line for one request")
        return line


class _ClosedError(Exception):
    """The other side closed the connection."""


def _accepted(op: str, answer: object) -> dict[str, object]:
    if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool):
        raise TargetError(f"data plane: {op}: the answer is not an object with `ok`")
    if not answer["ok"]:
        reason = " ".join(str(answer.get("error", "no reason given")).split())[:500]
        raise TargetError(f"data plane: {op}: {reason}")
    del answer["ok"]
    return answer
