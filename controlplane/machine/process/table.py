"""The process table: which processes are there, and whether one is still the same.

A control group of a run's own could be killed as a whole (cgroup.kill), but guests run without root
and containers have their groups read-only, so what is here would be needed beside it.
"""

import contextlib
import os
import signal
from pathlib import Path
from typing import Protocol

import psutil

from ...contract.errors import HostError
from ...contract.model import ContractModel
from .clock import poll

END_TIMEOUT_S = 5.0


class ChildProcess(ContractModel):
    """A process that a run started, noted so that a later start can end it.

    Attributes:
        pid: Its process id.
        start: Its start time in clock ticks since boot.
        executables: Files it may be running: the wrappers it is started through, then itself;
            empty: any, for a program of others.
    """

    pid: int
    start: int
    executables: tuple[str, ...]

    def is_alive(self) -> bool:
        """Whether this very process (not a later one with its pid) is running."""
        return start_time(self.pid) == self.start and self._runs(self.pid)

    def end(self) -> None:
        """Kill exactly this process and its descendants; a later one with its pid is left alone.

        Raises:
            HostError: It does not end.
        """
        self.end_descendants()
        if self.is_alive():
            _kill(self.pid)
        poll(
            lambda: None if self.is_alive() else True,
            END_TIMEOUT_S,
            lambda: HostError(f"process {self.pid} does not end"),
        )

    def end_descendants(self) -> None:
        """Kill what `descendants` finds."""
        for pid in self.descendants():
            _kill(pid)

    def descendants(self) -> list[int]:
        """What this process has started of its own kind, which may outlive it.

        Every process that is started here leads a session, whose number is not given to another
        process as long as one of the session is there.
        """
        if start_time(self.pid) not in (None, self.start):
            return []
        return [p for p in _session_members(self.pid) if p != self.pid and self._runs(p)]

    def _runs(self, pid: int) -> bool:
        running = (executable(pid) or "").removesuffix(" (deleted)")
        return not self.executables or running in self.executables


class ProcessRegister(Protocol):
    """Keeps a list of the processes that a run has started, on disk: see `ChildProcess`."""

    def add_process(self, child: ChildProcess) -> None:
        """Note a process that was started."""

    def remove_process(self, pid: int) -> None:
        """Forget a process that has ended."""


def start_time(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot, or None when there is none.

    psutil's time of creation moves with the wall clock, so it is no identity in a file.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    # The command name may hold spaces and brackets: fields are counted after its last one.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def executable(pid: int) -> str | None:
    """Path of a process's executable, or None when it cannot be read (psutil would guess one)."""
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return None


def command_lines() -> dict[int, list[str]]:
    """The arguments of every process that this user may see, by its id."""
    return {each.pid: each.info["cmdline"] or [] for each in psutil.process_iter(["cmdline"])}


def oom_kills(vmstat: Path = Path("/proc/vmstat")) -> int:
    """Processes that the kernel has ended for want of memory since it booted, where it tells."""
    try:
        lines = vmstat.read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    words = (line.split() for line in lines)
    return next((int(count) for name, count in words if name == "oom_kill"), 0)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _session_members(session: int) -> list[int]:
    """Processes of a session, its leader included."""
    members = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if os.getsid(pid) == session:
                members.append(pid)
    return members
