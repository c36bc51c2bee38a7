"""Paths that change: what a scenario may say of them, and what the delay lines are told."""

from itertools import pairwise
from pathlib import Path

import pytest
from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.path_changes import Gilbert, Impairment, Jitter
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.target import PLAIN_LANE
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.units import Share
from nashbed.controlplane.plan.attempt import drain_ns, make_attempt
from nashbed.controlplane.plan.paths import group_delays
from nashbed.controlplane.targets.dpdk import dpdk_capabilities
from tests.unit.controlplane.conftest import SCENARIO, plan_of, scenario_with

MS = 10**6
RTT = "base_rtt: 10ms"


def with_path(keys: str) -> Scenario:
    """A group of base RTT 10 ms with more keys; trials of 400 ms."""
    return scenario_with(RTT, f"{RTT}, {keys}")


def states(way: Impairment) -> list[tuple[int, int, int]]:
    """Time, delay and loss of each change."""
    return [(each.at_ns, each.delay_ns, each.loss_ppb) for each in way.changes or ()]


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (
            "changes: [{at: 400ms, base_rtt: 9ms}]",
            r"flows\[0\].changes\[0\].at: 400ms is not before the end",
        ),
        (
            "changes: [{at: 200ms, base_rtt: 9ms}, {at: 200ms, base_rtt: 8ms}]",
            r"changes\[1\].at: 200ms is not",
        ),
        ("changes: [{at: 200ms, base_rtt: 11s}]", r"changes\[0\].base_rtt: 11s is out of range"),
        (
            "changes: [{at: 200ms, base_rtt: 5ms, return_delay: 6ms}]",
            r"changes\[0\].return_delay: is longer",
        ),
        ("return: {delay: 11ms}", "return.delay: is longer than base_rtt"),
        ("return: {random_loss: 51%}", "random_loss: 51% is out of range; write 0% to 50%"),
        (
            "return: {random_loss: 1%, loss: {gilbert: {p: 1%}}}",
            "random_loss: `loss` has it as 1-k",
        ),
        ("reorder: {share: 101%, by: 5ms}", "share: 101% is out of range"),
        ("reorder: {share: 1%, by: 11s}", "by: 11s is out of range; write up to 10s"),
        ("jitter: {uniform: 1ms, normal: 1ms}", "has uniform and normal; write one of"),
        ("jitter: {every: 1ms}", "has no distribution"),
        ("jitter: {normal: 2s}", "normal: 2s is out of range"),
        (
            "jitter: {normal: 2ms}, changes: [{at: 200ms, base_rtt: 9ms, wifi: 7ms}]",
            r"changes\[0\].wifi: changes a jitter of this kind",
        ),
        ("loss: {gilbert: {p: 101%}}", "p: 101% is out of range"),
        ("loss: {gilbert: {p: 1%, 1-h: 200%}}", "1-h: 200% is out of range"),
        ("loss: {gilbert: {p: 1%, 1-k: 60%}}", "1-h: 60.4% of the packets are lost"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(keys: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as refused:
        with_path(keys)
    assert "\n" not in str(refused.value).strip()


def test_changes_do_not_go_with_a_swept_base_rtt() -> None:
    with pytest.raises(ConfigError, match=r"flows\[0\].changes: sweep.base_rtt sets"):
        parse_scenario(
            SCENARIO.replace(RTT, f"{RTT}, changes: [{{at: 200ms, base_rtt: 9ms}}]").replace(
                "sweep: {", "sweep: {base_rtt: [5ms, 9ms], "
            ),
            "s.yaml",
        )


def test_base_rtts_change_on_both_ways_and_losses_on_the_forward_path_alone(
    testbed: Testbed,
) -> None:
    scenario = with_path(
        "random_loss: 1%, return: {delay: 2ms}, changes: [{at: 100ms, base_rtt: 30ms}, "
        "{at: 300ms, base_rtt: 20ms, return_delay: 15ms}]"
    )
    setting = plan_of(scenario, testbed).trials[0].setting
    (delay,) = group_delays(scenario, setting, 1, losses=[(200 * MS, 5), (300 * MS, 0)])
    assert (delay.forward_ns, delay.reverse_ns, delay.loss_ppb) == (8 * MS, 2 * MS, 10**7)
    assert delay.is_scheduled
    assert states(delay.forward) == [
        (100 * MS, 28 * MS, 10**7),
        (200 * MS, 28 * MS, 5),
        (300 * MS, 5 * MS, 0),
    ]
    assert states(delay.back) == [
        (100 * MS, 2 * MS, 0),
        (200 * MS, 2 * MS, 0),
        (300 * MS, 15 * MS, 0),
    ]


def test_the_random_loss_of_every_group_changes_with_the_bottleneck(testbed: Testbed) -> None:
    scenario = scenario_with("2bdp}", "2bdp, changes: [{at: 200ms, random_loss: 1%}]}")
    trial = plan_of(scenario, testbed).trials[0]
    assert trial.setting.is_plain  # the link itself stays as it is
    program = make_attempt(scenario, trial, 0, 0, Path("nowhere")).program()
    assert program.is_scheduled
    (forward,) = (delay.forward for delay in program.delays)
    assert states(forward) == [(200 * MS, 5 * MS, 10**7)]
    with pytest.raises(ConfigError, match=r"0% to 50%, or an outage"):
        scenario_with("2bdp}", "2bdp, changes: [{at: 200ms, random_loss: 100%}]}")


def test_every_purpose_has_a_seed_of_its_own(testbed: Testbed) -> None:
    way = "jitter: {uniform: 1ms}, reorder: {share: 1%, by: 5ms}"
    loss = "loss: {gilbert: {p: 1%}}"
    scenario = with_path(f"{way}, {loss}, return: {{{way}, random_loss: 1%}}")
    setting = plan_of(scenario, testbed).trials[0].setting
    (delay,) = group_delays(scenario, setting, 1)
    assert not delay.is_scheduled
    told = [*delay.forward.as_message().values(), *delay.back.as_message().values()]
    assert len({part["seed"] for part in told} | {delay.seed}) == 7


def test_a_path_of_constants_is_told_as_before(scenario: Scenario, testbed: Testbed) -> None:
    setting = plan_of(scenario, testbed).trials[0].setting
    (delay,) = group_delays(scenario, setting, 1)
    assert (delay.forward, delay.back, setting.rtt_range_ns) == (Impairment(), Impairment(), None)
    assert "rtt_range_ns" not in setting.model_dump()


def test_what_depends_on_round_trips_knows_the_shortest_and_the_longest(testbed: Testbed) -> None:
    scenario = with_path(
        "changes: [{at: 200ms, base_rtt: 50ms}, {at: 300ms, base_rtt: 4ms}], "
        "jitter: {uniform: 3ms}, return: {reorder: {share: 1%, by: 7ms}}"
    )
    trial = plan_of(scenario, testbed).trials[0]
    setting = trial.setting
    assert (setting.shortest_rtt_ns, setting.longest_rtt_ns) == (4 * MS, 60 * MS)
    plain = scenario_with(RTT, RTT)
    shorter = drain_ns(plain, plan_of(plain, testbed).trials[0])
    assert drain_ns(scenario, trial) == shorter + 2 * (60 - 10) * MS


def test_quantiles_of_distributions() -> None:
    assert Jitter.model_validate({"uniform": "5ms"}).points_ns == (0, 5 * MS)
    normal = Jitter.model_validate({"normal": "1ms"}).points_ns
    assert (normal[0], normal[-1], len(normal)) == (0, 4 * MS, 257)
    # Half of the magnitudes are below 0.6745 standard deviations; their mean is (2/pi)^0.5.
    assert normal[128] == pytest.approx(0.6745 * MS, rel=1e-4)
    steps = [(a + b) / 2 for a, b in pairwise(normal)]
    assert sum(steps) / len(steps) == pytest.approx(0.798 * MS, rel=0.01)
    exponential = Jitter.model_validate({"exponential": "1ms"}).points_ns
    assert exponential[128] == pytest.approx(0.6931 * MS, rel=1e-4)
    assert exponential[-1] == 4 * MS


def test_the_mean_of_wifi_becomes_the_share_that_is_sent_again(testbed: Testbed) -> None:
    """(mean - 1 ms) / 90 ms, from 0 to 1; a way without it is not told."""
    scenario = with_path(
        "jitter: {wifi: 10ms}, changes: [{at: 100ms, base_rtt: 10ms, wifi: 0.5ms}, "
        "{at: 200ms, base_rtt: 20ms}, {at: 300ms, base_rtt: 20ms, wifi: 500ms}]"
    )
    setting = plan_of(scenario, testbed).trials[0].setting
    (delay,) = group_delays(scenario, setting, 1, losses=[(50 * MS, 5)])
    told = delay.forward.as_message()
    seed = told["jitter"].pop("seed")
    assert told["jitter"] == {"is_wifi": True, "retry_ppb": 10**8, "every_ns": 0}
    assert seed > 0
    assert [change["retry_ppb"] for change in told["changes"]] == [10**8, 0, 0, 10**9]
    assert not any("retry_ppb" in change for change in delay.back.as_message()["changes"])


@pytest.mark.parametrize(
    ("back", "problem"),
    [
        ("{rate: 0mbit, buffer: 50pkt}", "rate: must be more than 0"),
        ("{rate: 1mbit, buffer: 0pkt}", "buffer: 0pkt holds no packet"),
        ("{rate: 1mbit, buffer: 1bdp}", "buffer: 1bdp: write it in bytes or packets"),
    ],
)
def test_a_way_back_that_cannot_be(back: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=rf"bottleneck.return.*{problem}"):
        scenario_with("buffer: 2bdp}", f"buffer: 2bdp, return: {back}}}")


def test_the_way_back_is_asked_for_only_where_it_is_written(testbed: Testbed) -> None:
    slow = scenario_with("2bdp}", "2bdp, overhead: 24B, return: {rate: 1mbit, buffer: 50pkt}}")
    trial = plan_of(slow, testbed).trials[0]
    back = trial.setting.back
    assert back is not None
    assert (back.rate_bps, back.limit.value, back.overhead_bytes) == (10**6, 50, 24)
    assert trial.setting.applied().back == back
    # 50 acknowledgements with every option, and their overhead, at 1 Mbit/s.
    assert back.longest_ns == 50 * (134 + 24) * 8 * 1000
    plain = scenario_with("2bdp}", "2bdp, overhead: 24B}")
    before = plan_of(plain, testbed).trials[0]
    assert "back" not in before.setting.model_dump()
    assert drain_ns(slow, trial) == drain_ns(plain, before) + back.longest_ns


def test_a_target_without_a_queue_on_the_way_back_refuses_it(testbed: Testbed) -> None:
    slow = scenario_with("2bdp}", "2bdp, return: {rate: 1mbit, buffer: 50pkt}}")
    can = dpdk_capabilities(testbed.dataplane).model_copy(
        update={"target": "bmv2", "lane": PLAIN_LANE}
    )
    with pytest.raises(ConfigError, match=r"bottleneck.return: target bmv2 has no queue"):
        plan_of(slow, testbed, can)


def test_the_mean_loss_of_bursts() -> None:
    share = {"p": Share(10**7), "r": Share(2 * 10**8)}
    assert Gilbert(**share).mean == pytest.approx(1 / 21)
    assert Gilbert(**share, bad=Share(5 * 10**8)).mean == pytest.approx(0.5 / 21)
    assert Gilbert(p=Share(10**7)).recovery == Share(99 * 10**7)
