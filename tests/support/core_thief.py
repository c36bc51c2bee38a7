"""A machine that takes cores away: every core once in 2 s, at a random moment, for 20 ms.

`python -m tests.support.core_thief` does it until it is stopped; `stolen_cores()` while a block
runs. A process for each core holds it at real-time priority and with softirqs off (hold_core.py):
to everything on that core it looks as if a hypervisor had given the core to somebody else.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .hold_core import CoreHolder, HoldError

USUAL_MS = 20.0
USUAL_EVERY_S = 2.0
PRIORITY = 50
"""Above every ordinary program; the kernel's own real-time threads may be above it."""


def main(words: Sequence[str] | None = None) -> None:
    """Take cores until a signal ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", type=int, action="append", help="a core (default: every core)")
    parser.add_argument("--ms", type=float, default=USUAL_MS, help="how long each time")
    parser.add_argument(
        "--every", type=float, default=USUAL_EVERY_S, help="once in so many seconds"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    args = parser.parse_args(words)
    cores = args.core or sorted(os.sched_getaffinity(0))
    for core in cores[1:]:
        _fork(core, args.ms / 1e3, args.every, args.seed)
    _steal(cores[0], args.ms / 1e3, args.every, args.seed, os.getppid())


@contextmanager
def stolen_cores(
    cores: Sequence[int], hold_ms: float = USUAL_MS, every_s: float = USUAL_EVERY_S, seed: int = 1
) -> Iterator[None]:
    """Take cores while the block runs.

    Args:
        hold_ms: How long each is held each time.
        every_s: Once in each so many seconds, at a random moment of them.
        seed: Of the moments.

    Raises:
        HoldError: They could not be taken until the block's end.
    """
    words = [word for core in cores for word in ("--core", str(core))]
    words += ["--ms", str(hold_ms), "--every", str(every_s), "--seed", str(seed)]
    thief = subprocess.Popen([sys.executable, "-m", "tests.support.core_thief", *words])
    try:
        yield
        if thief.poll() is not None:
            raise HoldError("the program that takes cores has ended by itself")
    finally:
        thief.terminate()
        thief.wait()


def _fork(core: int, hold_s: float, every_s: float, seed: int) -> None:
    parent = os.getpid()
    if os.fork() == 0:
        _steal(core, hold_s, every_s, seed, parent)


def _steal(core: int, hold_s: float, every_s: float, seed: int, parent: int) -> None:
    """Take a core until the parent has ended."""
    os.sched_setaffinity(0, {core})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    holder = CoreHolder()
    moments = random.Random(f"{seed}/{core}")
    begin = time.monotonic()
    while os.getppid() == parent:
        wait_until(begin + moments.uniform(0, every_s))
        holder.hold(hold_s)
        begin += every_s


def wait_until(moment: float) -> None:
    """Sleep until a time of time.monotonic()."""
    time.sleep(max(0.0, moment - time.monotonic()))


if __name__ == "__main__":
    main()
