"""How often the machine itself keeps a core from running: the ceiling of every packet loop on it.

A hypervisor that has given a virtual machine's cores to others, or an interrupt, is seen by a
program that does nothing but look at the clock, at the highest ordinary priority.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ...contract.certificate import Stalls
from ..process import command

HIGHEST_PRIORITY = -20
MARGIN_S = 30.0


def watch_machine(core: int, seconds: float, bound_ns: int, busy: Sequence[int] = ()) -> Stalls:
    """Watch a core for pauses.

    Args:
        bound_ns: Shorter pauses do not count.
        busy: Cores that are kept busy meanwhile.

    Raises:
        HostError: There is no such core.
    """
    cores = (core, *(other for other in busy if other != core))
    with ThreadPoolExecutor(len(cores)) as pool:
        watched = [pool.submit(_watch_one, each, seconds, bound_ns) for each in cores]
        return watched[0].result()


def sum_up(core: int, seconds: float, bound_ns: int, pauses_ns: Sequence[int]) -> Stalls:
    """What pauses mean for whatever is due while they last."""
    long = [pause for pause in pauses_ns if pause > bound_ns]
    return Stalls(
        core=core,
        seconds=seconds,
        bound_ns=bound_ns,
        pauses=len(long),
        longest_ns=max(long, default=0),
        late_share=sum(pause - bound_ns for pause in long) / (seconds * 1e9),
    )


def _watch_one(core: int, seconds: float, bound_ns: int) -> Stalls:
    words = [str(core), str(seconds), str(bound_ns)]
    program = [sys.executable, "-m", "nashbed.controlplane.machine.host.stalls", *words]
    done = command.run(program, timeout_s=seconds + MARGIN_S)
    return Stalls.model_validate_json(done.out)


def _pauses(seconds: float, bound_ns: int) -> list[int]:
    now = time.monotonic_ns
    pauses = []
    last = now()
    end = last + int(seconds * 1e9)
    while last < end:
        at = now()
        if at - last > bound_ns:
            pauses.append(at - last)
        last = at
    return pauses


def main(core: int, seconds: float, bound_ns: int) -> None:
    """Watch a core, on which this process then runs; the result is JSON on standard output."""
    os.sched_setaffinity(0, {core})
    if os.geteuid() == 0:
        os.setpriority(os.PRIO_PROCESS, 0, HIGHEST_PRIORITY)
    stalls = sum_up(core, seconds, bound_ns, _pauses(seconds, bound_ns))
    sys.stdout.write(json.dumps(stalls.model_dump()) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
