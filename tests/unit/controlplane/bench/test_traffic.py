"""What came of a measurement's traffic, from looks at its window's begin and end."""

from __future__ import annotations

import pytest
from nashbed.controlplane.bench.traffic import MachineState, TrafficResult
from nashbed.controlplane.contract.messages.dataplane import LoopCounters, SharedCounters
from nashbed.controlplane.machine.host.counters import CpuTime

MS = 10**6


def state(at_ns: int, busy_ns: int) -> MachineState:
    loop = LoopCounters(iterations=1, busy=1, busy_ns=busy_ns, max_gap_ns=1)
    shared = SharedCounters(ports={}, rings={}, loop=loop, unshaped={})
    return MachineState(at_ns, {}, CpuTime(), CpuTime(), shared)


@pytest.mark.parametrize(
    ("busy_ns", "loops", "share"),
    [
        (250 * MS, 1, 0.25),
        (1000 * MS, 2, 0.5),
        # A look of the begin that took 1 ms longer than the end's: busy all the time, and no more.
        (1001 * MS, 1, 1.0),
    ],
)
def test_share_of_its_time_that_a_loop_had_work(busy_ns: int, loops: int, share: float) -> None:
    first, last = state(5, busy_ns=7), state(5 + 1000 * MS, busy_ns=7 + busy_ns)
    assert TrafficResult(first, last, 1e6, 1, 0).busy_share(loops) == share
