"""Where a search starts: by the fluid model, else the closed form, else the published band."""

from dataclasses import replace

import pytest
from nashbed.analysis.models import (
    Competition,
    Prediction,
    closed_form,
    cubic_against,
    expected,
    fluid,
)
from nashbed.analysis.models.expected import expected_crossing, mixes_of, quick_crossing
from nashbed.controlplane.config import parse_scenario, parse_testbed
from nashbed.controlplane.contract.testbed import Testbed
from tests.unit.controlplane.conftest import SCENARIO, TESTBED, plan_of, scenario_with

BDP = 500_000  # 100 Mbit/s x 40 ms / 8


@pytest.fixture
def testbed() -> Testbed:
    return parse_testbed(TESTBED, "fake.yaml").model


def mixes(bbr: int) -> Competition:
    return cubic_against(100e6, 0.04, 10 * BDP, 50 - bbr, bbr)


def refusing(model):
    return replace(model, predict=lambda q: Prediction(model.name, q, None, refusals=("no",)))


def test_the_fluid_model_from_the_closed_forms_crossing() -> None:
    """The published equilibrium of this setting has 24 BBR flows."""
    found = expected_crossing(mixes, 50)
    assert found.second == pytest.approx(24, abs=3)
    assert found.low <= found.second <= found.high
    assert found.questions <= 6


def test_what_is_left_where_a_model_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fluid, "MODEL", refusing(fluid.MODEL))
    closed = quick_crossing(mixes, 50)
    assert closed == pytest.approx(24, abs=4)
    assert expected_crossing(mixes, 50).second == closed
    monkeypatch.setattr(closed_form, "MODEL", refusing(closed_form.MODEL))
    # The middle of Mishra 2022's band.
    assert expected_crossing(mixes, 50).second == expected.equilibrium_band(mixes(1)).middle == 22
    assert expected_crossing(lambda k: replace(mixes(k), buffer_bytes=BDP / 2), 50).second is None


def test_a_question_for_each_mix_of_a_setting(testbed: Testbed) -> None:
    scenario = scenario_with("strategies: [cubic, bbr]", "strategies: [bbr, cubic]")
    asked = mixes_of(scenario, plan_of(scenario, testbed).trials[0].setting)
    assert asked is not None
    question = asked(2)
    assert (question.first.flows, question.second.flows, question.duration_s) == (1, 2, 0.4)
    assert question.measured_from_s == 0.1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("strategies: [cubic, bbr]", "strategies: [cubic, reno]"),
        ("base_rtt: 10ms}", "base_rtt: 10ms, random_loss: 1%}"),
        ("base_rtt: 10ms}", "base_rtt: 10ms}\n  - {name: far, count: 2, base_rtt: 20ms}"),
    ],
)
def test_what_no_model_speaks_of(old: str, new: str, testbed: Testbed) -> None:
    assert old in SCENARIO
    text = SCENARIO.replace(old, new).replace("mixes: [0, 1, 3]", "mixes: all")
    scenario = parse_scenario(text, "s.yaml").model
    assert mixes_of(scenario, plan_of(scenario, testbed).trials[0].setting) is None
