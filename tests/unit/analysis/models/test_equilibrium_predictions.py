"""The fluid model's rows: what is asked, and what is made of the answers."""

from dataclasses import replace

import pytest
from nashbed.analysis.models import equilibrium_predictions
from nashbed.analysis.models.competition import Competition
from nashbed.analysis.models.equilibrium_predictions import SETTLED_S, fluid_rows
from nashbed.analysis.models.fluid import MODEL
from nashbed.analysis.models.prediction import Prediction
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.plan.sweep import scenario_settings
from tests.unit.analysis.made_measures import BASE

TEN = {
    "flows": [{"name": "main", "count": 10, "base_rtt": "40ms"}], "start": "iperf3",
    "window": "whole", "warmup": "0s", "duration": "120s", "start_jitter": "0s",
}  # fmt: skip


def rows_of(monkeypatch: pytest.MonkeyPatch, settled: dict[str, float], **raw: object):
    """Rows by a model with straight shares: 3 CUBIC flows after 120 s, settled by who is first."""
    asked: list[Competition] = []

    def predict(question: Competition) -> Prediction:
        asked.append(question)
        long = question.duration_s == SETTLED_S
        first = "bbr" if question.second.start_s < question.first.start_s else "cubic"
        at = 10 - (settled[first] if long else 3.0)
        k = question.second.flows
        return Prediction("made", question, k / 10 + (at - k) / 100)

    monkeypatch.setattr(equilibrium_predictions.fluid, "MODEL", replace(MODEL, predict=predict))
    scenario = Scenario.model_validate({**BASE, **TEN, **raw})
    rows = fluid_rows(scenario, scenario_settings(scenario))
    return rows, asked


def test_as_measured_and_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, asked = rows_of(monkeypatch, {"bbr": 4.2, "cubic": 4.6})
    transient, settled = rows
    assert (transient.kind, transient.source, transient.n_cubic) == ("model", "fluid", 3)
    assert (transient.longest_s, transient.start, transient.settled) == (120, "iperf3", False)
    # The middle of both orders; they agree within a flow.
    assert (settled.source, settled.n_cubic, settled.settled) == ("fluid-settled", 4.4, True)
    assert settled.interval == (4.2, 4.6)
    assert settled.mixes + transient.mixes == len(asked)
    long = [each for each in asked if each.duration_s == SETTLED_S]
    assert {each.measured_from_s for each in long} == {SETTLED_S / 2}
    assert {(each.first.start_s, each.second.start_s) for each in long} == {(0, 5), (5, 0)}


def test_orders_that_disagree_have_not_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = rows_of(monkeypatch, {"bbr": 3.0, "cubic": 6.0})
    assert (rows[1].n_cubic, rows[1].settled) == (4.5, False)


def test_trials_until_settled_have_the_settled_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = {"duration": {"until": "settled"}, "warmup": "10s", "start": "together"}
    rows, _ = rows_of(monkeypatch, {"bbr": 4.0, "cubic": 4.0}, window="after_warmup", **raw)
    assert [row.source for row in rows] == ["fluid-settled"]


def test_other_controls_have_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, asked = rows_of(monkeypatch, {}, strategies=["cubic", "copa"])
    assert (rows, asked) == ([], [])
