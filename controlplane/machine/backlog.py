"""Room for the frames that wait for a core: the kernel's backlog, raised while a run lasts.

Frames for the hosts wait in the backlog of the core that the flows run on. When the hypervisor
takes that core away, a thousand frames (the kernel's default) come together within 20 ms at
600 Mbit/s, and the rest is lost to every trial that is running. The setting is the whole machine's.
"""

from __future__ import annotations

from pathlib import Path

from ..contract.model import ContractModel
from .log import LOG

MAX_BACKLOG = Path("/proc/sys/net/core/netdev_max_backlog")
ROOM_PACKETS = 16384
"""What comes in 0.2 s at 1 Gbit/s: longer than any pause that a trial passes with."""


class RaisedBacklog(ContractModel):
    """What a raised backlog changes, enough to undo it.

    Attributes:
        before: Packets that it took before.
    """

    before: int


def plan_backlog() -> RaisedBacklog | None:
    """What raising the backlog would change; None where it is large enough, or cannot be read."""
    before = _packets()
    return RaisedBacklog(before=before) if before is not None and before < ROOM_PACKETS else None


def raise_backlog(backlog: RaisedBacklog) -> None:
    """Make room; where that is not allowed, lost frames are counted and trials judged by them."""
    if _write(ROOM_PACKETS):
        LOG.info("backlog of each core: %d packets, before %d", ROOM_PACKETS, backlog.before)


def lower_backlog(backlog: RaisedBacklog) -> None:
    """Put back what was there, unless somebody else has changed it meanwhile."""
    if _packets() == ROOM_PACKETS:
        _write(backlog.before)


def _packets() -> int | None:
    try:
        return int(MAX_BACKLOG.read_text())
    except (OSError, ValueError):
        return None


def _write(packets: int) -> bool:
    try:
        MAX_BACKLOG.write_text(f"{packets}\n")
    except OSError as error:
        LOG.warning("%s: cannot be set to %d: %s", MAX_BACKLOG, packets, error.strerror)
        return False
    return True
