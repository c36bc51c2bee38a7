"""What /proc says about a process: its fields, and enough to recognise it later."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Protocol

from ...contract.model import ContractModel


def start_time(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot, or None when there is none."""
    fields = stat_fields(pid)
    return None if fields is None or fields[0] in ("Z", "X") else int(fields[19])


def session_members(session: int) -> list[int]:
    """Processes of a session, its leader included."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if (fields := stat_fields(pid)) and int(fields[3]) == session]


def stat_fields(pid: int) -> list[str] | None:
    """The fields of a process's stat from its state on, or None when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command name may hold spaces and brackets: fields are counted after its last one.
    return stat.rpartition(")")[2].split()


def executable(pid: int) -> str | None:
    """Path of a process's executable, or None when it cannot be read."""
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return None


def threads_named(prefix: str, folder: Path = Path("/proc")) -> dict[str, int]:
    """Processes and kernel threads whose names begin with a prefix: name -> process id."""
    found = {}
    for path in folder.glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            name = path.read_text(errors="replace").strip()
            if name.startswith(prefix):
                found[name] = int(path.parent.name)
    return found


def command_lines(folder: Path = Path("/proc")) -> dict[int, list[str]]:
    """The arguments of every process that this user may see, by its id."""
    found = {}
    for path in folder.glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found[int(path.parent.name)] = path.read_text(errors="replace").split("\0")[:-1]
    return found


def oom_kills(vmstat: Path = Path("/proc/vmstat")) -> int:
    """Processes that the kernel has ended for want of memory since it booted, where it tells."""
    try:
        lines = vmstat.read_text().splitlines()
    except OSError:
        return 0
    words = (line.split() for line in lines)
    return next((int(count) for name, count in words if name == "oom_kill"), 0)


class ChildProcess(ContractModel):
    """A process that the run started.

    Attributes:
        pid: Its process id.
        start: Its start time in clock ticks since boot.
        executables: Files it may be running: the wrappers it is started through, then itself.
    """

    pid: int
    start: int
    executables: tuple[str, ...]

    def is_alive(self) -> bool:
        """Whether this very process (not a later one with its pid) is running."""
        return start_time(self.pid) == self.start and self._runs(self.pid)

    def descendants(self) -> list[int]:
        """What this process has started of its own kind, which may outlive it.

        Every process that is started here leads a session, whose number is not given to another
        process as long as one of the session is there.
        """
        if start_time(self.pid) not in (None, self.start):
            return []
        return [p for p in session_members(self.pid) if p != self.pid and self._runs(p)]

    def _runs(self, pid: int) -> bool:
        running = (executable(pid) or "").removesuffix(" (deleted)")
        return running in self.executables


def end_descendants(child: ChildProcess) -> None:
    """Kill what a process has started of its own kind."""
    for pid in child.descendants():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class ProcessRegister(Protocol):
    """Where the processes that a run has started are noted, for whoever removes a dead run."""

    def add_process(self, child: ChildProcess) -> None:
        """Note a process that was started."""

    def remove_process(self, pid: int) -> None:
        """Forget a process that has ended."""
