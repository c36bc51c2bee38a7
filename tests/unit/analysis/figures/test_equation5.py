"""Throughput against what equation (5) makes of the occupancy, and what is left over."""

from __future__ import annotations

import numpy as np
import pytest
from nashbed.analysis.correlation.of_run import RunCorrelation
from nashbed.analysis.figures import equation5
from nashbed.analysis.figures.style import colour_of
from tests.support.drawn import colour, legend_of, lines_of, points, unlabelled_lines
from tests.unit.analysis.figures.made_correlations import correlation, measures_of_three, of_trials


def run_with(predicted: list[float] | None) -> RunCorrelation:
    measures = measures_of_three()
    one = next(t for t in measures.trials if t.state == ((2, 1),))  # CUBIC 20, 20; BBR 30 Mbit/s
    values = None if predicted is None else np.array(predicted)
    return of_trials(measures, correlation(one, predicted=values))


def test_points_and_differences() -> None:
    run = run_with([20e6, 24e6, 25e6])
    figure = equation5.draw(run, run.measures.run.settings[0])
    assert figure is not None
    above, below = figure.axes
    cubic = lines_of(above)["cubic (n = 2 flows)"]
    assert points(cubic) == (pytest.approx([20, 24]), pytest.approx([20, 20]))
    assert colour(cubic) == colour_of("cubic", ()).lower()
    assert cubic.get_linestyle() == "None"
    assert points(lines_of(above)["bbr (n = 1 flows)"]) == ([25], [30])
    assert points(lines_of(above)["equal"]) == ([0, 30], [0, 30])
    # Differences are in per cent of the fair share, a third of 100 Mbit/s.
    left_over = [points(line) for line in unlabelled_lines(below)]
    assert left_over[0] == (pytest.approx([20, 24]), pytest.approx([0, -12]))
    assert left_over[1] == (pytest.approx([25]), pytest.approx([15]))
    assert above.get_ylabel() == "throughput (Mbit/s)"
    assert below.get_xlabel() == "(λR + b) / (R + Q) (Mbit/s)"
    assert below.get_ylabel() == "difference,\n% of fair share"
    assert above.get_ylim() == pytest.approx((0, 1.04 * 30))
    assert legend_of(figure)[0] == "equal"


def test_a_fit_is_named_where_there_is_one() -> None:
    measures = measures_of_three()
    one = next(t for t in measures.trials if t.state == ((0, 3),))
    trial = correlation(one, predicted=np.array([29e6, 30e6, 31e6]))
    run = of_trials(measures, trial)
    figure = equation5.draw(run, measures.run.settings[0])
    assert figure is not None
    fit = run.fit(measures.run.settings[0], "bbr")
    assert fit is not None
    label = f"bbr (n = 3 flows): slope {fit.slope:.2f}, R² {fit.r2:.2f}"
    assert label in legend_of(figure)


def test_nothing_without_telemetry() -> None:
    run = run_with(None)
    assert equation5.draw(run, run.measures.run.settings[0]) is None
