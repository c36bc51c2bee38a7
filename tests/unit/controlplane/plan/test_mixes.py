"""The mixes of a scenario: every way to share its flows among the strategies."""

from __future__ import annotations

import pytest
from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.plan.sweep import mix_label, scenario_mixes
from tests.unit.controlplane.conftest import SCENARIO, scenario_with


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


def test_too_many_mixes_are_refused() -> None:
    group = "  - {{name: g{}, count: 30, base_rtt: 10ms}}\n"
    text = SCENARIO.replace(
        "  - {name: main, count: 3, base_rtt: 10ms}\n", "".join(group.format(i) for i in range(4))
    ).replace("[0, 1, 3]", "all")
    with pytest.raises(ConfigError, match=r"sweep.mixes: all makes 923521 mixes; at most 20000"):
        scenario_mixes(parse_scenario(text, "s.yaml").model)


def test_pairs_of_strategies() -> None:
    text = SCENARIO.replace("[cubic, bbr]", "[cubic, bbr, reno]")
    scenario = parse_scenario(text.replace("[0, 1, 3]", "{pairs: all}"), "s.yaml").model
    counts = [tuple(mix[0].counts.values()) for mix in scenario_mixes(scenario)]
    assert counts == [
        *((3, 0, 0), (2, 1, 0), (1, 2, 0), (0, 3, 0)),
        *((2, 0, 1), (1, 0, 2), (0, 0, 3)),
        *((0, 2, 1), (0, 1, 2)),
    ]


def test_pairs_with_the_first_strategy() -> None:
    text = SCENARIO.replace("[cubic, bbr]", "[cubic, bbr, reno]")
    some = "{pairs: first, second: [1, 3]}"
    scenario = parse_scenario(text.replace("[0, 1, 3]", some), "s.yaml").model
    counts = [tuple(mix[0].counts.values()) for mix in scenario_mixes(scenario)]
    assert counts == [(2, 1, 0), (0, 3, 0), (2, 0, 1), (0, 0, 3)]


@pytest.mark.parametrize(
    ("mixes", "problem"),
    [
        ("{pairs: first, second: [4]}", "second: 4 flows, but the group has 3"),
        ("{pairs: first, second: []}", "is empty, or lists a number twice"),
        ("{pairs: some}", "pairs"),
    ],
)
def test_impossible_pairs_are_refused(mixes: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_scenario(SCENARIO.replace("[0, 1, 3]", mixes), "s.yaml")


def test_pairs_that_never_meet_are_no_game() -> None:
    """Each alone: a run of that says nothing about equilibria."""
    alone = SCENARIO.replace("[0, 1, 3]", "{pairs: all, second: [0, 3]}")
    game = SCENARIO.replace("[0, 1, 3]", "{pairs: all, second: [0, 1]}")
    assert not parse_scenario(alone, "s.yaml").model.seeks_equilibria(any_decided=True)
    assert parse_scenario(game, "s.yaml").model.seeks_equilibria(any_decided=False)
