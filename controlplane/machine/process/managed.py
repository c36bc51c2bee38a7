"""Long-running processes, held by handle: JSON lines on stdout, stopped by pid we own.

`ManagedProcess` is what their users see, wherever they run; `Process` is one on this machine.
"""

import contextlib
import errno
import json
import logging
import os
import queue
import shlex
import shutil
import signal
import subprocess
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from ...contract.errors import (
    EXIT_CONFIG,
    EXIT_HOST,
    EXIT_INTERNAL,
    EXIT_TARGET,
    HostError,
    Interrupted,
    NashbedError,
    PrerequisiteError,
    TargetError,
)
from ...contract.model import JsonObject
from .clock import SYSTEM_CLOCK, Clock
from .table import ChildProcess, ProcessRegister, oom_kills, start_time

LOG = logging.getLogger(__name__)

STOP_GRACE_S = 3.0
LAST_WORDS = 20
LAST_BYTES = 65_536
_ERRORS: dict[int, type[NashbedError]] = {EXIT_TARGET: TargetError, EXIT_HOST: HostError}
SHARED = ("dataplane", "switch", "testpmd")
"""Programs that all lanes share: when one has ended, no attempt at a trial can go better."""
TARGETS = (*SHARED, "guest")
"""Processes whose failure is the target's, not the host's."""
REFUSALS = (EXIT_CONFIG, EXIT_TARGET, EXIT_INTERNAL)
"""Exit codes of a program that has refused what it was asked for, and would again."""


def json_event(line: str) -> JsonObject | None:
    """The event in a line of JSON; None where there is none."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def ending(code: int | None) -> str:
    """How a process ended, in brackets; empty where it has not.

    Args:
        code: Its exit code; a negative one is the number of the signal that killed it.
    """
    if code is None:
        return ""
    if -code in tuple(signal.Signals):
        remedy = "; raise the limit on files' sizes (ulimit -f)" if -code == signal.SIGXFSZ else ""
        return f" (killed by {signal.Signals(-code).name}{remedy})"
    return f" (exit code {code})"


class ManagedProcess(ABC):
    """A process that reports events on its standard output.

    Args:
        name: What it is called in errors and in the log.
        clock: The clock that it goes by, and so do waits for it.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self.name = name
        self._clock = clock
        self._events: queue.Queue[JsonObject | None] = queue.Queue()

    @property
    @abstractmethod
    def pid(self) -> int:
        """Its process id."""

    @property
    @abstractmethod
    def last_words(self) -> tuple[str, ...]:
        """The last lines of its standard error."""

    @abstractmethod
    def poll(self) -> int | None:
        """Exit code, or None while it runs."""

    @abstractmethod
    def send(self, message: JsonObject) -> None:
        """Write one JSON line to its standard input."""

    def wait_event(
        self,
        event: str,
        timeout_s: float,
        stop: threading.Event | None = None,
        watch: Callable[[], None] | None = None,
    ) -> JsonObject:
        """Wait for a line with this `event`; other events on the way are logged.

        Args:
            event: Value of the line's `event`.
            stop: Ends the wait early when set.
            watch: Called again and again meanwhile; what it raises ends the wait.

        Raises:
            NashbedError: It ended, reported an error, or stayed silent.
            Interrupted: `stop` was set.
        """
        deadline_ns = self._clock.now_ns() + int(timeout_s * 1e9)
        while True:
            if stop is not None and stop.is_set():
                raise Interrupted(f"{self.name}: stopped while waiting for {event!r}")
            if watch is not None:
                watch()
            try:
                message = self._next_event(deadline_ns)
            except queue.Empty:
                if self._clock.now_ns() >= deadline_ns:
                    raise self.failure(f"did not report {event!r} within {timeout_s:g} s") from None
                continue
            if message is None:
                self._events.put(None)
                raise self.failure("ended unexpectedly")
            if message.get("event") == event:
                return message
            if message.get("event") == "error":
                raise self.failure(str(message.get("error", "error")))

    @abstractmethod
    def wait_exit(self, timeout_s: float) -> int:
        """Wait for its end; returns the exit code."""

    @abstractmethod
    def stop(self) -> None:
        """End it: SIGTERM, and SIGKILL after a grace time. Does nothing when it has ended."""

    @abstractmethod
    def failure(self, problem: str) -> NashbedError:
        """An error that names the process and quotes its last words."""

    @abstractmethod
    def _next_event(self, deadline_ns: int) -> JsonObject | None:
        """Wait for its next event, though not for long; None once it has ended.

        Args:
            deadline_ns: Never wait beyond this time on its clock.

        Raises:
            queue.Empty: It has not reported anything yet.
        """

    def _cause(self) -> str:
        """What its last words say about why it failed; empty where it said nothing."""
        return self.last_words[-1] if self.last_words else ""

    def _described(self, problem: str, code: int | None) -> NashbedError:
        """An error of the kind that the process and its exit code stand for.

        A trial is tried again unless the program is every lane's, or has refused.
        """
        words = f": {self._cause()}" if self._cause() else ""
        kind = _ERRORS.get(code or 0, TargetError if self.name in TARGETS else HostError)
        repeatable = self.name not in SHARED and code not in REFUSALS
        return kind(f"{self.name} {problem}{ending(code)}{words}", repeatable=repeatable)


def dying_with(parent: int, args: Sequence[str]) -> list[str]:
    """A command that is killed when the process that starts it dies.

    The kernel tells a child of a death from then on when it asks for that: a parent that died
    before is seen by the child's having another one.

    Args:
        parent: Process id of who starts it.
    """
    unless_orphaned = 'test "$PPID" = "$0" && exec "$@"'
    return ["setpriv", "--pdeathsig", "KILL", "--", "sh", "-c", unless_orphaned, str(parent), *args]


class Process(ManagedProcess):
    """A child process on this machine; its events are by default JSON objects, one a line.

    It dies with the thread that starts it (PR_SET_PDEATHSIG), so a killed control plane
    leaves no process behind; its threads therefore outlive their children.

    Args:
        name: What it is called in errors and in the log.
        register: Where it is noted as ours.
        log_path: Where its standard error goes.
        read_event: Turns a line of its standard output into an event, where that is not JSON.
    """

    def __init__(
        self,
        name: str,
        args: Sequence[str],
        register: ProcessRegister | None = None,
        log_path: Path | None = None,
        read_event: Callable[[str], JsonObject | None] = json_event,
    ) -> None:
        super().__init__(name, SYSTEM_CLOCK)
        self._read_event = read_event
        self._register = register
        self._oom_kills = oom_kills()
        self._last_words: deque[str] = deque(maxlen=LAST_WORDS)
        self._log = log_path.open("a", encoding="utf-8") if log_path else None
        wrapped = dying_with(os.getpid(), args)
        LOG.info("start %s: %s", name, shlex.join(wrapped))
        self._popen = _popen(name, wrapped)
        self._child = self._note(wrapped)
        self._readers = [
            self._reader(self._popen.stdout, self._take_event),
            self._reader(self._popen.stderr, self._take_word),
        ]

    @property
    def pid(self) -> int:
        """Process id; the wrappers exec, so it is the program's own."""
        return self._popen.pid

    @property
    def last_words(self) -> tuple[str, ...]:
        """The last lines of its standard error."""
        return tuple(self._last_words)

    def poll(self) -> int | None:
        """Exit code, or None while it runs."""
        return self._popen.poll()

    def send(self, message: JsonObject) -> None:
        """Write one JSON line to its standard input."""
        assert self._popen.stdin is not None
        try:
            self._popen.stdin.write(json.dumps(message) + "\n")
            self._popen.stdin.flush()
        except (BrokenPipeError, OSError) as error:
            raise self.failure("has closed its input") from error

    def _cause(self) -> str:
        """Its last words; of one that was killed, whether memory had run out."""
        if self.poll() == -signal.SIGKILL and oom_kills() > self._oom_kills:
            return "memory ran out, and the kernel's OOM killer ended processes"
        return super()._cause()

    def _next_event(self, deadline_ns: int) -> JsonObject | None:
        return self._events.get(timeout=0.1)

    def wait_exit(self, timeout_s: float) -> int:
        """Wait for its end; returns the exit code."""
        try:
            code = self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise self.failure(f"did not end within {timeout_s:g} s") from error
        self._finish(code)
        return code

    def stop(self) -> None:
        """End it: SIGTERM, and SIGKILL after a grace time. Does nothing when it has ended."""
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._popen.wait(STOP_GRACE_S)
        if self._popen.poll() is None:
            LOG.warning("%s does not end on SIGTERM: SIGKILL", self.name)
            self._popen.kill()
        self._finish(self._popen.wait())

    def failure(self, problem: str) -> NashbedError:
        """An error that names the process and quotes its last words."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(0.2)
        code = self._popen.poll()
        for thread in self._readers if code is not None else ():
            thread.join(1.0)
        return self._described(problem, code)

    def _note(self, args: Sequence[str]) -> ChildProcess | None:
        started = start_time(self.pid)
        if self._register is None or started is None:
            return None
        child = ChildProcess(pid=self.pid, start=started, executables=self._executables(args))
        self._register.add_process(child)
        return child

    def _executables(self, args: Sequence[str]) -> tuple[str, ...]:
        """What it may be running, as `ChildProcess` has it."""
        return tuple(dict.fromkeys(_real(a) for a in args if shutil.which(a)))

    def _finish(self, code: int) -> None:
        for thread in self._readers:
            thread.join(2.0)
        self._close_streams()
        if self._log is not None:
            self._log.close()
            self._log = None
        if self._register is not None:
            self._register.remove_process(self.pid)
            self._register = None
            LOG.info("end %s (pid %d): %d", self.name, self.pid, code)

    def _close_streams(self) -> None:
        """Close what nobody reads any more; closing waits for a reader, and so might for ever."""
        streams = [self._popen.stdin]
        for thread, stream in zip(
            self._readers, (self._popen.stdout, self._popen.stderr), strict=True
        ):
            if not thread.is_alive():
                streams.append(stream)
        for stream in streams:
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _reader(self, stream: IO[str] | None, take: Callable[[str], None]) -> threading.Thread:
        assert stream is not None

        def read() -> None:
            with contextlib.suppress(ValueError, OSError):
                for line in stream:
                    take(line.rstrip("\n"))
            if stream is self._popen.stdout:
                self._events.put(None)

        thread = threading.Thread(target=read, name=f"{self.name}-reader", daemon=True)
        thread.start()
        return thread

    def _take_event(self, line: str) -> None:
        LOG.debug("%s says %s", self.name, line[:2000])
        message = self._read_event(line)
        if message is not None:
            self._events.put(message)

    def _take_word(self, line: str) -> None:
        if line.strip():
            self._last_words.append(line.strip())
        LOG.debug("%s stderr: %s", self.name, line[:2000])
        if self._log is not None:
            self._log.write(line + "\n")


class ProgramOfOthers(Process):
    """A program that is no part of nashbed; the processes that it starts end with it.

    Args:
        name: What it is called in errors and in the log.
        output: The file that its standard error goes to.
        register: Where it is noted as ours.
    """

    def __init__(
        self, name: str, args: Sequence[str], output: Path, register: ProcessRegister | None = None
    ) -> None:
        self._output = output
        super().__init__(name, ["sh", "-c", 'exec "$@" 2>"$0"', str(output), *args], register)

    @property
    def last_words(self) -> tuple[str, ...]:
        """The last lines of its file; where there are none, what kept it from being started."""
        return last_lines(self._output) or super().last_words

    def _executables(self, args: Sequence[str]) -> tuple[str, ...]:
        return ()

    def _finish(self, code: int) -> None:
        ChildProcess(pid=self.pid, start=0, executables=()).end_descendants()
        super()._finish(code)


def last_lines(path: Path) -> tuple[str, ...]:
    """The last lines of a file that are not empty; none where it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ()
    return tuple(line.strip() for line in lines if line.strip())[-LAST_WORDS:]


def _real(program: str) -> str:
    path = shutil.which(program)
    assert path is not None
    return str(Path(path).resolve())


def _popen(name: str, args: Sequence[str]) -> subprocess.Popen[str]:
    try:
        # A session of its own: Ctrl-C in the terminal reaches only us, and we stop children.
        return subprocess.Popen(
            list(args),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        kind = HostError if error.errno in (errno.ENOMEM, errno.EAGAIN) else PrerequisiteError
        raise kind(f"{name}: cannot start {args[0]}: {error.strerror}") from error
