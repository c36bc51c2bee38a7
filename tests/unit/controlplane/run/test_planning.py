"""What is refused before anything runs."""

from __future__ import annotations

import pytest
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.run import planning
from nashbed.controlplane.targets.dpdk import dpdk_capabilities
from tests.unit.controlplane.conftest import plan_of, scenario_with

MISSING = "no kernel 6.12 for virtual time is built: run `make virtual KERNEL=6.12`"


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
