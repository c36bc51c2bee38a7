"""What /proc says about a process: enough to know it again, and the processor time it took."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class CpuTime:
    """Processor time of a process, all its threads together, in steps of 10 ms.

    Attributes:
        user_ns: In its own code.
        system_ns: In the kernel, for it; with what interrupted it there.
    """

    user_ns: int = 0
    system_ns: int = 0

    @property
    def total_ns(self) -> int:
        """Both."""
        return self.user_ns + self.system_ns

    def __add__(self, other: CpuTime) -> CpuTime:
        return CpuTime(self.user_ns + other.user_ns, self.system_ns + other.system_ns)

    def __sub__(self, other: CpuTime) -> CpuTime:
        return CpuTime(self.user_ns - other.user_ns, self.system_ns - other.system_ns)


def cpu_time(pid: int) -> CpuTime:
    """Processor time of a process so far; nothing when there is none."""
    fields = _fields(pid)
    if fields is None:
        return CpuTime()
    return CpuTime(int(fields[11]) * TICK_NS, int(fields[12]) * TICK_NS)


def start_time(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot, or None when there is none."""
    fields = _fields(pid)
    return None if fields is None or fields[0] in ("Z", "X") else int(fields[19])


def _fields(pid: int) -> list[str] | None:
    """The fields of a process's stat from its state on, or None when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command name may hold spaces and brackets: fields are counted after its last one.
    return stat.rpartition(")")[2].split()


def executable(pid: int) -> str | None:
    """Path of a process's executable, or None when it cannot be told."""
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return None
