"""The kernel's work for the network, core by core: backlogs, ksoftirqd, interrupts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..contract.strain import CoreLoad
from .cpu_time import Ticks, cpu_time, read_ticks, shares
from .procfs import threads_named

SOFTNET = Path("/proc/net/softnet_stat")
_DROPPED, _SQUEEZED, _WAITING, _CORE = 1, 2, 11, 12
"""Columns of softnet_stat, in hexadecimal; the last two came with Linux 5.10."""


@dataclass(frozen=True)
class Backlog:
    """A core's line of softnet_stat.

    Attributes:
        dropped: Packets for which its backlog had no room.
        squeezed: How often its budget of time or packets was used up before its work was done.
        waiting: Packets in the backlog now.
    """

    dropped: int
    squeezed: int
    waiting: int


@dataclass(frozen=True)
class KernelCounts:
    """Everything since boot that a trial's load is the difference of, by core.

    Attributes:
        backlogs: What softnet_stat says.
        ksoftirqd_ns: Processor time of each core's ksoftirqd.
        ticks: What /proc/stat says.
    """

    backlogs: dict[int, Backlog]
    ksoftirqd_ns: dict[int, int]
    ticks: Ticks


def read_kernel_counts() -> KernelCounts:
    """The counts as they are now."""
    return KernelCounts(
        read_backlogs(SOFTNET.read_text()),
        {core: cpu_time(pid).total_ns for core, pid in _ksoftirqd().items()},
        read_ticks(),
    )


@cache
def _ksoftirqd() -> dict[int, int]:
    """Core -> process id of its ksoftirqd; they live as long as the kernel."""
    named = threads_named("ksoftirqd/")
    return {int(name.rpartition("/")[2]): pid for name, pid in named.items()}


def read_backlogs(text: str) -> dict[int, Backlog]:
    """The backlog of each core.

    Args:
        text: Content of softnet_stat.
    """
    found = {}
    for row, line in enumerate(text.splitlines()):
        values = [int(value, 16) for value in line.split()]
        told = len(values) > _CORE
        found[values[_CORE] if told else row] = Backlog(
            values[_DROPPED], values[_SQUEEZED], values[_WAITING] if told else 0
        )
    return found


def load_between(
    before: KernelCounts, after: KernelCounts, flow_cores: Iterable[int]
) -> tuple[CoreLoad, ...]:
    """The load of each core in between; one without a tick in that time is left out.

    Args:
        before: The counts at the beginning.
        after: Those at the end.
        flow_cores: The cores that work for the flows.
    """
    working = set(flow_cores)
    return tuple(
        CoreLoad(
            core=share.core,
            flows=share.core in working,
            squeezed=late.squeezed - early.squeezed,
            dropped=late.dropped - early.dropped,
            waiting=late.waiting,
            ksoftirqd_ns=after.ksoftirqd_ns.get(share.core, 0)
            - before.ksoftirqd_ns.get(share.core, 0),
            softirq=round(share.softirq, 6),
            steal=round(share.steal, 6),
        )
        for share in shares(before.ticks, after.ticks)
        if (early := before.backlogs.get(share.core)) and (late := after.backlogs.get(share.core))
    )
