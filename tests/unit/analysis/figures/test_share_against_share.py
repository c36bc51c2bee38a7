"""Share of the queue against share of the throughput."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from nashbed.analysis.figures import share_against_share
from nashbed.analysis.figures.style import colour_of
from nashbed.analysis.measures import RunMeasures
from tests.support.drawn import colour, lines_of, points
from tests.unit.analysis.made_measures import made

MIXES = {"sweep": {"mixes": [1]}, "flows": [{"name": "main", "count": 4, "base_rtt": "40ms"}]}
QUEUE = np.array([0.2, 0.3, 0.4, 0.1])
THROUGHPUT = np.array([0.25, 0.35, 0.45, 0.15])


def measures_with(queue: np.ndarray | None) -> RunMeasures:
    measures = made(MIXES, lambda *_: 1e7)
    (trial,) = measures.trials
    shares = {"throughput_share": THROUGHPUT}
    if queue is not None:
        shares["occupancy_share"] = queue
    return replace(measures, trials=(replace(trial, per_flow=shares),))


def test_a_point_for_each_flow_and_the_lines() -> None:
    measures = measures_with(QUEUE)
    figure = share_against_share.draw(measures, measures.run.settings[0])
    assert figure is not None
    (ax,) = figure.axes
    lines = lines_of(ax)
    # Three CUBIC flows and then the BBR flow; throughput is the queue's share plus 0.05.
    cubic = lines["cubic: slope 1.00, R² 1.00"]
    assert points(cubic) == ([0.2, 0.3, 0.4], [0.25, 0.35, 0.45])
    assert colour(cubic) == colour_of("cubic", ()).lower()
    assert points(lines["bbr"]) == ([0.1], [0.15])
    top = 1.06 * 0.45
    assert points(lines["equation (5): equal shares"]) == ([0, top], [0, top])
    x, y = points(lines["all: slope 1.00, R² 1.00, n 4"])
    assert x == [0, top]
    assert y == pytest.approx([0.05, 0.05 + top])
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, top), (0, top))
    assert ax.get_xlabel() == "share of the queue (mean bytes)"
    assert ax.get_ylabel() == "share of the throughput"
    assert ax.xaxis.get_major_formatter()(0.25, 0) == "25%"


def test_flows_without_a_share_are_left_out() -> None:
    measures = measures_with(np.array([0.2, np.nan, 0.4, 0.1]))
    figure = share_against_share.draw(measures, measures.run.settings[0])
    assert figure is not None
    assert points(lines_of(figure.axes[0])["cubic"]) == ([0.2, 0.4], [0.25, 0.45])


def test_nothing_without_telemetry() -> None:
    measures = measures_with(None)
    assert share_against_share.draw(measures, measures.run.settings[0]) is None
