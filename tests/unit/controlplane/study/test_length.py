"""What a plan says of the length of its trials, in words."""

import math

import numpy as np
import pytest
from nashbed.analysis.models import Competition, FlowKind, transients
from nashbed.analysis.models.fluid import FluidNotBuiltError
from nashbed.analysis.models.settling import SettlingTime
from nashbed.analysis.models.transients import SettingSettling
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.units import NS_PER_S, Duration
from nashbed.controlplane.study import length
from nashbed.controlplane.study.length import TrialLengths, trial_lengths
from tests.unit.controlplane.conftest import plan_of, scenario_with


def lengths(scenario: Scenario, testbed: Testbed, *after_s: float, settings: int = 0):
    """Settings in which BBR has 0.10 to 0.20 of the throughput, and 0.40 once settled."""
    setting = plan_of(scenario, testbed).trials[0].setting
    kinds = (FlowKind("cubic", 2, 0.01), FlowKind("bbr", 1, 0.01))
    competition = Competition(100e6, 250_000, kinds, 120, 20)
    planned = np.array([[0.9, 0.1], [0.8, 0.2], [0.85, 0.15]])
    found = [
        SettingSettling(
            setting.model_copy(update={"label": f"b{i}"}),
            (SettlingTime(competition, s, 200, 700, 900, np.array([0.6, 0.4]), planned, True),),
        )
        for i, s in enumerate(after_s)
    ]
    return TrialLengths(scenario, found, settings or len(found))


def test_a_line_for_each_setting_and_what_to_write(scenario: Scenario, testbed: Testbed) -> None:
    said = lengths(scenario, testbed, 287, 583, settings=5).text.splitlines()
    assert said == [
        "measured before shares have settled, by the fluid model (2 of 5 settings looked at); "
        "BBR's part of the throughput, by who starts first:",
        "  b0, 1 of 3 flows BBR: 0.10 to 0.20 by 120 s, 0.40 once settled, after about 290 s "
        "(200 to 700 s)",
        "  b1, 1 of 3 flows BBR: 0.10 to 0.20 by 120 s, 0.40 once settled, after about 580 s "
        "(200 to 700 s)",
        "  for settled shares write `duration: {until: settled, at_most: 1800s}` and `trials: 2` "
        "(from opposite starts), or "
        "`duration: 600s` and `warmup: 300s`",
    ]


def test_settings_that_no_duration_settles(scenario: Scenario, testbed: Testbed) -> None:
    said = lengths(scenario, testbed, 287, math.inf)
    assert "once settled, after more than 900 s" in said.text
    assert said.advice.endswith("`warmup: 150s`; b1: more than half an hour")
    assert lengths(scenario, testbed, math.inf).advice == "b0: more than half an hour"


def test_what_iperf3_and_whole_windows_cannot_do(testbed: Testbed) -> None:
    scenario = scenario_with(
        "warmup: 100ms\nstart_jitter: 50ms",
        "warmup: 0s\nstart: iperf3\nwindow: whole\nstart_jitter: 0s",
    )
    advice = lengths(scenario, testbed, 287).advice
    assert advice == (
        "for settled shares write `duration: 300s` and `warmup: 150s`, without `window: whole`"
    )


def test_a_trial_that_may_not_settle_in_time(testbed: Testbed) -> None:
    scenario = scenario_with(
        "duration: 400ms", "duration: {until: settled, at_least: 60s, at_most: 200s}"
    )
    advice = lengths(scenario, testbed, 583).advice
    assert advice == (
        "for settled shares write `duration: {until: settled, at_most: 1800s}` and `trials: 2` "
        "(from opposite starts)"
    )


def test_a_single_repetition_has_one_start(testbed: Testbed) -> None:
    scenario = scenario_with(
        "duration: 400ms",
        "duration: {until: settled, at_least: 60s, at_most: 200s}",
    )
    assert "write `trials: 2`" in lengths(scenario, testbed).text
    assert lengths(scenario, testbed).advice == lengths(scenario, testbed).text
    assert "`trials: 2` (from opposite starts)" in lengths(scenario, testbed, 583).text


def test_nothing_where_trials_are_long_enough(scenario: Scenario, testbed: Testbed) -> None:
    said = lengths(scenario, testbed)
    assert (said.text, said.advice) == ("", None)
    assert said.answer().model_dump() == {
        "problem": None,
        "settings": 0,
        "looked_at": (),
        "short_windows": (),
        "advice": None,
    }


def test_a_model_that_is_not_built_says_so(
    scenario: Scenario, testbed: Testbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object) -> None:
        raise FluidNotBuiltError("the fluid model has not been built; run `make build`")

    monkeypatch.setattr(transients, "settle_plan", missing)
    said = trial_lengths(scenario, plan_of(scenario, testbed), lambda *step: None)
    assert said.text.endswith("run `make build`")


def test_a_small_plan(scenario: Scenario, testbed: Testbed) -> None:
    """Trials of 0.4 s, of which the one mix with both CCAs has one BBR flow."""
    steps: list[str] = []
    said = trial_lengths(
        scenario, plan_of(scenario, testbed), lambda label, done, total: steps.append(label)
    )
    assert said.settings == 1
    assert steps[0] == "b2bdp"
    assert said.found[0].answer().mixes[0].flows == {"cubic": 2, "bbr": 1}
    assert said.too_short


def test_a_window_that_is_shorter_than_the_full_queue(scenario: Scenario, testbed: Testbed) -> None:
    """6 MB at 10 Mbit/s last 4.8 s: a window of that length is not warned of."""
    setting = plan_of(scenario, testbed).trials[0].setting
    deep = setting.model_copy(
        update={"label": "b6MB", "rate_bps": 10**7, "buffer_bytes": 6_000_000}
    )
    raw = {"duration": Duration(40 * NS_PER_S), "warmup": Duration(38 * NS_PER_S)}
    short = scenario.model_copy(update=raw)
    said = tuple(length._short_windows(short, [deep]))
    assert said == (
        "b6MB: the window of 2 s (duration less warmup) is shorter than the full queue's 4.8 s; "
        "a trial with losses may not be valid (gate window_goodput)",
    )
    assert TrialLengths(short, (), 0, short_windows=said).text == said[0]
    assert TrialLengths(short, (), 0, short_windows=said).answer().short_windows == said
    long = short.model_copy(update={"warmup": Duration(35_200_000_000)})
    assert list(length._short_windows(long, [deep])) == []
    whole = short.model_copy(update={"window": "whole"})
    assert list(length._short_windows(whole, [deep])) == []
