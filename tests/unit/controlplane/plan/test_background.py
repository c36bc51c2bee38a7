"""Background flows: a group with a strategy of its own is no part of the mix."""

import pytest
from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.plan.attempt import flow_table, trial_flows
from nashbed.controlplane.plan.sweep import mix_label, scenario_mixes
from tests.unit.controlplane.conftest import SCENARIO, plan_of, scenario_with

MS = 10**6
MAIN = "  - {name: main, count: 3, base_rtt: 10ms}\n"
BACKGROUND = "  - {name: bg, count: 2, base_rtt: 40ms, start_offset: 200ms, strategy: reno}\n"


@pytest.fixture
def scenario() -> Scenario:
    return scenario_with(MAIN, MAIN + BACKGROUND)


def test_only_groups_of_the_mix_are_mixed(scenario: Scenario) -> None:
    assert [group.name for group in scenario.mixed] == ["main"]
    assert (scenario.total_flows, scenario.most_flows) == (3, 5)
    assert scenario.ccas == ("cubic", "bbr", "reno")
    mixes = scenario_mixes(scenario)
    assert [mix_label(scenario, mix) for mix in mixes] == ["k00", "k01", "k03"]
    assert [len(mix) for mix in mixes] == [1, 1, 1]


def test_background_comes_behind_the_mix_and_starts_at_its_offset(testbed: Testbed) -> None:
    text = MAIN + BACKGROUND + "start: {order: [bbr, cubic], gap: 20ms}\n"
    scenario = scenario_with(MAIN, text)
    trial = next(t for t in plan_of(scenario, testbed).trials if t.key == "b2bdp-k01-r0")
    flows = trial_flows(scenario, trial, seed=7, lane=0)
    assert [(f.cc, f.group, f.mixed) for f in flows] == [
        *[("cubic", 0, True)] * 2,
        ("bbr", 0, True),
        *[("reno", 1, False)] * 2,
    ]
    assert all(200 * MS <= f.start_ns <= 250 * MS for f in flows[3:])
    assert all(20 * MS <= f.start_ns <= 70 * MS for f in flows[:2])
    assert [entry.flow for entry in flow_table(flows, 5)] == [5, 6, 7, 8, 9]
    assert len({f.src for f in flows}) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BACKGROUND + MAIN, "flows[0]: 'bg' is background; write it behind the groups of the mix"),
        (
            BACKGROUND,
            "flows: no group is part of the mix; write one with a `count` and no `strategy`",
        ),
        (
            MAIN + BACKGROUND.replace("200ms", "400ms"),
            "flows[1].start_offset: 400ms and start_jitter 50ms are together beyond the duration "
            "(400ms)",
        ),
    ],
)
def test_what_background_cannot_be(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_scenario(SCENARIO.replace(MAIN, text), "s.yaml")
    assert caught.value.message.endswith(problem)
    assert "\n" not in caught.value.message
