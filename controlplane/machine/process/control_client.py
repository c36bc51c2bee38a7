"""JSON lines over a UNIX socket: one request, one answer, and never trust the answer."""

import errno
import json
import os
import socket
import threading
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from ...contract.errors import TargetError

MAX_ANSWER_BYTES = 64 * 2**20
TIMEOUT_S = 20.0


class Patience(ABC):
    """Decides how long an answer is waited for."""

    interval_s = 1.0
    """How often it is asked, in seconds."""

    @abstractmethod
    def begin(self) -> None:
        """A request was sent."""

    @abstractmethod
    def exhausted(self) -> str:
        """Why its answer is no longer waited for; empty while it is."""


class FixedTimeout(Patience):
    """Waits for a fixed time."""

    def __init__(self, timeout_s: float) -> None:
        self.interval_s = min(timeout_s, Patience.interval_s)
        self._timeout_s = timeout_s
        self._deadline = 0.0

    def begin(self) -> None:
        """A request was sent."""
        self._deadline = time.monotonic() + self._timeout_s

    def exhausted(self) -> str:
        """Why its answer is no longer waited for; empty while it is."""
        late = time.monotonic() >= self._deadline
        return f"no answer within {self._timeout_s:g} s" if late else ""


class ControlClient:
    """A connection to the data plane's control socket. Safe between threads.

    Args:
        patience: How long answers are waited for; None: 20 s.
        peer: Who answers, for the errors.
    """

    def __init__(
        self, path: Path, patience: Patience | None = None, peer: str = "data plane"
    ) -> None:
        self._peer = peer
        self._patience = patience or FixedTimeout(TIMEOUT_S)
        self._lock = threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(TIMEOUT_S)
        self._rest = b""
        self._broken = ""
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            problem = f"{path}: cannot connect to the {peer}: {error}"
            raise TargetError(problem, repeatable=True) from error

    def call(self, op: str, **arguments: Any) -> dict[str, object]:
        """Send a request and return the answer, without its `ok`.

        Raises:
            TargetError: The request was refused, or the connection or the answer is broken.
        """
        with self._lock:
            if self._broken:
                raise TargetError(f"{self._peer}: {op}: {self._broken}")
            try:
                line = self._exchange(json.dumps({"op": op, **arguments}).encode() + b"\n")
                answer = json.loads(line)
            except (OSError, ValueError, RecursionError, _ClosedError, _TimedOutError) as error:
                self._break(error)
                raise TargetError(f"{self._peer}: {op}: {self._broken}") from error
        return self._accepted(op, answer)

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
        if isinstance(error, _TimedOutError):
            self._broken = str(error)
        elif isinstance(error, _ClosedError | ConnectionError):
            self._broken = f"the {self._peer} closed the connection"
        else:
            self._broken = f"broken answer or connection ({error})"
        self._socket.close()

    def _exchange(self, request: bytes) -> bytes:
        self._socket.settimeout(TIMEOUT_S)
        self._socket.sendall(request)
        self._socket.settimeout(self._patience.interval_s)
        self._patience.begin()
        chunks = [self._rest]
        size = len(self._rest)
        while b"\n" not in chunks[-1]:
            chunk = self._receive()
            if reason := self._patience.exhausted():
                raise _TimedOutError(reason)
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise ValueError(f"longer than {MAX_ANSWER_BYTES} bytes")
        line, _, self._rest = b"".join(chunks).partition(b"\n")
        if self._rest:
            raise ValueError("more than one line for one request")
        return line

    def _receive(self) -> bytes:
        """More of the answer; empty where nothing has come for a while."""
        try:
            chunk = self._socket.recv(1 << 20)
        except TimeoutError:
            return b""
        if not chunk:
            raise _ClosedError
        return chunk

    def _accepted(self, op: str, answer: object) -> dict[str, object]:
        if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool):
            raise TargetError(f"{self._peer}: {op}: the answer is not an object with `ok`")
        if not answer["ok"]:
            reason = " ".join(str(answer.get("error", "no reason given")).split())[:500]
            short = os.strerror(errno.ENOMEM) in reason
            raise TargetError(f"{self._peer}: {op}: {reason}", repeatable=short)
        del answer["ok"]
        return answer


class _TimedOutError(Exception):
    """No answer, and it is no longer waited for; the reason is its text."""


class _ClosedError(Exception):
    """The other side closed the connection."""
