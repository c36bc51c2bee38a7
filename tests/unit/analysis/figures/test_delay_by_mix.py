"""Queueing delay by mix: its three lines and the full queue's delay."""

from __future__ import annotations

import pytest
from nashbed.analysis.figures import delay_by_mix
from nashbed.analysis.models import MODELS
from nashbed.analysis.models.measured import question_of_mix
from tests.support.drawn import half_widths, legend_of, lines_of, points
from tests.unit.analysis.made_measures import made

TOTALS = {"mean_queueing_delay": 0.030, "median_queueing_delay": 0.025, "p95_queueing_delay": 0.07}


def test_mean_median_and_percentile_in_ms() -> None:
    measures = made({}, lambda *_: 1e7, TOTALS)
    figure = delay_by_mix.draw(measures, measures.run.settings[0])
    assert figure is not None
    (ax,) = figure.axes
    lines = lines_of(ax)
    for label, ms, style in (
        ("mean over packets (n = 1 trial per mix)", 30, "-"),
        ("median (n = 1 trial per mix)", 25, "--"),
        ("95th percentile (n = 1 trial per mix)", 70, ":"),
    ):
        x, y = points(lines[label])
        assert x == [0, 1, 2]
        assert y == pytest.approx([ms] * 3)
        assert lines[label].get_linestyle() == style
        assert half_widths(ax, label) is None
    # 2 BDP of 100 Mbit/s x 40 ms are sent in 80 ms.
    assert points(lines["full queue"])[1] == pytest.approx([80, 80])
    assert ax.get_ylabel() == "queueing delay (ms)"
    assert ax.get_xlabel() == "flows running bbr, of 2"
    assert ax.get_xlim() == (-0.5, 2.5)
    assert ax.get_ylim()[0] == 0
    assert ax.get_ylim()[1] > 80
    models = [f"{MODELS[name].title}: mean" for name in ("fluid", "closed-form")]
    assert len(legend_of(figure)) == 4 + len(models)
    question = question_of_mix(measures, measures.run.settings[0], ((1, 1),))
    assert question is not None
    fluid = MODELS["fluid"].predict(question).inner["queueing_delay_s"]
    assert points(lines[models[0]]) == ([1], [pytest.approx(1e3 * fluid)])


def test_what_was_not_measured_has_no_line() -> None:
    measures = made({}, lambda *_: 1e7, {"mean_queueing_delay": 0.030})
    figure = delay_by_mix.draw(measures, measures.run.settings[0])
    assert figure is not None
    (ax,) = figure.axes
    measured = {label for label in lines_of(ax) if "trial per mix" in label}
    assert measured == {"mean over packets (n = 1 trial per mix)"}


def test_several_groups_have_points_only() -> None:
    groups = [{"name": "near", "count": 1, "base_rtt": "10ms"},
              {"name": "far", "count": 1, "base_rtt": "50ms"}]  # fmt: skip
    measures = made({"flows": groups}, lambda *_: 1e7, TOTALS)
    figure = delay_by_mix.draw(measures, measures.run.settings[0])
    assert figure is not None
    (ax,) = figure.axes
    line = lines_of(ax)["mean over packets (n = 1 trial per mix)"]
    assert line.get_linestyle() == "None"
    assert sorted(points(line)[0]) == [0, 1, 1, 2]


def test_nothing_where_no_delay_was_measured() -> None:
    measures = made({}, lambda *_: 1e7)
    assert delay_by_mix.draw(measures, measures.run.settings[0]) is None
