"""The flows of a trial: numbers, addresses, starts, and their delay lines."""

from __future__ import annotations

from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.plan.attempt import group_delays, trial_flows
from tests.unit.controlplane.conftest import plan_of


def test_flows_are_numbered_over_groups_and_strategies(
    scenario: Scenario, testbed: Testbed
) -> None:
    trial = next(t for t in plan_of(scenario, testbed).trials if t.key == "b2bdp-k01-r0")
    flows = trial_flows(scenario, trial, seed=7, lane=5)
    assert [(f.index, f.cc) for f in flows] == [(0, "cubic"), (1, "cubic"), (2, "bbr")]
    assert {f.src for f in flows} == {"10.64.5.1"}
    assert {f.dst for f in flows} == {"10.65.5.1"}
    assert [f.sport for f in flows] == [10000, 10001, 10002]
    assert all(0 <= f.start_ns <= scenario.start_jitter.ns for f in flows)
    assert len({f.start_ns for f in flows}) == 3
    assert flows == trial_flows(scenario, trial, seed=7, lane=5)


def test_the_base_rtt_is_split_over_both_directions(scenario: Scenario, testbed: Testbed) -> None:
    (delay,) = group_delays(scenario, plan_of(scenario, testbed).trials[0], seed=1)
    assert (delay.forward_ns, delay.reverse_ns) == (5_000_000, 5_000_000)
    assert delay.loss_ppb == 0
