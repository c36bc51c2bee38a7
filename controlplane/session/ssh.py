"""Another machine over ssh: its commands and processes, by argument lists.

One connection is opened and shared (ControlMaster), so a command costs a round trip and not
a key exchange. The remote shell takes one string; it is made from the arguments in one place
and means exactly these. Only keys are used: nobody is asked for a password.
"""

from __future__ import annotations

import contextlib
import shlex
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..contract.errors import HostError, NashbedError
from . import command
from .command import TIMEOUT_S, Completed
from .process import STOP_GRACE_S, Process

CONNECT_S = 10
LOST = 255
"""ssh's own exit code: the connection, not the command, has failed."""
# Says its process id, then becomes the program. A dying connection takes it along.
_ANNOUNCED = 'echo "{\\"event\\": \\"pid\\", \\"pid\\": $$}"; exec setpriv --pdeathsig KILL -- "$@"'
_WRITTEN = 'umask 077 && mkdir -p "$(dirname "$1")" && cat > "$1"'


class SshMachine:
    """A machine that is reached by ssh. Safe between threads once it is open.

    Args:
        destination: What ssh takes: `user@host`, or a name from its configuration.
        options: More options of ssh, as in `-o`: `Port=2222`.
    """

    def __init__(self, destination: str, options: Sequence[str] = ()) -> None:
        if destination.startswith("-"):
            raise HostError(f"{destination!r} is no machine; write user@host")
        self.destination = destination
        # Short: a socket's path may have 107 bytes.
        self._folder = tempfile.TemporaryDirectory(prefix="nb-ssh-")
        self._options = (
            "BatchMode=yes",
            f"ConnectTimeout={CONNECT_S}",
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
            f"ControlPath={self._folder.name}/c",
            *options,
        )
        self._master: Process | None = None
        self._processes: list[RemoteProcess] = []

    def open(self) -> None:
        """Connect.

        Raises:
            HostError: It cannot be reached, or lets us not in.
        """
        args = self._ssh("-N", "-o", "ControlMaster=yes")
        self._master = Process(f"connection to {self.destination}", args)
        self.run(["true"], timeout_s=CONNECT_S + TIMEOUT_S)

    def run(
        self, args: Sequence[str], *, text: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> Completed:
        """Run a command there and require success; see `command.run`."""
        done = self.attempt(args, text=text, timeout_s=timeout_s)
        if done.code != 0:
            words = (done.err or done.out).strip().splitlines() or [f"exit code {done.code}"]
            raise HostError(f"{self.destination}: `{shlex.join(args)}` failed: {words[-1]}")
        return done

    def attempt(
        self, args: Sequence[str], *, text: str | None = None, timeout_s: float = TIMEOUT_S
    ) -> Completed:
        """Run a command there whose failure is an answer.

        Raises:
            HostError: The machine cannot be reached, or the command takes too long.
        """
        done = command.attempt(self._remote(args), text=text, timeout_s=timeout_s)
        if done.code == LOST:
            words = done.err.strip().splitlines() or ["no reason given"]
            raise HostError(
                f"{self.destination}: ssh: {words[-1]}; does `ssh {self.destination} true` work "
                "without a password?"
            )
        return Completed(tuple(args), done.code, done.out, done.err)

    def start(self, name: str, args: Sequence[str], log_path: Path | None = None) -> RemoteProcess:
        """Start a long-running program there that speaks JSON lines; see `Process`."""
        announced = ["sh", "-c", _ANNOUNCED, "sh", *args]
        local = Process(f"{name} on {self.destination}", self._remote(announced), log_path=log_path)
        process = RemoteProcess(self, local)
        self._processes.append(process)
        return process

    def write_text(self, path: Path, text: str) -> None:
        """Write a file there, and the folders above it; only its owner can read it."""
        self.run(["sh", "-c", _WRITTEN, "sh", str(path)], text=text)

    def read_text(self, path: Path) -> str:
        """Read a file there."""
        return self.run(["cat", str(path)]).out

    def fetch(self, remote: Path, local: Path, timeout_s: float = 600.0) -> None:
        """Copy a file from there, whatever it holds."""
        options = [word for option in self._options for word in ("-o", option)]
        # scp has its own shell on the other side only in old versions; -s is its successor.
        source = f"{self.destination}:{remote}"
        command.run(["scp", "-q", "-s", *options, "--", source, str(local)], timeout_s=timeout_s)

    def close(self) -> None:
        """Stop everything that was started there, and disconnect. Safe to call twice."""
        for process in reversed(self._processes):
            process.stop()
        self._processes.clear()
        if self._master is not None:
            self._master.stop()
            self._master = None
        self._folder.cleanup()

    def _ssh(self, *more: str) -> list[str]:
        options = [word for option in self._options for word in ("-o", option)]
        return ["ssh", *options, *more, "--", self.destination]

    def _remote(self, args: Sequence[str]) -> list[str]:
        """The local command line of a remote command, quoted once for the shell there."""
        return [*self._ssh("-o", "ControlMaster=no"), shlex.join(args)]


class RemoteProcess:
    """A program on another machine, held by its process id there.

    It is running as long as ssh's channel to it is, so the id is its own whenever it is used.
    """

    def __init__(self, machine: SshMachine, local: Process) -> None:
        self._machine = machine
        self._local = local
        self._lock = threading.Lock()
        self._stopped = False
        self.pid = self._announced()

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self._local.name

    def poll(self) -> int | None:
        """Exit code, or None while it runs."""
        return self._local.poll()

    def send(self, message: dict[str, Any]) -> None:
        """Write one JSON line to its standard input."""
        self._local.send(message)

    def wait_event(
        self, event: str, timeout_s: float, stop: threading.Event | None = None
    ) -> dict[str, Any]:
        """Wait for a JSON line with this `event`; see `Process.wait_event`."""
        return self._local.wait_event(event, timeout_s, stop)

    def wait_exit(self, timeout_s: float) -> int:
        """Wait for its end; returns the exit code."""
        return self._local.wait_exit(timeout_s)

    def failure(self, problem: str) -> NashbedError:
        """An error that names the process and quotes its last words."""
        return self._local.failure(problem)

    def stop(self) -> None:
        """End it there: SIGTERM, and SIGKILL after a grace time. Safe to call twice."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            for signal in ("TERM", "KILL"):
                if self._local.poll() is None:
                    self._signal(signal)
            self._local.stop()

    def _signal(self, signal: str) -> None:
        """Send a signal and wait a moment; what fails then is a connection that is lost."""
        with contextlib.suppress(NashbedError):
            self._machine.attempt(["kill", f"-{signal}", str(self.pid)])
            self._local.wait_exit(STOP_GRACE_S)

    def _announced(self) -> int:
        told = self._local.wait_event("pid", CONNECT_S + TIMEOUT_S)
        pid = told.get("pid")
        if not isinstance(pid, int):
            raise self._local.failure(f"said that its process id is {pid!r}")
        return pid
