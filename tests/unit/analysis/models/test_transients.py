"""Which mixes of a plan are looked at, and what of a setting they say."""

import math
from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.models import Competition, transients
from nashbed.analysis.models.crossing import PredictedCrossing
from nashbed.analysis.models.settling import SettlingTime
from nashbed.analysis.models.transients import SettingSettling, competition_of_mix, settle_plan
from nashbed.analysis.state import State, mix_state
from nashbed.controlplane.config import parse_scenario, parse_testbed
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.trial import Setting
from tests.unit.controlplane.conftest import TESTBED, plan_of

SCENARIO = """\
name: small
title: A small one
bottleneck: {rate: 20mbit, buffer: 2bdp}
flows:
  - {name: main, count: 10, base_rtt: 40ms}
strategies: [cubic, bbr]
duration: 120s
warmup: 20s
sweep: {buffer: [2bdp, 20bdp], mixes: all}
"""
GROUPS = """\
  - {name: main, count: 3, base_rtt: 40ms}
  - {name: far, count: 3, base_rtt: 80ms}
"""

Planned = dict[str, tuple[Setting, list[State]]]


def planned(text: str, testbed: Testbed) -> tuple[Scenario, Planned]:
    scenario = parse_scenario(text, "s.yaml").model
    found: Planned = {}
    for trial in plan_of(scenario, testbed).trials:
        _, states = found.setdefault(trial.setting.label, (trial.setting, []))
        states.append(mix_state(trial.mix, scenario.strategies))
    return scenario, found


@pytest.fixture
def testbed() -> Testbed:
    return parse_testbed(TESTBED, "fake.yaml").model


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Competition]:
    """What settling times are asked for; the equilibrium is expected at 4 BBR flows."""
    competitions: list[Competition] = []

    def settling_of(competition: Competition) -> SettlingTime:
        competitions.append(competition)
        return settled(competition, 0.7, [0.4] * 3)

    monkeypatch.setattr(transients, "settling_of", settling_of)
    crossing = PredictedCrossing(10, 4.2)
    monkeypatch.setattr(transients, "expected_crossing", lambda mixes, flows: crossing)
    return competitions


def settled(
    competition: Competition, share: float, measured: list[float], after_s: float = 300.0
) -> SettlingTime:
    """A settling time; CUBIC's flows are named first."""
    planned_shares = np.array([[1 - each, each] for each in measured])
    parts = np.array([1 - share, share])
    return SettlingTime(competition, after_s, 200, 400, 900, parts, planned_shares, True)


def bbr_flows(competition: Competition) -> int:
    return sum(kind.flows for kind in competition.kinds if kind.cca == "bbr")


def test_near_the_equilibrium_and_where_it_goes(testbed: Testbed, asked: list[Competition]) -> None:
    found, settings = settle_plan(*planned(SCENARIO, testbed), 60, lambda *step: None)
    assert settings == 2
    assert [each.setting.label for each in found] == ["b2bdp", "b20bdp"]
    # 0.7 of the throughput would be fair to seven flows. Every setting has its first mix first.
    assert [bbr_flows(each) for each in asked] == [4, 4, 7, 7]
    assert {(c.measured_from_s, c.duration_s, c.rate_bps) for c in asked} == {(20, 120, 20e6)}


def test_selected_mixes_have_their_ends(testbed: Testbed, asked: list[Competition]) -> None:
    text = SCENARIO.replace("mixes: all", "mixes: [0, 2, 5, 9, 10]")
    settle_plan(*planned(text.replace(", 20bdp", ""), testbed), 60, lambda *step: None)
    # Of five and nine BBR flows, both two from seven, the first one stands; then both ends.
    assert [bbr_flows(each) for each in asked] == [5, 2, 9]


def test_groups_are_kinds_of_their_own(testbed: Testbed, asked: list[Competition]) -> None:
    text = SCENARIO.replace("  - {name: main, count: 10, base_rtt: 40ms}\n", GROUPS)
    scenario, settings = planned(text.replace(", 20bdp", ""), testbed)
    settle_plan(scenario, settings, 60, lambda *step: None)
    assert [bbr_flows(each) for each in asked] == [2, 4]
    setting, _ = settings["b2bdp"]
    kinds = competition_of_mix(scenario, setting, ((2, 1), (0, 3))).kinds
    assert [(k.cca, k.flows, k.base_rtt_s) for k in kinds] == [
        ("cubic", 2, 0.04),
        ("bbr", 1, 0.04),
        ("bbr", 3, 0.08),
    ]


def test_no_mix_is_begun_when_time_is_up(testbed: Testbed, asked: list[Competition]) -> None:
    assert settle_plan(*planned(SCENARIO, testbed), 0, lambda *step: None) == ([], 2)
    assert asked == []


def test_settings_that_the_model_does_not_speak_of(testbed: Testbed) -> None:
    scenario, settings = planned(SCENARIO.replace("bbr]", "reno]"), testbed)
    assert settle_plan(scenario, settings, 60, lambda *step: None) == ([], 0)


def test_a_setting_needs_what_its_slowest_mix_needs(testbed: Testbed) -> None:
    scenario, settings = planned(SCENARIO, testbed)
    setting, _ = settings["b2bdp"]
    competition = competition_of_mix(scenario, setting, ((6, 4),))
    near = settled(competition, 0.4, [0.39, 0.405, 0.41])
    far = settled(competition, 0.4, [0.2, 0.38, 0.41], after_s=500.0)
    both = SettingSettling(setting, (near, far))
    assert both.transient
    assert not SettingSettling(setting, (near,)).transient  # a point of 100 is no reason
    assert (both.after_s, both.range_s, both.worst) == (500, (200, 400), far)
    late = SettingSettling(setting, (settled(competition, 0.4, [0.2] * 3, math.inf),))
    data = late.answer().model_dump()
    assert data["settled_after_s"] is None
    assert data["mixes"][0]["flows"] == {"cubic": 6, "bbr": 4}


def test_the_shipped_panel_by_the_fluid_model(
    testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a BDP is settled in 120 s; fifty are not, by far."""
    clock = iter([0.0, 0.5, 2.0])  # time is up once a mix has been looked at
    monkeypatch.setattr(transients.time, "monotonic", lambda: next(clock))
    text = Path("configs/scenarios/srivastava2023/panel-iperf3.yaml").read_text()
    few = text.replace("[0.5bdp, 5bdp, 10bdp, 20bdp, 30bdp, 40bdp, 50bdp]", "[0.5bdp, 50bdp]")
    bounds = few[few.index("# Within three flows") :]
    found, _ = settle_plan(*planned(few.replace(bounds, ""), testbed), 1.0, lambda *step: None)
    assert [(each.setting.label, each.transient) for each in found] == [("b0.5bdp", False)]
