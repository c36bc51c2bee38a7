"""The question about a mix of a scenario: what was applied, how it ran, what limits windows."""

from typing import Any

import pytest
from nashbed.analysis.models import Competition
from nashbed.analysis.models.asked import problem_of, question_of, window_of
from nashbed.analysis.models.measured import (
    DRAWN_MIXES,
    question_of_mix,
    questions_of_mixes,
    questions_of_setting,
)
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.scenario_keys import Hosts
from nashbed.controlplane.contract.trial import TrialRecord
from nashbed.controlplane.contract.units import Size
from nashbed.controlplane.plan.sweep import scenario_settings
from tests.unit.analysis.made_measures import BASE, made

MIX = ((1, 1),)


def scenario(**raw: Any) -> Scenario:
    return Scenario.model_validate({**BASE, **raw})


def ask(state: Any = MIX, records: Any = (), **raw: Any) -> Competition:
    made_up = scenario(**raw)
    setting = scenario_settings(made_up)[0]
    assert problem_of(made_up, setting, state) is None
    return question_of(made_up, setting, state, None, records)


def test_the_setting_as_requested_and_as_applied() -> None:
    question = ask()
    assert (question.rate_bps, question.base_rtt_s, question.buffer_bytes) == (10**8, 0.04, 10**6)
    assert (question.first.flows, question.second.flows) == (1, 1)
    assert question.second.window_limit is None
    assert (question.duration_s, question.measured_from_s) == (60, 10)
    made_up = scenario()
    applied = question_of(made_up, scenario_settings(made_up)[0], MIX, (99e6, 9e5))
    assert (applied.rate_bps, applied.buffer_bytes) == (99e6, 9e5)


def test_a_swept_start_is_the_settings_own() -> None:
    question = ask(sweep={"start": [{"order": ["bbr", "cubic"], "gap": "5s"}, "together"]})
    assert (question.first.start_s, question.second.start_s) == (5, 0)


def test_measured_over_each_ccas_own_time_half_of_the_lead_counts() -> None:
    question = ask(window="whole", warmup="0s", start={"offsets": {"bbr": "4s"}})
    assert (question.duration_s, question.measured_from_s) == (60, 2)


def test_by_iperf3_the_warm_up_is_after_the_later_start() -> None:
    flows = [{"name": "main", "count": 4, "base_rtt": "40ms"}]
    question = ask(((1, 3),), flows=flows, start="iperf3")
    assert question.second.start_s > 0
    assert question.measured_from_s == pytest.approx(10 + question.second.start_s)


def test_trials_say_how_long_they_took() -> None:
    settled = {"until": "settled", "at_most": "600s"}
    planned = ask(duration=settled)
    assert (planned.duration_s, planned.measured_from_s) == (600, 300)
    windows = [(100, 200), (200, 400)]
    records = [
        TrialRecord.model_construct(repetition=i, window_ns=(a * 10**9, b * 10**9))
        for i, (a, b) in enumerate(windows)
    ]
    measured = ask(records=records, duration=settled)
    assert (measured.duration_s, measured.measured_from_s) == (300, 150)


@pytest.mark.parametrize(
    ("raw", "state", "why"),
    [
        ({}, ((2, 0),), "only one congestion control"),
        ({}, ((0, 2),), "only one congestion control"),
        ({"strategies": ["cubic", "reno"]}, MIX, "it has reno flows"),
        ({"strategies": ["cubic", "bbr", "reno"]}, ((1, 0, 1),), "it has reno flows"),
        ({"flows": [{"name": "a", "count": 1, "base_rtt": "10ms"},
                    {"name": "b", "count": 1, "base_rtt": "50ms"}]}, ((1, 0), (0, 1)),
         "several base RTTs"),
        ({"sweep": {"random_loss": ["1%"], "mixes": [1]}}, MIX, "lost at random"),
        ({"flows": [{"name": "a", "count": 2, "base_rtt": "10ms", "random_loss": "1%"}]}, MIX,
         "lost at random"),
        ({"bottleneck": BASE["bottleneck"] | {"discipline": {"codel": {"ecn": True}}}}, MIX,
         "its queue is CoDel (ecn), and models know drop-tail"),
    ],
)  # fmt: skip
def test_what_models_do_not_speak_of(raw: dict[str, Any], state: Any, why: str) -> None:
    measures = made(raw, lambda *_: 1e7)
    setting = measures.run.settings[0]
    assert why in (problem_of(measures.run.scenario, setting, state) or "")
    assert question_of_mix(measures, setting, state) is None


def test_a_third_strategy_without_flows_does_not_matter() -> None:
    measures = made({"strategies": ["cubic", "reno", "bbr"],
                     "sweep": {"mixes": [{"cubic": 1, "bbr": 1}]}}, lambda *_: 1e7)  # fmt: skip
    question = question_of_mix(measures, measures.run.settings[0], ((1, 0, 1),))
    assert question is not None
    assert (question.first.flows, question.second.flows) == (1, 1)
    assert questions_of_setting(measures, measures.run.settings[0]) is None


def test_socket_buffers_limit_windows() -> None:
    assert window_of(Hosts()) is None
    # 4 MiB by 2,600 bytes are 1,613.2 packets of 1514 bytes; half of 6 MiB holds more, that of
    # 3 MiB 1,086.2 segments of 1448 bytes.
    ubuntu = Hosts(wmem_max=Size(4 * 2**20), rmem_max=Size(6 * 2**20))
    assert window_of(ubuntu) == pytest.approx(1613.2 * 1514, rel=1e-4)
    small = Hosts(wmem_max=Size(4 * 2**20), rmem_max=Size(3 * 2**20))
    assert window_of(small) == pytest.approx(1086.2 * 1514, rel=1e-4)
    assert ask(hosts={"rmem_max": "3MiB"}).second.window_bytes == window_of(small)


def test_a_line_has_so_many_mixes_at_most() -> None:
    def mixes(flows: int) -> list[int]:
        groups = [{"name": "main", "count": flows, "base_rtt": "40ms"}]
        measures = made({"flows": groups, "sweep": {"mixes": [1]}}, lambda *_: 1e7)
        return [k for k, _ in questions_of_mixes(measures, measures.run.settings[0])]

    assert mixes(4) == [1, 2, 3]
    assert mixes(2) == [1]
    many = mixes(100)
    assert (len(many), many[0], many[-1]) == (DRAWN_MIXES, 1, 99)
