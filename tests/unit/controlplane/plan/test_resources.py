"""What a testbed has and what trials take of it."""

from __future__ import annotations

from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import SMALL_PAGE_BYTES, Capacity, Testbed
from nashbed.controlplane.contract.units import Rate
from nashbed.controlplane.plan.estimates import (
    GUEST_BASE_BYTES,
    NO_RESOURCES,
    Resources,
    demand_of,
    guest_packets,
    guest_takes_bytes,
    resources_of,
)
from tests.unit.controlplane.conftest import plan_of


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
