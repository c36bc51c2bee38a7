"""What the cores did between two moments, from /proc/stat."""

from __future__ import annotations

from pathlib import Path

from ..contract.capacity import CoreShares

STAT = Path("/proc/stat")

Ticks = dict[int, tuple[int, ...]]
"""Core -> ticks since boot: user, nice, system, idle, iowait, irq, softirq, steal."""


def read_ticks(text: str | None = None) -> Ticks:
    """Ticks of every core that is online.

    Args:
        text: What /proc/stat says; None: read it.
    """
    found: Ticks = {}
    for line in (STAT.read_text() if text is None else text).splitlines():
        name, *values = line.split()
        if name.startswith("cpu") and name[3:].isdigit():
            # Guests' time, in the last two fields, is in user and nice already.
            found[int(name[3:])] = tuple(int(value) for value in values[:8])
    return found


def shares(before: Ticks, after: Ticks) -> tuple[CoreShares, ...]:
    """What each core did in between; cores without a tick are left out."""
    found = []
    for core in sorted(before.keys() & after.keys()):
        ticks = [b - a for a, b in zip(before[core], after[core], strict=True)]
        whole = sum(ticks)
        if whole <= 0:
            continue
        user, nice, system, idle, iowait, irq, softirq, steal = (tick / whole for tick in ticks)
        found.append(
            CoreShares(
                core=core,
                user=user + nice,
                system=system,
                softirq=irq + softirq,
                idle=idle + iowait,
                steal=steal,
            )
        )
    return tuple(found)
