"""Correlation by lag: the median over flows, on lags in mean queueing delays."""

from __future__ import annotations

import numpy as np
import pytest
from nashbed.analysis.correlation.trial import LaggedCorrelation
from nashbed.analysis.figures import lagged_correlation
from nashbed.analysis.figures.lagged_correlation import GRID
from nashbed.analysis.figures.style import colour_of
from tests.support.drawn import band, colour, lines_of, points
from tests.unit.analysis.figures.made_correlations import correlation, measures_of_three, of_trials


def lagged(values: list[list[float]], expected_ns: float = 10e6) -> LaggedCorrelation:
    """Two points of each flow's curve, at two mean queueing delays (of 20 ms) to either side."""
    return LaggedCorrelation(
        lags_ns=np.array([-40_000_000, 40_000_000]),
        values=np.array(values),
        flows=np.arange(len(values)),
        expected_ns=expected_ns,
    )


def test_median_and_band_of_each_strategy() -> None:
    measures = measures_of_three()
    one = next(t for t in measures.trials if t.state == ((2, 1),))
    rows = [[0.0, 0.4], [0.2, 0.6], [0.5, 0.9]]  # two CUBIC flows, one of BBR
    run = of_trials(measures, correlation(one, lagged=lagged(rows)))
    figure = lagged_correlation.draw(run, measures.run.settings[0])
    assert figure is not None
    (ax,) = figure.axes
    cubic = lines_of(ax)["cubic: median of n = 2 flows, 10 % to 90 %"]
    x, y = points(cubic)
    assert x == pytest.approx(list(GRID))
    # Straight from (0.0 + 0.2) / 2 to (0.4 + 0.6) / 2.
    assert y == pytest.approx(list(np.linspace(0.1, 0.5, len(GRID))))
    assert colour(cubic) == colour_of("cubic", ()).lower()
    assert band(ax, 0, -2.0) == pytest.approx((0.02, 0.18))
    bbr = lines_of(ax)["bbr: median of n = 1 flows, 10 % to 90 %"]
    assert points(bbr)[1][0] == pytest.approx(0.5)
    assert points(lines_of(ax)["half the delay"])[0] == [0.5, 0.5]
    assert ax.get_xlabel() == "lag of the rate behind the occupancy (mean queueing delays)"
    assert ax.get_ylabel() == "correlation"
    assert ax.get_xlim() == (-2, 2)
    assert ax.get_ylim()[1] == 1


def test_nothing_without_a_queue() -> None:
    measures = measures_of_three()
    one = measures.trials[0]
    setting = measures.run.settings[0]
    assert lagged_correlation.draw(of_trials(measures, correlation(one)), setting) is None
    idle = correlation(one, lagged=lagged([[0.1, 0.2]] * 3, expected_ns=0.0))
    assert lagged_correlation.draw(of_trials(measures, idle), setting) is None
