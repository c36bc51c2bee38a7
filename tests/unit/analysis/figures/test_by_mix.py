"""Throughput and queueing delay against the mix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.analysis.correlation.of_run import RunCorrelation
from nashbed.analysis.figures.by_mix import (
    draw_delay_by_mix,
    draw_panel_by_mix,
    draw_throughput_by_mix,
)
from nashbed.analysis.figures.catalogue import sketches
from nashbed.analysis.figures.style import colour_of
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.models import MODELS
from nashbed.analysis.models.measured import question_of_mix, questions_of_setting
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.results.sweep import lines
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import (
    band,
    colour,
    containers,
    half_widths,
    legend_of,
    lines_of,
    points,
    spans,
    texts,
)
from tests.unit.analysis.made_measures import made

FOUR = {"flows": [{"name": "main", "count": 4, "base_rtt": "40ms"}]}
TOTALS = {"mean_queueing_delay": 0.030, "median_queueing_delay": 0.025, "p95_queueing_delay": 0.07}
FIVE: dict[str, Any] = {
    "flows": [{"name": "main", "count": 10, "base_rtt": "40ms"}],
    "sweep": {"buffer": ["1bdp", "5bdp", "10bdp", "20bdp", "50bdp"]},
}
BEST = {1.0: 9.5, 5.0: 6.5, 10.0: 5.5, 20.0: 3.5, 50.0: 1.5}
MEASURED = "measured (n = 1 trial per mix)"


def leading_up_to_two(setting: Setting, strategy: str, second: int) -> float:
    """BBR leads by 2 Mbit/s for each flow that is missing to two and a half."""
    return 20e6 + (2e6 * (2.5 - second) if strategy == "bbr" else 0.0)


def test_strategies_that_run_only_alone_have_a_place_each() -> None:
    alone = [{"cubic": 4}, {"reno": 4}, {"bbr": 4}]
    figure = draw_one({"strategies": ["cubic", "reno", "bbr"], "sweep": {"mixes": alone}})
    (ax,) = figure.axes
    drawn_names = [label.get_text() for label in ax.get_xticklabels()]
    assert drawn_names == ["cubic", "reno", "bbr"]
    assert ax.get_xlabel() == "what all 4 flows run"
    drawn = containers(ax)
    places = [points(drawn[f"{name} (n = 1 trial per mix)"].lines[0])[0] for name in drawn_names]
    assert places == [[0], [1], [2]]


def draw_one(raw: dict[str, Any], per_flow: Any = leading_up_to_two) -> Figure:
    measures = made({**FOUR, **raw}, per_flow)
    (setting,) = measures.run.settings
    (equilibria,) = equilibria_of_measures(measures)
    return draw_throughput_by_mix(measures, setting, equilibria, measures.run.scenario.reference)


def test_a_line_for_each_strategy_where_it_has_flows() -> None:
    (ax,) = draw_one({}).axes
    lines = lines_of(ax)
    cubic, bbr = (lines[f"{s} (n = 1 trial per mix)"] for s in ("cubic", "bbr"))
    assert points(cubic) == ([0, 1, 2, 3], [20, 20, 20, 20])
    x, y = points(bbr)
    assert x == [1, 2, 3, 4]
    assert y == pytest.approx([23, 21, 19, 17])
    assert colour(cubic) == colour_of("cubic", ()).lower()
    assert colour(bbr) == colour_of("bbr", ()).lower()
    assert (cubic.get_marker(), bbr.get_marker()) == ("o", "s")
    assert half_widths(ax, "bbr (n = 1 trial per mix)") is None


def test_axes_and_fair_share() -> None:
    (ax,) = draw_one({}).axes
    assert points(lines_of(ax)["fair share of the rate"])[1] == [25, 25]
    assert ax.get_xlabel() == "flows running bbr, of 4"
    assert ax.get_ylabel() == "Mbit/s per flow"
    assert ax.get_xlim() == (-0.5, 4.5)
    assert ax.get_ylim()[0] == 0


def test_the_equilibrium_is_marked() -> None:
    # At two BBR flows a third would get 19 < 20, and one of the two would get 20 < 21.
    figure = draw_one({})
    (ax,) = figure.axes
    marked = [span for span in spans(ax) if span[2] == "equilibrium"]
    assert [(left, right) for left, right, _ in marked] == [(1.6, 2.4)]
    assert texts(ax) == ["2"]
    assert ax.texts[0].xy[0] == 2
    assert "equilibrium" in legend_of(figure)


def test_mixes_that_nearly_settle_are_marked_lighter() -> None:
    # Epsilon of 6 % is 1.5 Mbit/s of the fair share of 25: at three BBR flows one gains 1 by
    # leaving; at one BBR flow another gains 1 by joining.
    (ax,) = draw_one({"equilibrium": {"epsilon": "6%"}}).axes
    near = [(left, right) for left, right, label in spans(ax) if label != "equilibrium"]
    assert sorted(near) == [(0.6, 1.4), (2.6, 3.4)]
    assert "gain below 6% of the fair share" in {label for _, _, label in spans(ax)}


def test_published_values_as_open_markers() -> None:
    series = {"label": "Paper", "strategy": "bbr", "x": [1, 4], "y": [30.0, 18.0]}
    (ax,) = draw_one({"reference": [series]}).axes
    line = lines_of(ax)["Paper, bbr"]
    assert points(line) == ([1, 4], [30, 18])
    assert line.get_linestyle() == ":"
    assert line.get_markerfacecolor() == "white"
    assert colour(line) == colour_of("bbr", ()).lower()


def test_one_flow_is_a_band_of_its_own_with_one_trial() -> None:
    # With one trial the band spans the slowest and the fastest flow: here they are alike.
    (ax,) = draw_one({}).axes
    assert band(ax, 0, 1.0) == pytest.approx((20, 20))
    assert band(ax, 1, 1.0) == pytest.approx((23, 23))


def test_models_in_the_colours_of_the_ccas() -> None:
    measures = made(FOUR, leading_up_to_two)
    (setting,) = measures.run.settings
    question = question_of_mix(measures, setting, ((2, 2),))
    assert question is not None
    figure = draw_one({})
    (ax,) = figure.axes
    for name in ("fluid", "closed-form", "ware"):
        share = MODELS[name].predict(question).share
        assert share is not None
        # Two flows of each: a flow has half of its side's share of the link's payload.
        for strategy, part in (("cubic", 1 - share), ("bbr", share)):
            place = 2, part * 100 * 1448 / 1514 / 2
            lines = [x for x in ax.lines if colour(x) == colour_of(strategy, ()).lower()]
            drawn = [xy for x in lines for xy in zip(*points(x), strict=True)]
            assert any(xy == pytest.approx(place) for xy in drawn), (name, strategy)
    assert {"Fluid", "Closed form", "Ware", "Mishra 2022's bounds"} <= set(legend_of(figure))
    assert ax.get_ylim()[1] < 30  # a model may leave the frame


def test_several_groups_have_axes_of_their_own() -> None:
    groups = [{"name": "near", "count": 1, "base_rtt": "10ms"},
              {"name": "far", "count": 2, "base_rtt": "50ms"}]  # fmt: skip
    figure = draw_one({"flows": groups})
    assert [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes] == [
        "group near", "group far",
    ]  # fmt: skip
    near, far = figure.axes
    # The near group's flow runs CUBIC in the mixes with 0, 1 and 2 BBR flows in the far one.
    cubic = lines_of(near)["cubic (n = 1 trial per mix)"]
    assert points(cubic)[0] == [0, 1, 2]
    assert cubic.get_linestyle() == "None"
    assert points(lines_of(far)["bbr (n = 1 trial per mix)"])[0] == [1, 2, 2, 3]
    assert far.get_xlabel() == "flows running bbr, of 3"
    assert spans(near) == []


def test_mean_median_and_percentile_in_ms() -> None:
    measures = made({}, lambda *_: 1e7, TOTALS)
    figure = draw_delay_by_mix(measures, measures.run.settings[0])
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
    figure = draw_delay_by_mix(measures, measures.run.settings[0])
    assert figure is not None
    (ax,) = figure.axes
    measured = {label for label in lines_of(ax) if "trial per mix" in label}
    assert measured == {"mean over packets (n = 1 trial per mix)"}


def test_several_groups_have_points_only() -> None:
    groups = [{"name": "near", "count": 1, "base_rtt": "10ms"},
              {"name": "far", "count": 1, "base_rtt": "50ms"}]  # fmt: skip
    measures = made({"flows": groups}, lambda *_: 1e7, TOTALS)
    figure = draw_delay_by_mix(measures, measures.run.settings[0])
    assert figure is not None
    (ax,) = figure.axes
    line = lines_of(ax)["mean over packets (n = 1 trial per mix)"]
    assert line.get_linestyle() == "None"
    assert sorted(points(line)[0]) == [0, 1, 1, 2]


def test_nothing_where_no_delay_was_measured() -> None:
    measures = made({}, lambda *_: 1e7)
    assert draw_delay_by_mix(measures, measures.run.settings[0]) is None


def settles(setting: Setting, strategy: str, second: int) -> float:
    """Joining BBR gains as long as there are fewer BBR flows than at the best mix."""
    return 9e6 + (1e5 * (BEST[setting.buffer_bdp] - second) if strategy == "bbr" else 0)


def draw_panels(measures: RunMeasures) -> Figure | None:
    (line,) = lines(measures.run.settings)
    found = {e.setting.label: e for e in equilibria_of_measures(measures)}
    return draw_panel_by_mix(measures, line, found)


def draw_line(raw: dict[str, Any]) -> Figure | None:
    return draw_panels(made({**FIVE, **raw}, settles))


def panels(figure: Figure | None) -> dict[str, Axes]:
    """The axes by title, in their order."""
    assert figure is not None
    return {ax.get_title(loc="left") or ax.get_title(): ax for ax in figure.axes}


@pytest.mark.slow
def test_every_mix_as_a_share_of_the_link() -> None:
    found = panels(draw_line({}))
    assert list(found) == ["1 BDP", "5 BDP", "10 BDP", "20 BDP", "50 BDP"]
    for best, ax in zip(BEST.values(), found.values(), strict=True):
        line = lines_of(ax)[MEASURED]
        x, y = points(line)
        assert x == list(range(11))
        # The link has 100 Mbit/s, so that Mbit/s are per cent.
        assert y == pytest.approx([k * (9 + 0.1 * (best - k)) for k in range(11)])
        assert (line.get_linestyle(), line.get_marker(), colour(line)) == ("None", "o", "#d55e00")
        assert half_widths(ax, MEASURED) is None


def test_fair_share_and_equilibria() -> None:
    for ax, best in zip(panels(draw_line({})).values(), BEST.values(), strict=True):
        drawn = lines_of(ax)
        assert points(drawn["fair share of the rate"]) == ([0, 10], [0, 100])
        mark = drawn["equilibrium of the means"]
        assert points(mark)[0] == [int(best)] * 2
        assert (mark.get_linestyle(), colour(mark)) == ("-", "#009e73")
        # The lead is 0.1 (best - k) Mbit/s: it ends at `best` itself. A straight lead times
        # k (10 - k) is no parabola, which ten flows show.
        ((low, high, label),) = spans(ax)
        assert label == "where the lead ends, 95 %"
        assert low <= best <= high
        assert high - low <= 2


def test_published_mixes_and_equilibria() -> None:
    series = [
        {"label": "mixes", "strategy": "bbr", "quantity": quantity, "buffer": buffer, "x": [1, 4],
         "y": y}
        for quantity, buffer, y in (
            ("aggregate", "1bdp", [20, 50]), ("per_flow", "5bdp", [20, 10]),
            ("share", "10bdp", [0.2, 0.5]),
        )
    ]  # fmt: skip
    equilibria = [
        {"label": "settles", "strategy": strategy, "axis": "buffer_bdp", "quantity": "equilibrium",
         "x": x, "y": y}
        for strategy, x, y in (("cubic", [1, 5, 20], [2, 4, 7]), ("bbr", [10], [6]))
    ]  # fmt: skip
    figure = draw_line({"reference": [*series, *equilibria]})
    assert figure is not None
    found = [lines_of(ax) for ax in panels(figure).values()]
    assert points(found[0]["mixes"]) == ([1, 4], [20, 50])
    assert points(found[1]["mixes"]) == ([1, 4], [20, 40])
    whole = 100 * 1448 / 1514  # of a full link's bytes, those of payload
    assert points(found[2]["mixes"])[1] == pytest.approx([0.2 * whole, 0.5 * whole])
    assert found[0]["mixes"].get_markerfacecolor() == "white"
    assert [points(f["settles"])[0][0] for f in found[:4]] == [8, 6, 6, 3]
    assert found[0]["settles"].get_linestyle() == ":"
    for each in found[3:]:
        assert "mixes" not in each
    assert "settles" not in found[4]
    assert legend_of(figure) == [
        MEASURED, "mixes", "where the lead ends, 95 %", "equilibrium of the means", "settles",
        "fair share of the rate", "Fluid", "Closed form", "Ware",
        "Mishra 2022's bounds",
    ]  # fmt: skip


def test_models_as_goodput() -> None:
    measures = made(FIVE, settles)
    for setting, ax in zip(measures.run.settings, panels(draw_line({})).values(), strict=True):
        questions = questions_of_setting(measures, setting)
        assert questions is not None
        x, y = points(lines_of(ax)["Closed form"])
        assert x == list(range(1, 10))
        share = MODELS["closed-form"].predict(questions(4)).share
        assert share is not None
        assert y[3] == pytest.approx(100 * 1448 / 1514 * share)


def test_titles_and_scales_are_shared() -> None:
    figure = draw_line({})
    found = list(panels(figure).values())
    assert [bool(ax.get_xlabel()) for ax in found] == [False, False, False, False, True]
    assert found[4].get_xlabel() == "flows running bbr, of 10"
    assert [bool(ax.get_ylabel()) for ax in found] == [True, False, False, False, True]
    assert found[0].get_ylabel() == "goodput of all bbr flows\n(% of the link rate)"
    # Numbers below the lowest axes of every column: the first has another below it.
    numbered = [ax.xaxis.get_tick_params()["labelbottom"] for ax in found]
    assert numbered == [False, True, True, True, True]
    assert {ax.get_xlim() for ax in found} == {(-0.3, 10.3)}
    assert {ax.get_ylim() for ax in found} == {(0, 105)}


def test_repetitions_have_error_bars() -> None:
    measures = made(FIVE, settles)
    less = [
        replace(t, per_flow={"per_flow_throughput": t.per_flow["per_flow_throughput"] * 0.9})
        for t in measures.trials
    ]
    figure = draw_panels(replace(measures, trials=(*measures.trials, *less)))
    ax = panels(figure)["1 BDP"]
    assert list(containers(ax)) == ["measured (n = 2 trials per mix)"]
    half = half_widths(ax, "measured (n = 2 trials per mix)")
    assert half is not None
    # Two observations a and 0.9 a: s = 0.1 a / sqrt(2), and t(1) = 12.706.
    one = np.array([k * (9 + 0.1 * (9.5 - k)) for k in range(11)])
    assert half == pytest.approx(12.706 * 0.1 * one / 2, rel=1e-4)


def test_other_runs_have_none() -> None:
    assert draw_line({"sweep": {**FIVE["sweep"], "mixes": [2, 5]}}) is None
    assert draw_line({"strategies": ["cubic", "bbr", "reno"]}) is None
    two = [{"name": n, "count": 2, "base_rtt": "40ms"} for n in ("a", "b")]
    assert draw_line({"flows": two}) is None
    measures = made(FIVE, settles)
    few = tuple(t for t in measures.trials if t.trial.setting.buffer_bdp > 10)
    assert draw_panels(replace(measures, trials=few)) is None


def test_it_is_in_the_catalogue() -> None:
    measures = made(FIVE, settles)
    every = sketches(measures, equilibria_of_measures(measures), RunCorrelation(measures, (), None))
    (sketch,) = (each for each in every if each.kind == "panel_by_mix")
    assert sketch.name == "panel_by_mix-100mbit-40ms"
    assert sketch.draw() is not None
    assert "published mixes and equilibria" in sketch.caption
