"""Plan runs; nothing of what carries them out is imported for it."""

from __future__ import annotations

from nashbed.controlplane.contract.plan import Plan
from nashbed.controlplane.run.planning import plan_run
from nashbed.controlplane.study import adaptive

from .files import ScenarioLike, TestbedLike, read_scenario, read_testbed


def plan(
    scenario: ScenarioLike, testbed: TestbedLike | None = None, *, seats: int | None = None
) -> Plan:
    """Say what a run would do, and what it takes; nothing is touched.

    Args:
        scenario: See `read_scenario`.
        testbed: See `read_testbed`.
        seats: Trials that a cluster runs at once; None: this machine runs them.

    Raises:
        NashbedError: It cannot be run; why.
    """
    return plan_run(read_scenario(scenario), read_testbed(testbed), adaptive.expect, seats)
