"""Who runs on which core: each packet loop has one, and what computes beside goes last.

A shield keeps everything else off the loops' cores while a run lasts. A packet loop must look at
its wires every few microseconds. On a machine with two cores the flows fill the other core, so the
scheduler sends every passing process and the kernel's own unbound threads to the loop's core, where
each holds it until the next timer tick (4 ms at 250 Hz): measured here at 600 Mbit/s, the 99.9th
percentile of lateness falls from 2.6 ms to 0.2 ms when they are kept away. A real-time class does
not help: its throttle stops the loop for 50 ms in every second.

Only tasks that may run on every core are moved, and only those are moved back.
"""

import logging
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...contract.model import ContractModel
from ..process.table import start_time

LOG = logging.getLogger(__name__)

WORKQUEUE_MASK = Path("/sys/devices/virtual/workqueue/cpumask")
ONLINE = Path("/sys/devices/system/cpu/online")
NICE = 10


class Shield(ContractModel):
    """What a shield changes, enough to undo it.

    Attributes:
        cores: The shielded cores.
        online: All cores.
        workqueue_mask: The kernel's mask for unbound work before; empty if it has none.
        others: Tasks (thread id, start time) that were off those cores before, and on every other.
    """

    cores: tuple[int, ...]
    online: tuple[int, ...]
    workqueue_mask: str
    others: tuple[tuple[int, int], ...]

    @property
    def rest(self) -> set[int]:
        """Every core but the shielded ones."""
        return set(self.online) - set(self.cores)


def plan_shield(cores: tuple[int, ...]) -> Shield | None:
    """What raising a shield would change; None where no core would be left for the others."""
    online = parse_cores(ONLINE.read_text(encoding="utf-8"))
    rest = online - set(cores)
    if not rest or not online.issuperset(cores):
        return None
    others = [(tid, start_time(tid) or 0) for tid in _tasks() if _affinity(tid) == rest]
    mask = WORKQUEUE_MASK.read_text(encoding="utf-8").strip() if WORKQUEUE_MASK.exists() else ""
    return Shield(
        cores=cores, online=tuple(sorted(online)), workqueue_mask=mask, others=tuple(others)
    )


def raise_shield(shield: Shield) -> None:
    """Move what may run on every core off the shielded ones."""
    moved = _move(set(shield.online), shield.rest)
    _write_workqueue_mask(shield, f"{sum(1 << core for core in shield.rest):x}")
    LOG.info("cores %s shielded: %d tasks moved to the others", names(shield.cores), moved)


def lower_shield(shield: Shield) -> None:
    """Let everything that was moved, and what it started, run on every core again."""
    before = set(shield.others)
    moved = _move(shield.rest, set(shield.online), but=before)
    _write_workqueue_mask(shield, shield.workqueue_mask)
    LOG.info("cores %s free for all again: %d tasks", names(shield.cores), moved)


def names(cores: Iterable[int]) -> str:
    """Cores as a person lists them: "1, 2"."""
    return ", ".join(map(str, cores))


def parse_cores(text: str) -> set[int]:
    """The kernel's list of cores, "0-3,6", as a set."""
    cores: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cores |= set(range(int(first), int(last or first) + 1))
    return cores


def _tasks() -> Iterator[int]:
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with suppress(OSError):
                yield from (int(task.name) for task in (process / "task").iterdir())


def _affinity(tid: int) -> set[int]:
    try:
        return os.sched_getaffinity(tid)
    except OSError:
        return set()


def _move(from_cores: set[int], to_cores: set[int], but: set[tuple[int, int]] | None = None) -> int:
    """Give tasks of exactly one affinity another; how many. Per-core kernel threads refuse."""
    moved = 0
    for tid in list(_tasks()):
        if _affinity(tid) != from_cores or (but and (tid, start_time(tid) or 0) in but):
            continue
        with suppress(OSError):
            os.sched_setaffinity(tid, to_cores)
            moved += 1
    return moved


def _write_workqueue_mask(shield: Shield, mask: str) -> None:
    if shield.workqueue_mask:
        # Without permission, only the kernel's unbound work is not moved.
        with suppress(OSError):
            WORKQUEUE_MASK.write_text(mask, encoding="utf-8")


@contextmanager
def lower_priority() -> Iterator[None]:
    """Let the measuring trials go first while this thread computes.

    Only the calling thread is made nicer (on Linux a thread has its own), so that the flow
    generators started by others are not.
    """
    thread = threading.get_native_id()
    usual = os.getpriority(os.PRIO_PROCESS, thread)
    os.setpriority(os.PRIO_PROCESS, thread, min(19, usual + NICE))
    try:
        yield
    finally:
        _restore_priority(thread, usual)


def _restore_priority(thread: int, usual: int) -> None:
    """Only root may become less nice again; without root nothing is measured anyway."""
    if os.geteuid() == 0:
        os.setpriority(os.PRIO_PROCESS, thread, usual)
