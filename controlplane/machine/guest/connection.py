"""A guest from outside: requests to its process 1, its clock, and its processes.

A guest is a virtual machine that is one trial. Its time passes only while a request `run` is
under way, so what happens in it depends on the sequence of requests alone. No request may
therefore depend on this machine's clock; only the decision to give a guest up does.
"""

import contextlib
import json
import logging
import queue
import shlex
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ...contract.errors import NashbedError, TargetError
from ...contract.messages.dataplane import Done
from ...contract.messages.guest import (
    FileText,
    GuestEvent,
    PassedTime,
    QdiscState,
    StartedProcess,
)
from ...contract.messages.message import Message, read_message
from ...contract.model import JsonObject
from ..host.layout import Side
from ..process.clock import Clock
from ..process.control_client import ControlClient, Patience
from ..process.managed import STOP_GRACE_S, ManagedProcess, json_event, last_lines

LOG = logging.getLogger(__name__)

NS = 10**9
STEP_NS = NS
"""Between two looks at whether a wait is to end early; on a grid of virtual time."""
STANDSTILL_S = 60.0
LAST_WORDS_S = 5.0
"""How long a kernel that crashes may take over its end."""

Answer = TypeVar("Answer", bound=Message)
TakeEvent = Callable[[GuestEvent], None]

KILL_GRACE_S = 1.0
ENDED_WITH_GUEST = -signal.SIGKILL
"""Exit code of a process whose guest has ended."""


class StandstillTimeout(Patience):
    """Waits as long as virtual time moves.

    Args:
        progress: The file in which the guest notes its time: nanoseconds, 8 bytes, little-endian.
        limit_s: How long its time may stand still, in seconds of this machine's clock.
    """

    def __init__(self, progress: Path, limit_s: float = STANDSTILL_S) -> None:
        self.interval_s = min(limit_s / 4, Patience.interval_s)
        self._progress = progress
        self._limit_s = limit_s
        self._noted_ns = 0
        self._since = 0.0

    def begin(self) -> None:
        """A request was sent."""
        self._noted_ns, self._since = self._read(), time.monotonic()

    def exhausted(self) -> str:
        """Why its answer is no longer waited for; empty while it is."""
        noted_ns, now = self._read(), time.monotonic()
        if noted_ns != self._noted_ns:
            self._noted_ns, self._since = noted_ns, now
        if now - self._since < self._limit_s:
            return ""
        at = f"{noted_ns / NS:.9f} s"
        return f"no answer, and virtual time has stood still at {at} for {self._limit_s:g} s"

    def _read(self) -> int:
        try:
            return int.from_bytes(self._progress.read_bytes()[:8], "little")
        except OSError:
            return 0


class GuestConnection:
    """A connection to a running guest. Used by one thread at a time.

    Raises:
        NashbedError: The guest has ended, or does not take the connection.
    """

    def __init__(self, kernel: ManagedProcess, socket: Path, patience: Patience) -> None:
        self._kernel = kernel
        try:
            self._client = ControlClient(socket, patience, peer="guest")
        except TargetError as error:
            raise self._given_up(error) from error
        self._listeners: dict[int, TakeEvent] = {}
        self._now_ns = 0

    @property
    def is_usable(self) -> bool:
        """Whether the guest can answer requests."""
        return not self._client.is_broken and self._kernel.poll() is None

    @property
    def now_ns(self) -> int:
        """The guest's CLOCK_MONOTONIC at the end of the last `run`."""
        return self._now_ns

    def insert_module(self, path: Path, arguments: str) -> None:
        """Insert a module into the guest's kernel, for as long as the guest lives."""
        self._ask(Done, "insert", path=str(path), arguments=arguments)

    def configure_host(
        self,
        side: Side,
        addresses: Sequence[str],
        routes: Mapping[str, str],
        sysctls: Mapping[str, str],
        qdisc: str = "",
    ) -> None:
        """Bring up a side's interface.

        Args:
            addresses: Its addresses with the length of their prefixes.
            routes: Networks that are reached through it -> the address of sockets that name none;
                both with the length of their prefixes.
            sysctls: Settings of its namespace, in the order that they are written.
            qdisc: What queues before it, as tc names it; empty: nothing.

        Raises:
            TargetError: Something was not done, or another qdisc is there.
        """
        self._ask(
            Done,
            "host",
            side=side,
            addresses=list(addresses),
            routes=dict(routes),
            sysctls=dict(sysctls),
            **({"qdisc": qdisc} if qdisc else {}),
        )
        if qdisc and (found := self.qdisc(side).kind) != qdisc:
            raise TargetError(f"guest: host: {side} has qdisc {found}, not {qdisc}")

    def qdisc(self, side: Side) -> QdiscState:
        """What queues before a side's interface, and what it has done; only where one was set."""
        return self._ask(QdiscState, "qdisc", side=side)

    def start(
        self, name: str, side: Side, args: Sequence[str], log: Path, take_event: TakeEvent
    ) -> int:
        """Start a process; returns its number.

        Args:
            name: What it is called.
            side: In whose namespace.
            args: Its command line; the program's path is absolute.
            log: Where its standard error goes.
            take_event: Called with each of its events, while time passes.
        """
        started = self._ask(
            StartedProcess, "start", name=name, side=side, args=list(args), log=str(log)
        )
        if started.process in self._listeners:
            raise TargetError(f"guest: start: process {started.process} is another one")
        self._listeners[started.process] = take_event
        return started.process

    def send(self, process: int, line: str) -> None:
        """Write a line to a process's standard input."""
        self._ask(Done, "send", process=process, line=line)

    def signal(self, process: int, number: int) -> None:
        """Send a signal to a process."""
        self._ask(Done, "signal", process=process, signal=number)

    def read(self, side: Side, path: str) -> str:
        """A file as a side's namespace has it."""
        return self._ask(FileText, "read", side=side, path=path).text

    def run(self, until_ns: int) -> None:
        """Let time pass until something happens, at the latest until a time that may be past."""
        passed = self._ask(PassedTime, "run", until_ns=max(0, until_ns))
        self._require_order(passed, until_ns)
        self._now_ns = passed.now_ns
        for event in passed.events:
            self._deliver(event)

    def step(self, deadline_ns: int) -> None:
        """Let time pass up to the next point of the grid, or to the deadline if that is nearer."""
        self.run(min((self._now_ns // STEP_NS + 1) * STEP_NS, deadline_ns))

    def close(self) -> None:
        """Close the connection; a guest without one powers off."""
        self._client.close()

    def _require_order(self, passed: PassedTime, until_ns: int) -> None:
        """Refuse times that would have a wait go on for ever."""
        if passed.now_ns < self._now_ns:
            raise TargetError(f"guest: run: time went back from {self._now_ns} to {passed.now_ns}")
        if not passed.events and passed.now_ns < until_ns:
            raise TargetError(
                f"guest: run: it is {passed.now_ns}, before {until_ns}, and nothing has happened"
            )

    def _deliver(self, event: GuestEvent) -> None:
        take_event = self._listeners.get(event.process)
        if take_event is None:
            raise TargetError(f"guest: run: there is no process {event.process}")
        take_event(event)

    def _ask(self, answer: type[Answer], op: str, **arguments: object) -> Answer:
        try:
            return read_message(answer, self._client.call(op, **arguments), f"guest: {op}")
        except TargetError as error:
            if self._client.is_broken:
                raise self._given_up(error) from error
            raise

    def _given_up(self, error: TargetError) -> NashbedError:
        """End a guest that no longer answers; returns the error that quotes its console."""
        with contextlib.suppress(NashbedError):
            self._kernel.wait_exit(LAST_WORDS_S)
        failure = self._kernel.failure(f"failed: {error.message}")
        self._kernel.stop()
        return failure


class GuestClock(Clock):
    """CLOCK_MONOTONIC of the guest that is running; 0 while there is none."""

    def __init__(self, connection: Callable[[], GuestConnection | None]) -> None:
        self._connection = connection

    def now_ns(self) -> int:
        """The time in nanoseconds."""
        connection = self._connection()
        if connection is None:
            return 0
        connection.run(0)
        return connection.now_ns

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass.

        Raises:
            TargetError: No guest is running, so no time passes.
        """
        end_ns = self.now_ns() + int(seconds * NS)
        connection = self._connection()
        if connection is None:
            raise TargetError("guest: none is running")
        while connection.now_ns < end_ns:
            connection.run(end_ns)


class GuestProcess(ManagedProcess):
    """A process inside a guest that reports JSON objects, one a line.

    Every wait lets virtual time pass in steps on a grid of virtual time, and looks between them
    at whether it is to end early: the times of its requests are the same in every repeat.

    Args:
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
        return last_lines(self._log)

    def poll(self) -> int | None:
        """Exit code as far as it was reported, or None while it runs."""
        if self._code is None and not self._connection.is_usable:
            return ENDED_WITH_GUEST
        return self._code

    def send(self, message: JsonObject) -> None:
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

    def _next_event(self, deadline_ns: int) -> JsonObject | None:
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
