"""What trials take: time, disk, rate and memory."""

from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import SMALL_PAGE_BYTES, Capacity, Testbed
from nashbed.controlplane.contract.units import PACKET_BYTES, Rate
from nashbed.controlplane.plan.estimates import (
    GUEST_BASE_BYTES,
    NO_RESOURCES,
    Resources,
    demand_of,
    estimate_seconds,
    guest_packets,
    guest_takes_bytes,
    held_packets,
    most_at_once,
    resources_of,
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
    """Rates of 10, 10, 10, 100, 100 and 100 Mbit/s: the three small ones, and what else fits."""
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
    binned = scenario_with("sweep:", "telemetry: {postcards: {bins: 10ms}}\nsweep:")
    packets = int(5_000_000 // PACKET_BYTES * 1.25) + 1000
    sizes = [trial_table_bytes(s, scenario_settings(s)[0]) for s in (everything, binned)]
    rest = sizes[0] - packets * 24
    assert sizes[1] - rest == 40 * 3 * 24


def test_resources_add_up_and_are_taken_off() -> None:
    both = Resources(100, 5, 9) + Resources(50, 2, 3)
    assert both == Resources(150, 7, 12)
    assert both - Resources(50, 2, 3) == Resources(100, 5, 9)
    assert sum([Resources(1, 2, 3)] * 3, NO_RESOURCES) == Resources(3, 6, 9)


def test_a_demand_is_covered_in_rate_and_in_memory() -> None:
    assert Resources(100, 5, 9).covers(Resources(100, 5, 9))
    assert not Resources(100, 5, 9).covers(Resources(101, 5, 9))
    assert not Resources(100, 5, 9).covers(Resources(100, 6, 9))
    assert not Resources(100, 5, 9).covers(Resources(100, 5, 10))
    assert Resources(100, 5).covers(Resources(100, 5, 10**15))


def test_a_trial_takes_queue_and_delay_line(scenario: Scenario, testbed: Testbed) -> None:
    # 250 kB of buffer and 125 kB in flight, in full packets, with as many ACKs and 64 to spare.
    setting = plan_of(scenario, testbed).trials[0].setting
    assert setting.largest_window_bytes == 375_000
    packets = 2 * 375_000 // 1514 + 64
    assert demand_of(setting) == Resources(10**8, packets, guest_takes_bytes(setting))


def test_a_guest_takes_what_its_data_plane_has_buffers_for(
    scenario: Scenario, testbed: Testbed
) -> None:
    trials = plan_of(scenario, testbed).trials
    for times in (1, 10, 1000):
        setting = trials[0].setting.model_copy(update={"buffer_bytes": 250_000 * times})
        window_bytes = setting.largest_window_bytes
        buffers = guest_packets(window_bytes) * SMALL_PAGE_BYTES
        assert guest_takes_bytes(setting) >= GUEST_BASE_BYTES + buffers + window_bytes


def test_the_capacity_of_a_plan_is_what_it_was_made_for(
    scenario: Scenario, testbed: Testbed
) -> None:
    plan = plan_of(scenario, testbed)
    faster = testbed.model_copy(update={"capacity": Capacity(rate=Rate(10**9), lanes=4)})
    assert resources_of(faster).rate_bps == 10**9
    assert resources_of(faster, plan).rate_bps == 250_000_000
