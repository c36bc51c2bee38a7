"""What an attempt asks of its lane."""

from __future__ import annotations

from pathlib import Path

from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.plan.attempt import make_attempt
from nashbed.controlplane.targets.virtual import virtual_capabilities
from tests.unit.controlplane.conftest import plan_of, scenario_with


def test_the_machine_of_a_lane_has_a_seed_and_a_kernel(testbed: Testbed) -> None:
    scenario = scenario_with("sweep: {", 'sweep: {kernel: ["6.12"], ')
    trials = plan_of(scenario, testbed, virtual_capabilities()).trials
    programs = [make_attempt(scenario, t, 0, 0, Path("nowhere")).program() for t in trials]
    assert [program.kernel for program in programs] == ["6.12"] * 3
    seeds = {program.seed for program in programs}
    assert len(seeds) == 3
    assert all(0 < seed < 2**63 for seed in seeds)
    again = make_attempt(scenario, trials[0], 0, 0, Path("elsewhere")).program()
    assert again.seed == programs[0].seed
    assert make_attempt(scenario, trials[0], 1, 0, Path("nowhere")).program().seed not in seeds
