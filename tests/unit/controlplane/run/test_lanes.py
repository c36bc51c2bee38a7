"""Lanes that share: who may start beside whom, and the sum of rates, lowered once for one cause."""

import threading

import pytest
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.plan.estimates import Resources, demand_of
from nashbed.controlplane.run.lanes import LoadLimit, SharedLanes
from tests.unit.controlplane.conftest import plan_of

SLOW = frozenset({"round_trips"})
NONE: frozenset[str] = frozenset()


def test_a_slow_trial_takes_a_fifth_off_what_was_running() -> None:
    limit = LoadLimit(1000, now=lambda: 10.0)
    assert not limit.reduced
    assert limit.trial_ended(5.0, valid=False, failed_gates=SLOW, load_bps=500)
    assert (limit.allowed_bps, limit.reduced) == (400, True)


def test_trials_that_ran_side_by_side_lower_it_once() -> None:
    limit = LoadLimit(1000, now=lambda: 10.0)
    limit.trial_ended(5.0, valid=False, failed_gates=SLOW, load_bps=1000)
    assert not limit.trial_ended(6.0, valid=False, failed_gates=SLOW, load_bps=1000)
    assert limit.allowed_bps == 800
    assert limit.trial_ended(11.0, valid=False, failed_gates=SLOW, load_bps=1000)
    assert limit.allowed_bps == 640


def test_where_load_is_no_cause_it_stays() -> None:
    limit = LoadLimit(1000, now=lambda: 10.0, adapts=False)
    assert not limit.trial_ended(5.0, valid=False, failed_gates=SLOW, load_bps=500)
    assert (limit.allowed_bps, limit.reduced) == (1000, False)


def test_other_failures_leave_it_alone() -> None:
    limit = LoadLimit(1000)
    assert not limit.trial_ended(0.0, False, frozenset({"overlap"}), 1000)
    assert limit.allowed_bps == 1000


def test_valid_trials_raise_it_to_the_capacity() -> None:
    limit = LoadLimit(1000, now=lambda: 1.0)
    limit.trial_ended(0.0, valid=False, failed_gates=SLOW, load_bps=1000)
    limit.trial_ended(2.0, valid=True, failed_gates=NONE, load_bps=800)
    assert limit.allowed_bps == pytest.approx(840, abs=1)
    for _ in range(10):
        limit.trial_ended(2.0, valid=True, failed_gates=NONE, load_bps=800)
    assert (limit.allowed_bps, limit.reduced) == (1000, False)


PATIENCE_S = 30.0


@pytest.fixture
def setting(scenario: Scenario, testbed: Testbed) -> Setting:
    return plan_of(scenario, testbed).trials[0].setting


def taken_beside(lanes: SharedLanes, setting: Setting) -> tuple[threading.Thread, list[int]]:
    """A thread that takes a lane while somebody has one."""
    got: list[int] = []

    def take() -> None:
        with lanes.lane_for(setting) as (lane, _):
            got.append(lane)

    thread = threading.Thread(target=take)
    thread.start()
    return thread, got


def test_trials_that_fit_have_lanes_of_their_own(setting: Setting) -> None:
    one = demand_of(setting)
    lanes = SharedLanes(2, one + one)
    with lanes.lane_for(setting) as (first, _), lanes.lane_for(setting) as (second, _):
        assert (first, second) == (0, 1)
    with lanes.lane_for(setting) as (again, _):
        assert again == 0


@pytest.mark.parametrize("missing", [Resources(1, 0), Resources(0, 1)])
def test_a_trial_waits_for_rate_and_packets(setting: Setting, missing: Resources) -> None:
    one = demand_of(setting)
    lanes = SharedLanes(2, one + one - missing)
    with lanes.lane_for(setting):
        thread, got = taken_beside(lanes, setting)
        thread.join(0.2)
        assert got == []
    thread.join(PATIENCE_S)
    assert got == [0]


def test_each_packet_loop_has_its_part_of_the_packets(setting: Setting) -> None:
    one = demand_of(setting)
    lanes = SharedLanes(6, one + one + one, loops=2)  # a trial and a half for each loop
    taken = [lanes.take(setting) for _ in range(2)]
    assert taken == [0, 1]
    assert lanes.first_fitting([setting]) is None
    lanes.free(0)
    assert lanes.first_fitting([setting]) == 0
    assert lanes.take(setting) == 0


def test_the_packet_loop_with_the_most_room_comes_first(setting: Setting) -> None:
    one = demand_of(setting)
    lanes = SharedLanes(6, one + one + one + one, loops=2)
    assert [lanes.take(setting) for _ in range(4)] == [0, 1, 2, 3]
    lanes.free(1)
    lanes.free(3)
    assert [lanes.take(setting) for _ in range(2)] == [1, 3]


def test_one_alone_always_fits(setting: Setting) -> None:
    with SharedLanes(1, Resources(1, 1)).lane_for(setting) as (lane, _):
        assert lane == 0


def test_closing_ends_who_waits_and_waits_for_who_runs(setting: Setting) -> None:
    lanes = SharedLanes(1, demand_of(setting))
    refused: list[str] = []

    def wait() -> None:
        try:
            with lanes.lane_for(setting):
                pass
        except HostError as error:
            refused.append(error.message)

    with lanes.lane_for(setting):
        waits, closes = threading.Thread(target=wait), threading.Thread(target=lanes.close)
        waits.start()
        closes.start()
        waits.join(PATIENCE_S)
        assert refused == ["the run has left this testbed"]
        assert closes.is_alive()
    closes.join(PATIENCE_S)
    assert not closes.is_alive()
