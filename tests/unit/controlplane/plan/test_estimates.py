"""How long a run takes, and how many trials run at once."""

from __future__ import annotations

from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.units import PACKET_BYTES
from nashbed.controlplane.plan.estimates import (
    Resources,
    estimate_seconds,
    held_packets,
    most_at_once,
    trial_table_bytes,
    trial_time,
    trials_at_once,
)
from nashbed.controlplane.plan.sweep import scenario_settings
from tests.unit.controlplane.conftest import plan_of, scenario_with


def test_the_estimate_packs_by_rate_and_memory(scenario: Scenario, testbed: Testbed) -> None:
    # Three trials of 100 Mbit/s into 250 Mbit/s: two at once, then one.
    plan = plan_of(scenario, testbed)
    held = held_packets(plan.trials[0].setting)
    takes = trial_time(False, 10**10, 3)
    two = estimate_seconds(plan.trials[:2], takes, 4, Resources(250_000_000, 2 * held))
    assert estimate_seconds(plan.trials, takes, 4, Resources(250_000_000, 10 * held)) == 2 * two
    assert estimate_seconds(plan.trials, takes, 1, Resources(10**9, 10 * held)) == 3 * two
    assert estimate_seconds(plan.trials, takes, 4, Resources(10**9, 2 * held)) == 2 * two
    assert trials_at_once(plan.trials, 4, Resources(10**9, 2 * held)) == 2


def test_the_most_at_once_are_the_smallest(testbed: Testbed) -> None:
    """Of rates 10, 10, 10, 100, 100 and 100 Mbit/s: three, and as many more as fit."""
    text = scenario_with("sweep: {", "sweep: {rate: [10mbit, 100mbit], ")
    plan = plan_of(text, testbed)
    assert [t.setting.rate_bps // 10**6 for t in plan.trials] == [100] * 3 + [10] * 3
    small, large = (held_packets(plan.trials[at].setting) for at in (-1, 0))
    much = 10**6
    for rate_mbit, packets, lanes, most in (
        (600, much, 9, 6), (329, much, 9, 5), (130, much, 9, 4), (129, much, 9, 3), (9, much, 9, 1),
        (600, 3 * small + large, 9, 4), (600, much, 5, 5),
    ):  # fmt: skip
        assert most_at_once(plan.trials, lanes, Resources(rate_mbit * 10**6, packets)) == most


def test_the_table_of_postcards_is_what_takes_the_disk() -> None:
    # 100 Mbit/s for 400 ms are 3302 full packets; a quarter more, 1000 to spare, 24 bytes each.
    everything = scenario_with("sweep:", "telemetry: {postcards: all}\nsweep:")
    sampled = scenario_with("sweep:", "telemetry: {postcards: {sample: 100}}\nsweep:")
    binned = scenario_with("sweep:", "telemetry: {postcards: {bins: 10ms}}\nsweep:")
    packets = int(5_000_000 // PACKET_BYTES * 1.25) + 1000
    sizes = [
        trial_table_bytes(s, scenario_settings(s)[0][0]) for s in (everything, sampled, binned)
    ]
    rest = sizes[0] - packets * 24
    assert [size - rest for size in sizes[1:]] == [(packets // 100 + 1) * 24, 40 * 3 * 24]
