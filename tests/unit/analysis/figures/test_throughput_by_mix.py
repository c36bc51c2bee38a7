"""Per-flow throughput by mix: lines, fair share, references, models and equilibria."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure
from nashbed.analysis.figures import throughput_by_mix
from nashbed.analysis.figures.style import colour_of
from nashbed.analysis.models import MODELS
from nashbed.analysis.models.measured import question_of_mix
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import (
    band,
    colour,
    half_widths,
    legend_of,
    lines_of,
    points,
    spans,
    texts,
)
from tests.unit.analysis.made_measures import made

FOUR = {"flows": [{"name": "main", "count": 4, "base_rtt": "40ms"}]}


def leading_up_to_two(setting: Setting, strategy: str, second: int) -> float:
    """BBR leads by 2 Mbit/s for each flow that is missing to two and a half."""
    return 20e6 + (2e6 * (2.5 - second) if strategy == "bbr" else 0.0)


def draw(raw: dict[str, Any], per_flow: Any = leading_up_to_two) -> Figure:
    measures = made({**FOUR, **raw}, per_flow)
    (setting,) = measures.run.settings
    (equilibria,) = equilibria_of_measures(measures)
    return throughput_by_mix.draw(measures, setting, equilibria, measures.run.scenario.reference)


def test_a_line_for_each_strategy_where_it_has_flows() -> None:
    (ax,) = draw({}).axes
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
    (ax,) = draw({}).axes
    assert points(lines_of(ax)["fair share of the rate"])[1] == [25, 25]
    assert ax.get_xlabel() == "flows running bbr, of 4"
    assert ax.get_ylabel() == "Mbit/s per flow"
    assert ax.get_xlim() == (-0.5, 4.5)
    assert ax.get_ylim()[0] == 0


def test_the_equilibrium_is_marked() -> None:
    # At two BBR flows a third would get 19 < 20, and one of the two would get 20 < 21.
    figure = draw({})
    (ax,) = figure.axes
    marked = [span for span in spans(ax) if span[2] == "equilibrium"]
    assert [(left, right) for left, right, _ in marked] == [(1.6, 2.4)]
    assert texts(ax) == ["2"]
    assert ax.texts[0].xy[0] == 2
    assert "equilibrium" in legend_of(figure)


def test_mixes_that_nearly_settle_are_marked_lighter() -> None:
    # Epsilon of 6 % is 1.5 Mbit/s of the fair share of 25: at three BBR flows one gains 1 by
    # leaving; at one BBR flow another gains 1 by joining.
    (ax,) = draw({"equilibrium": {"epsilon": "6%"}}).axes
    near = [(left, right) for left, right, label in spans(ax) if label != "equilibrium"]
    assert sorted(near) == [(0.6, 1.4), (2.6, 3.4)]
    assert "gain below 6% of the fair share" in {label for _, _, label in spans(ax)}


def test_published_values_as_open_markers() -> None:
    series = {"label": "Paper", "strategy": "bbr", "x": [1, 4], "y": [30.0, 18.0]}
    (ax,) = draw({"reference": [series]}).axes
    line = lines_of(ax)["Paper, bbr"]
    assert points(line) == ([1, 4], [30, 18])
    assert line.get_linestyle() == ":"
    assert line.get_markerfacecolor() == "white"
    assert colour(line) == colour_of("bbr", ()).lower()


def test_one_flow_is_a_band_of_its_own_with_one_trial() -> None:
    # With one trial the band spans the slowest and the fastest flow: here they are alike.
    (ax,) = draw({}).axes
    assert band(ax, 0, 1.0) == pytest.approx((20, 20))
    assert band(ax, 1, 1.0) == pytest.approx((23, 23))


def test_models_in_the_colours_of_the_controls() -> None:
    measures = made(FOUR, leading_up_to_two)
    (setting,) = measures.run.settings
    question = question_of_mix(measures, setting, ((2, 2),))
    assert question is not None
    figure = draw({})
    (ax,) = figure.axes
    for name in ("fluid", "closed-form", "ware"):
        share = MODELS[name].predict(question).bbr_share
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
    figure = draw({"flows": groups})
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
