"""What the model assumes beside what was measured, by mix."""

from __future__ import annotations

import pytest
from nashbed.analysis.correlation.of_run import READINGS, RunCorrelation, mix_readings
from nashbed.analysis.figures import model_assumptions
from tests.support.drawn import legend_of, lines_of, points, unlabelled_lines
from tests.unit.analysis.figures.made_correlations import (
    correlation,
    losses,
    measures_of_three,
    of_trials,
    path,
)


def run_of_mixes(*bbr_flows: int) -> RunCorrelation:
    measures = measures_of_three()
    by_count = {t.state[0][1]: t for t in measures.trials}
    trials = [
        correlation(
            by_count[k],
            cubic=losses(3 - k, [1.0, 1.0], 100.0 * k) if k < 3 else None,
            bbr=path(k, 0.040 + 0.010 * k) if k else None,
        )
        for k in bbr_flows
    ]
    return of_trials(measures, *trials)


def title(name: str) -> str:
    return READINGS[name][0]


def test_readings_by_mix() -> None:
    run = run_of_mixes(1, 2)
    setting = run.measures.run.settings[0]
    figure = model_assumptions.draw(run, setting)
    assert figure is not None
    queue, rtt, flight = figure.axes
    assert points(lines_of(queue)[title("b_max")]) == ([1, 2], [100, 200])
    assert points(lines_of(queue)[title("b_min")]) == ([1, 2], [50, 100])
    assert points(lines_of(queue)[title("window")]) == ([1, 2], [200, 400])
    assert points(lines_of(rtt)[title("rtt_plus")]) == ([1, 2], pytest.approx([50, 60]))
    assert points(lines_of(flight)[title("flight_real")]) == ([1, 2], [2.5, 2.5])
    assert points(lines_of(flight)[title("flight_own")]) == ([1, 2], [2, 2])
    assert [ax.get_ylabel() for ax in figure.axes] == [
        "CUBIC (kB)", "RTT+ (ms)", "in flight (BDP)",
    ]  # fmt: skip
    assert flight.get_xlabel() == "flows running bbr (n = 1 trial)"
    assert "the same in the model" in legend_of(figure)


def test_the_model_beside_it() -> None:
    run = run_of_mixes(1, 2)
    setting = run.measures.run.settings[0]
    figure = model_assumptions.draw(run, setting)
    assert figure is not None
    model = [mix.model for mix in mix_readings(run, setting)]
    steps = [points(line) for line in unlabelled_lines(figure.axes[1])]
    assert steps == [([1, 2], pytest.approx([1e3 * m["rtt_plus"] for m in model]))]
    queue = {tuple(points(line)[1]) for line in unlabelled_lines(figure.axes[0])}
    for name in ("window", "b_max", "b_min"):
        assert any(y == pytest.approx([m[name] / 1e3 for m in model]) for y in map(list, queue))


def test_one_mix_is_no_figure() -> None:
    run = run_of_mixes(1)
    assert model_assumptions.draw(run, run.measures.run.settings[0]) is None
