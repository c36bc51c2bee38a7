"""What is refused before anything runs."""

import pytest
from nashbed.controlplane.config import parse_scenario, parse_testbed
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.contract.testbed import MIB, Testbed
from nashbed.controlplane.machine.guest.memory import MemoryRoom
from nashbed.controlplane.plan.estimates import guest_takes_bytes
from nashbed.controlplane.run import planning
from nashbed.controlplane.targets.dpdk import dpdk_capabilities
from tests.unit.controlplane.conftest import SCENARIO, plan_of, scenario_with

VIRTUAL = "name: virtual\ntarget: virtual\ncapacity: {rate: 1gbit, lanes: 4}\n"
MISSING = "no kernel 6.12 for virtual time is built: run `make virtual KERNEL=6.12`"


@pytest.mark.parametrize(("guests", "lanes"), [(0.5, 1), (1.5, 1), (2.5, 2), (100, 3)])
def test_a_plan_has_as_many_lanes_as_there_is_memory_for_and_says_so(
    monkeypatch: pytest.MonkeyPatch, guests: float, lanes: int
) -> None:
    scenario = parse_scenario(SCENARIO, "small.yaml")
    bed = parse_testbed(VIRTUAL, "virtual.yaml")
    monkeypatch.setattr(planning, "memory_room", lambda: MemoryRoom(10**12, 10**12, "a test"))
    plan = planning.plan_run(scenario, bed, lambda *_: [])
    assert (plan.lanes, plan.memory_short) == (3, "")
    takes = guest_takes_bytes(plan.trials[0].setting)
    free = int(guests * takes)
    monkeypatch.setattr(planning, "memory_room", lambda: MemoryRoom(free, 10**12, "a test"))
    plan = planning.plan_run(scenario, bed, lambda *_: [])
    said = (
        f"memory for {lanes} of 4 lanes: {free // MIB} MiB free (a test), and a trial takes "
        f"{takes // MIB} MiB"
    )
    assert (plan.lanes, plan.memory_short) == (lanes, said if lanes < 3 else "")
    on_cluster = planning.plan_run(scenario, bed, lambda *_: [], seats=3)
    assert (on_cluster.lanes, on_cluster.memory_short) == (3, "")


def test_a_kernel_that_is_not_built(testbed: Testbed, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def find_kernel(name: str) -> None:
        asked.append(name)
        if name != "6.1":
            raise HostError(MISSING)

    monkeypatch.setattr(planning, "find_kernel", find_kernel)
    can = dpdk_capabilities(testbed.dataplane).model_copy(update={"isolated": True})
    planning.require_kernels(plan_of(scenario_with("small", "usual"), testbed, can))
    assert asked == []  # the testbed's own is looked for when something runs
    swept = scenario_with("sweep: {", 'sweep: {kernel: ["6.12", "6.1"], ')
    with pytest.raises(HostError, match=MISSING):
        planning.require_kernels(plan_of(swept, testbed, can))
    assert asked == ["6.1", "6.12"]
