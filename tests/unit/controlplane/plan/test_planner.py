"""Scenario -> settings, mixes, trials; what cannot be run is refused with the reason."""

from __future__ import annotations

import pytest
from nashbed.controlplane.config import parse_scenario, parse_testbed
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.plan import Plan
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.target import Capabilities
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.plan.estimates import estimate_seconds, trials_at_once
from nashbed.controlplane.plan.flows import group_delays, trial_flows
from nashbed.controlplane.plan.mixes import mix_label, scenario_mixes
from nashbed.controlplane.plan.planner import make_plan
from nashbed.controlplane.plan.resources import Resources, held_packets
from nashbed.controlplane.plan.seeds import derive
from nashbed.controlplane.plan.settings import scenario_settings
from nashbed.controlplane.targets.dpdk import dpdk_capabilities
from tests.unit.controlplane.conftest import SCENARIO, TESTBED


def scenario_with(old: str, new: str) -> Scenario:
    assert old in SCENARIO
    return parse_scenario(SCENARIO.replace(old, new), "s.yaml").model


def plan_of(scenario: Scenario, testbed: Testbed, can: Capabilities | None = None) -> Plan:
    return make_plan(scenario, testbed, can or dpdk_capabilities(testbed.dataplane))


def test_all_mixes_of_one_group() -> None:
    scenario = scenario_with("[0, 1, 3]", "all")
    mixes = scenario_mixes(scenario)
    assert [mix[0].counts for mix in mixes] == [{"cubic": 3 - k, "bbr": k} for k in range(4)]
    assert [mix_label(scenario, mix) for mix in mixes] == ["k00", "k01", "k02", "k03"]


def test_all_mixes_of_two_groups() -> None:
    more = "\n  - {name: far, count: 2, base_rtt: 30ms}"
    text = SCENARIO.replace("base_rtt: 10ms}", "base_rtt: 10ms}" + more)
    scenario = parse_scenario(text.replace("[0, 1, 3]", "all"), "s.yaml").model
    mixes = scenario_mixes(scenario)
    assert len(mixes) == 4 * 3
    assert mix_label(scenario, mixes[-1]) == "k03_02"
    assert mixes[1][1].counts == {"cubic": 1, "bbr": 1}


def test_all_mixes_of_three_strategies() -> None:
    text = SCENARIO.replace("[cubic, bbr]", "[cubic, bbr, reno]").replace("[0, 1, 3]", "all")
    scenario = parse_scenario(text, "s.yaml").model
    mixes = scenario_mixes(scenario)
    assert len(mixes) == 10  # ways to share 3 flows among 3 strategies
    assert all(sum(mix[0].counts.values()) == 3 for mix in mixes)
    assert mix_label(scenario, mixes[-1]) == "k03x00"


def test_settings_are_named_by_what_is_swept() -> None:
    scenario = scenario_with(
        "sweep: {", "sweep: {rate: [10mbit, 20mbit], base_rtt: [5ms], buffer: [1bdp, 0.5MB], "
    )
    settings = [setting for setting, _ in scenario_settings(scenario)]
    assert [s.label for s in settings] == [
        "c10mbit-t5ms-b1bdp",
        "c10mbit-t5ms-b500kB",
        "c20mbit-t5ms-b1bdp",
        "c20mbit-t5ms-b500kB",
    ]
    assert settings[0].buffer_bytes == 6250  # 10 Mbit/s x 5 ms
    assert settings[1].buffer_bdp == 80


@pytest.mark.parametrize(
    ("buffer", "unit", "value", "cell"),
    [
        ("2bdp", "bytes", 250_000, 0),
        ("64pkt", "packets", 64, 0),
        ("2bdp, cell: 80B", "cells", 3125, 80),
    ],
)
def test_the_limit_is_in_the_unit_that_is_meant(
    buffer: str, unit: str, value: int, cell: int
) -> None:
    ((_, program),) = scenario_settings(scenario_with("2bdp", buffer))
    assert program.limit.model_dump() == {"unit": unit, "value": value, "cell_bytes": cell}


def test_trials_of_a_plan(scenario: Scenario, testbed: Testbed) -> None:
    repeated = scenario.model_copy(update={"trials": 2})
    plan = plan_of(repeated, testbed)
    assert sorted(t.key for t in plan.trials) == sorted(
        f"b2bdp-k{k:02d}-r{r}" for k in (0, 1, 3) for r in (0, 1)
    )
    assert plan.lanes == 4
    assert plan.trials[0].attempt_id(2) == "b2bdp-k00-r0-a2"


def test_neighbouring_mixes_are_spread(testbed: Testbed) -> None:
    text = SCENARIO.replace("count: 3", "count: 7").replace("[0, 1, 3]", "all")
    plan = plan_of(parse_scenario(text, "s.yaml").model, testbed)
    order = [trial.mix[0].counts["bbr"] for trial in plan.trials]
    assert order == [0, 4, 2, 6, 1, 5, 3, 7]


def test_seeds_are_stable_and_differ() -> None:
    # A change of this value would change every published run: never adapt it lightly.
    assert derive(1, "b2bdp-k03-r0-a0") == 8830054689242664861
    assert derive(1, "a") != derive(2, "a") != derive(1, "b")
    assert 0 <= derive(0) < 2**63


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


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("100mbit", "300mbit", r"rate 300mbit is more than testbed 'fake' carries \(250mbit"),
        ("2bdp", "1GB", r"a buffer of 1GB is more than target dpdk has \("),
        ("count: 3", "count: 40000", r"40000 flows, but the flow table has 20000 entries"),
        (
            "base_rtt: 10ms",
            "base_rtt: 10s",
            r"hold up to \d+ packets, the testbed has room for 131072",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(testbed: Testbed, old: str, new: str, problem: str) -> None:
    text = SCENARIO.replace(old, new).replace("[0, 1, 3]", "[0]")
    can = dpdk_capabilities(testbed.dataplane).model_copy(update={"flows": 20_000})
    with pytest.raises(ConfigError, match=problem):
        plan_of(parse_scenario(text, "s.yaml").model, testbed, can)


def test_too_many_mixes_are_refused(testbed: Testbed) -> None:
    group = "  - {{name: g{}, count: 30, base_rtt: 10ms}}\n"
    text = SCENARIO.replace(
        "  - {name: main, count: 3, base_rtt: 10ms}\n", "".join(group.format(i) for i in range(4))
    ).replace("[0, 1, 3]", "all")
    with pytest.raises(ConfigError, match=r"sweep.mixes: all makes 923521 mixes; at most 20000"):
        plan_of(parse_scenario(text, "s.yaml").model, testbed)


def test_lanes_are_limited_by_the_flow_table(scenario: Scenario) -> None:
    testbed = parse_testbed(TESTBED + "dataplane: {flow_capacity: 7}\n", "t.yaml").model
    assert plan_of(scenario, testbed).lanes == 2


def test_the_estimate_packs_by_rate_and_memory(scenario: Scenario, testbed: Testbed) -> None:
    # Three trials of 100 Mbit/s into 250 Mbit/s: two at once, then one.
    plan = plan_of(scenario, testbed)
    held = held_packets(plan.trials[0].setting)
    two = estimate_seconds(plan.trials[:2], 10**10, 4, Resources(250_000_000, 2 * held))
    assert estimate_seconds(plan.trials, 10**10, 4, Resources(250_000_000, 10 * held)) == 2 * two
    assert estimate_seconds(plan.trials, 10**10, 1, Resources(10**9, 10 * held)) == 3 * two
    assert estimate_seconds(plan.trials, 10**10, 4, Resources(10**9, 2 * held)) == 2 * two
    assert trials_at_once(plan.trials, 4, Resources(10**9, 2 * held)) == 2


def test_a_deep_buffer_does_not_keep_shallow_ones_from_running(testbed: Testbed) -> None:
    """One deep queue fills the packet memory almost alone; four shallow ones fit easily."""
    text = SCENARIO.replace("{mixes:", "{buffer: [2bdp, 90MB], mixes:")
    text = text.replace("buffer: 2bdp}", "buffer: 1bdp}")
    plan = plan_of(parse_scenario(text, "s.yaml").model, testbed)
    assert max(held_packets(t.setting) for t in plan.trials) * 2 > testbed.dataplane.queue_packets
    assert plan.lanes == testbed.capacity.lanes
