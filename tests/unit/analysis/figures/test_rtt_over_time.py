"""Smoothed RTT over time: each flow, each strategy's mean, and the bounds."""

from __future__ import annotations

import numpy as np
import pytest
from nashbed.analysis.figures import rtt_over_time
from nashbed.analysis.figures.style import colour_of
from tests.support.drawn import colour, lines_of, points, unlabelled_lines
from tests.unit.analysis.figures.made_tables import trial_with

MS = 1_000_000
SAMPLES = {
    "t_ns": [10 * MS, 20 * MS, 60 * MS, 10 * MS],
    "flow": [0, 0, 0, 1],
    "srtt_us": [40_000, 44_000, 80_000, 50_000],
}


def test_means_in_ms() -> None:
    measures, trial = trial_with({"flow_samples": SAMPLES})
    figure = rtt_over_time.draw(measures, trial)
    assert figure is not None
    (ax,) = figure.axes
    # Bins of 50 ms: flow 0 has 40 and 44 ms in the first and 80 ms in the second.
    cubic = lines_of(ax)["cubic: flows and mean"]
    assert points(cubic) == (pytest.approx([0.025, 0.075]), pytest.approx([42, 80]))
    assert colour(cubic) == colour_of("cubic", ()).lower()
    bbr = points(lines_of(ax)["bbr: flows and mean"])[1]
    assert bbr[0] == pytest.approx(50)
    assert np.isnan(bbr[1])
    thin = [points(line)[1] for line in unlabelled_lines(ax)]
    assert thin[0] == pytest.approx([42, 80])


def test_bounds_and_axes() -> None:
    measures, trial = trial_with({"flow_samples": SAMPLES})
    figure = rtt_over_time.draw(measures, trial)
    assert figure is not None
    (ax,) = figure.axes
    assert points(lines_of(ax)["base RTT"])[1] == [40, 40]
    # 40 kB at 8 Mbit/s are 40 ms.
    assert points(lines_of(ax)["base RTT + full queue"])[1] == pytest.approx([80, 80])
    assert ax.get_ylabel() == "smoothed RTT (ms)"
    assert ax.get_xlabel() == "time (s)"
    assert ax.get_xlim() == pytest.approx((0, 0.1))
    assert ax.get_ylim()[0] == 0


def test_nothing_without_samples() -> None:
    assert rtt_over_time.draw(*trial_with({})) is None
