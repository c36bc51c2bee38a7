"""Plans in virtual time: lanes alone limit, and a trial takes what its packets and flows take."""

import os

import pytest
from nashbed.controlplane.cli.plan import plan_table, speed_text
from nashbed.controlplane.config import parse_scenario, parse_testbed
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.plan import Plan
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import MAX_LANES, Testbed
from nashbed.controlplane.contract.units import PACKET_BYTES
from nashbed.controlplane.plan.estimates import (
    PROGRAM_PACKET_S,
    UNLIMITED_RESOURCES,
    planned_time,
    resources_of,
    speed_ups,
    trial_time,
    virtual_seconds,
)
from nashbed.controlplane.run.standing import EACH_CORE, STATED, standing, with_capacity
from nashbed.controlplane.targets.virtual import virtual_capabilities
from tests.unit.controlplane.conftest import SCENARIO, TESTBED, plan_of

NS = 10**9
VIRTUAL = "name: virtual\ntarget: virtual\n"
TWO = VIRTUAL + "capacity: {rate: 10gbit, lanes: 2}\n"


def virtual_plan(text: str = SCENARIO, bed: str = TWO) -> Plan:
    testbed = parse_testbed(bed, "t.yaml").model
    return plan_of(parse_scenario(text, "s.yaml").model, testbed, virtual_capabilities())


def test_neither_rates_nor_packet_memory_add_up() -> None:
    """Two trials of 6 Gbit/s on 10 Gbit/s, each holding more than a data plane's default."""
    text = SCENARIO.replace("100mbit", "6gbit").replace("10ms", "200ms")
    plan = virtual_plan(text.replace("2bdp", "1bdp"))
    assert plan.lanes == 2
    assert plan.isolated
    assert resources_of(parse_testbed(TWO, "t").model, plan) == UNLIMITED_RESOURCES
    one = planned_time(plan)(plan.trials[0])
    assert plan.estimated_seconds == pytest.approx(2 * one)


def test_a_single_trial_is_still_held_to_what_the_testbed_states() -> None:
    with pytest.raises(ConfigError, match=r"rate 11gbit is more than testbed 'virtual' carries"):
        virtual_plan(SCENARIO.replace("100mbit", "11gbit"))


@pytest.mark.parametrize(
    ("mbit", "flows", "least", "most"),
    [
        (100, 10, 0.02, 0.06),
        (500, 10, 0.083, 0.25),
        (1000, 10, 0.16, 0.49),
        (100, 50, 0.024, 0.073),
    ],
)
def test_a_second_takes_what_was_measured(mbit: int, flows: int, least: float, most: float) -> None:
    """On an idle machine (least); other machines have taken three times as long (most)."""
    ten = virtual_seconds(10 * NS, mbit * 10**6, flows)
    assert least < (virtual_seconds(20 * NS, mbit * 10**6, flows) - ten) / 10 < most


def test_programs_take_what_was_measured_wherever_they_are() -> None:
    """Four flows of ngtcp2 at 20 Mbit/s take 0.4 s of processor time for a second."""
    text = SCENARIO.replace("bbr]", "{program: ngtcp2-cubic.yaml}]")
    assert [t.program_flows for t in virtual_plan(text).trials] == [0, 3, 1]
    beside = "  - {name: quic, count: 2, strategy: ngtcp2-cubic, base_rtt: 10ms}\nstrategies:"
    trials = virtual_plan(text.replace("strategies:", beside)).trials
    assert [t.program_flows for t in trials] == [2, 5, 3]
    takes = [trial_time(True, length * NS, 5) for length in (10, 20)]
    two, five = ((takes[1](t) - takes[0](t)) / 10 for t in trials[:2])
    packets = 10**8 / (8 * PACKET_BYTES)
    assert five - two == pytest.approx(packets * PROGRAM_PACKET_S * 3 / 5)
    short, long = (virtual_seconds(s * NS, 20 * 10**6, 4, 4) for s in (10, 20))
    assert 0.39 < (long - short) / 10 < 3 * 0.39


def test_time_is_real_elsewhere(scenario: Scenario, testbed: Testbed) -> None:
    plan = plan_of(scenario, testbed)
    assert not plan.virtual_time
    trial = plan.trials[0]
    assert planned_time(plan)(trial) == trial_time(False, plan.trial_ns, 3)(trial) == 3.4


def test_long_trials_come_first_and_are_packed() -> None:
    text = SCENARIO.replace("400ms", "100s").replace("{mixes:", "{rate: [10mbit, 1gbit], mixes:")
    plan = virtual_plan(text)
    takes = [planned_time(plan)(trial) for trial in plan.trials]
    assert takes == sorted(takes, reverse=True)
    assert max(takes) * 2 <= plan.estimated_seconds <= sum(takes) / 2 + max(takes)


def test_the_plan_says_how_fast_time_passes() -> None:
    text = SCENARIO.replace("400ms", "100s").replace("{mixes:", "{rate: [10mbit, 100mbit], mixes:")
    plan = virtual_plan(text).model_copy(update={"capacity_from": EACH_CORE})
    slowest, fastest = speed_ups(plan)
    assert 1 < slowest < fastest
    assert speed_text(plan) == (
        f"virtual time: each trial about {slowest:.2g} to {fastest:.2g} times faster than the "
        "clock, on one core; 2 at once (one trial for each core that it may use)"
    )
    assert speed_text(plan) in plan_table(plan)
    assert "capacity" not in plan_table(plan)


def test_a_capacity_that_is_not_stated_is_a_lane_for_each_core(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for cores, lanes in ((3, 3), (200, MAX_LANES)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid, n=cores: set(range(n)))
        bed = parse_testbed(VIRTUAL, "/nowhere/t.yaml")
        with_lanes, capacity_from = with_capacity(bed, standing(bed))
        assert capacity_from == EACH_CORE
        assert with_lanes.model.capacity.lanes == lanes
        assert with_lanes.model.capacity.rate.bps == virtual_capabilities().max_rate_bps
    stated = parse_testbed(TWO, "/nowhere/t.yaml")
    assert with_capacity(stated, standing(stated)) == (stated, STATED)


def test_a_kernel_cannot_be_chosen_in_real_time(testbed: Testbed) -> None:
    text = f'{SCENARIO}kernel: "6.12"\n'
    with pytest.raises(ConfigError, match=r"kernel 6\.12: target dpdk runs on this machine's own"):
        plan_of(parse_scenario(text, "s.yaml").model, testbed)
    assert virtual_plan(text).trials[0].setting.kernel == "6.12"


def test_a_plan_of_an_earlier_version_is_in_real_time(testbed: Testbed) -> None:
    plan = plan_of(parse_scenario(SCENARIO, "s").model, parse_testbed(TESTBED, "t").model)
    old = plan.model_dump(mode="json", exclude={"isolated", "virtual_time"})
    assert Plan.model_validate(old) == plan
