"""How many CUBIC flows lose together, and BBR's share by the model with each k."""

from __future__ import annotations

import pytest
from nashbed.analysis.correlation.k_verdict import KPrediction, judge_k
from nashbed.analysis.correlation.of_run import RunCorrelation
from nashbed.analysis.figures import synchronisation
from nashbed.analysis.figures.style import colour_of
from tests.support.drawn import colour, half_widths, lines_of, points, texts
from tests.unit.analysis.figures.made_correlations import (
    correlation,
    losses,
    measures_of_three,
    of_trials,
)

SHARES = {0: [1.0, 1 / 3], 1: [0.5, 0.5], 2: [1.0]}
PREDICTED = {"measured": 0.4, "synchronised": 0.6, "desynchronised": 0.3}


def run_of_mixes(*bbr_flows: int, with_model: bool = True) -> RunCorrelation:
    measures = measures_of_three()
    by_count = {t.state[0][1]: t for t in measures.trials}
    trials = [correlation(by_count[k], cubic=losses(3 - k, SHARES[k], 100)) for k in bbr_flows]
    label = measures.run.settings[0].label
    rows = [
        KPrediction(by_count[k].trial.id, label, 0.25 + 0.1 * k, dict.fromkeys(PREDICTED, 1.0),
                    {name: share + 0.01 * k for name, share in PREDICTED.items()})
        for k in bbr_flows if k
    ]  # fmt: skip
    return of_trials(measures, *trials, k=judge_k(rows) if with_model else None)


def test_shares_of_losing_flows() -> None:
    run = run_of_mixes(0, 1, 2)
    figure = synchronisation.draw(run, run.measures.run.settings[0])
    assert figure is not None
    above, below = figure.axes
    measured = lines_of(above)["losing together, measured"]
    assert points(measured) == ([0, 1, 2], pytest.approx([2 / 3, 0.5, 1.0]))
    assert colour(measured) == colour_of("cubic", ()).lower()
    assert half_widths(above, "losing together, measured") is None
    assert points(lines_of(above)["one flow each time"])[1] == pytest.approx([1 / 3, 1 / 2, 1])
    assert points(lines_of(above)["all together"])[1] == [1, 1]
    assert above.get_ylabel() == "share of CUBIC flows\nlosing in one event"
    assert below.get_xlabel() == "flows running bbr (n = 1 trial)"


def test_shares_of_bbr_by_each_k() -> None:
    run = run_of_mixes(0, 1, 2)
    figure = synchronisation.draw(run, run.measures.run.settings[0])
    assert figure is not None
    _, below = figure.axes
    for name, share in PREDICTED.items():
        line = lines_of(below)[f"model, {name} k"]
        assert points(line) == ([1, 2], pytest.approx([share + 0.01, share + 0.02]))
    measured = lines_of(below)["BBR's share, measured"]
    assert points(measured) == ([1, 2], pytest.approx([0.35, 0.45]))
    assert colour(measured) == colour_of("bbr", ()).lower()
    assert below.get_ylim() == pytest.approx((0, 1.05))


def test_where_the_model_does_not_hold_it_says_so() -> None:
    run = run_of_mixes(0, 1, with_model=False)
    figure = synchronisation.draw(run, run.measures.run.settings[0])
    assert figure is not None
    assert texts(figure.axes[1]) == ["the model does not hold here"]


def test_one_mix_is_no_figure() -> None:
    run = run_of_mixes(1)
    assert synchronisation.draw(run, run.measures.run.settings[0]) is None
