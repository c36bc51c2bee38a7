"""A process inside a guest, as its user sees processes anywhere."""

from __future__ import annotations

import contextlib
import json
import queue
import shlex
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..contract.errors import NashbedError, TargetError
from ..contract.messages import GuestEvent
from .guest_connection import NS, GuestClock, GuestConnection
from .layout import Side
from .log import LOG
from .process import STOP_GRACE_S, ManagedProcess, json_event

KILL_GRACE_S = 1.0
LAST_WORDS = 20
ENDED_WITH_GUEST = -signal.SIGKILL
"""Exit code of a process whose guest has ended."""


class GuestProcess(ManagedProcess):
    """A process inside a guest that reports JSON objects, one a line.

    Every wait lets virtual time pass in steps on a grid of virtual time, and looks between them
    at whether it is to end early: the times of its requests are the same in every repeat.

    Args:
        connection: The guest.
        name: What it is called in errors and in the log.
        side: In whose namespace it runs.
        args: Its command line; the program's path is absolute.
        log: Where its standard error goes.
    """

    def __init__(
        self, connection: GuestConnection, name: str, side: Side, args: Sequence[str], log: Path
    ) -> None:
        super().__init__(name, GuestClock(lambda: connection))
        self._connection = connection
        self._log = log
        self._code: int | None = None
        LOG.info("start %s in the guest: %s", name, shlex.join(args))
        self._number = connection.start(name, side, args, log, self._take)

    @property
    def pid(self) -> int:
        """Its number inside the guest; it is no process of this machine."""
        return self._number

    @property
    def last_words(self) -> tuple[str, ...]:
        """The last lines of its standard error."""
        try:
            lines = self._log.read_text(errors="replace").splitlines()
        except OSError:
            return ()
        return tuple(line.strip() for line in lines if line.strip())[-LAST_WORDS:]

    def poll(self) -> int | None:
        """Exit code as far as it was reported, or None while it runs."""
        if self._code is None and not self._connection.is_usable:
            return ENDED_WITH_GUEST
        return self._code

    def send(self, message: dict[str, Any]) -> None:
        """Write one JSON line to its standard input."""
        try:
            self._connection.send(self._number, json.dumps(message))
        except TargetError as error:
            if not self._connection.is_usable:
                raise
            raise self.failure("has closed its input") from error

    def wait_exit(self, timeout_s: float) -> int:
        """Wait for its end; returns the exit code."""
        self._await_end(timeout_s)
        if self._code is None:
            raise self.failure(f"did not end within {timeout_s:g} s")
        return self._code

    def stop(self) -> None:
        """End it: SIGTERM, and SIGKILL after a grace time. Does nothing when it has ended."""
        with contextlib.suppress(NashbedError):
            self._end(signal.SIGTERM, STOP_GRACE_S)
            if self.poll() is None:
                LOG.warning("%s does not end on SIGTERM: SIGKILL", self.name)
                self._end(signal.SIGKILL, KILL_GRACE_S)

    def failure(self, problem: str) -> NashbedError:
        """An error that names the process and quotes its last words."""
        return self._described(problem, self._code)

    def _next_event(self, deadline_ns: int) -> dict[str, Any] | None:
        with contextlib.suppress(queue.Empty):
            return self._events.get_nowait()
        self._connection.step(deadline_ns)
        return self._events.get_nowait()

    def _end(self, number: signal.Signals, grace_s: float) -> None:
        if self.poll() is None:
            self._connection.signal(self._number, number)
            self._await_end(grace_s)

    def _await_end(self, timeout_s: float) -> None:
        """Let time pass until it has ended, or for as long as it may take."""
        if self._code is not None:
            return
        deadline_ns = self._clock.now_ns() + int(timeout_s * NS)
        while self._code is None and self._connection.now_ns < deadline_ns:
            self._connection.step(deadline_ns)

    def _take(self, event: GuestEvent) -> None:
        if event.exit is not None:
            self._code = event.exit
            self._events.put(None)
            LOG.info("end %s in the guest: %d", self.name, event.exit)
            return
        LOG.debug("%s says %s", self.name, (event.line or "")[:2000])
        message = json_event(event.line or "")
        if message is not None:
            self._events.put(message)
