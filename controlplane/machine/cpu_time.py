"""Processor time: of one process, and of every core between two moments."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..contract.capacity import CoreShares
from .procfs import stat_fields

STAT = Path("/proc/stat")
TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")

Ticks = dict[int, tuple[int, ...]]
"""Core -> ticks since boot: user, nice, system, idle, iowait, irq, softirq, steal."""


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
    fields = stat_fields(pid)
    if fields is None:
        return CpuTime()
    return CpuTime(int(fields[11]) * TICK_NS, int(fields[12]) * TICK_NS)


def read_ticks(text: str | None = None) -> Ticks:
    """Ticks of every core that is online.

    Args:
        text: Content of /proc/stat; None: it is read.
    """
    ticks: Ticks = {}
    for line in (STAT.read_text() if text is None else text).splitlines():
        name, *values = line.split()
        if name.startswith("cpu") and name[3:].isdigit():
            # Guests' time, in the last two fields, is in user and nice already.
            ticks[int(name[3:])] = tuple(int(value) for value in values[:8])
    return ticks


def shares(before: Ticks, after: Ticks) -> tuple[CoreShares, ...]:
    """What each core did in between; cores without a tick are left out."""
    cores = []
    for core in sorted(before.keys() & after.keys()):
        ticks = [b - a for a, b in zip(before[core], after[core], strict=True)]
        whole = sum(ticks)
        if whole <= 0:
            continue
        user, nice, system, idle, iowait, irq, softirq, steal = (tick / whole for tick in ticks)
        cores.append(
            CoreShares(
                core=core,
                user=user + nice,
                system=system,
                softirq=irq + softirq,
                idle=idle + iowait,
                steal=steal,
            )
        )
    return tuple(cores)
