"""Throughput along a line of settings: mixes, each CCA alone, models and papers."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.analysis.figures.against_setting import draw_alone_along, draw_mix_along
from nashbed.analysis.figures.axes import set_scale
from nashbed.analysis.figures.model_lines import goodput_of_share
from nashbed.analysis.figures.style import colour_of
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.models import MODELS
from nashbed.analysis.models.measured import question_of_mix
from nashbed.analysis.results.sweep import lines, mixed_states
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import colour, legend_of, lines_of, points
from tests.unit.analysis.made_measures import made

BUFFERS: dict[str, Any] = {"sweep": {"buffer": ["1bdp", "2bdp", "10bdp", "30bdp"], "mixes": [1]}}


def by_buffer(setting: Setting, strategy: str, second: int) -> float:
    """BBR has 80, 60, 28.6 and 11.8 of 95 Mbit/s at 1, 2, 10 and 30 BDP."""
    share = 1 / (1 + setting.buffer_bdp / 4)
    return 95e6 * (share if strategy == "bbr" else 1 - share)


def draw_mix(raw: dict[str, Any], per_flow: Any = by_buffer) -> tuple[RunMeasures, Figure | None]:
    measures = made({**BUFFERS, **raw}, per_flow)
    (line,) = lines(measures.run.settings)
    (state,) = mixed_states(measures, line)
    return measures, draw_mix_along(measures, line, state)


def test_aggregates_of_a_mix_by_buffer() -> None:
    _, figure = draw_mix({})
    assert figure is not None
    (ax,) = figure.axes
    expected = [95 / (1 + buffer / 4) for buffer in (1, 2, 10, 30)]
    bbr = lines_of(ax)["1 bbr (n = 1 trial each)"]
    assert points(bbr) == ([1, 2, 10, 30], pytest.approx(expected))
    assert colour(bbr) == colour_of("bbr", ()).lower()
    cubic = lines_of(ax)["1 cubic (n = 1 trial each)"]
    assert points(cubic)[1] == pytest.approx([95 - y for y in expected])
    assert ax.get_xlabel() == "buffer (BDP)"
    assert ax.get_ylabel() == "throughput (Mbit/s)"
    assert ax.get_xscale() == "log"
    assert ax.get_ylim()[0] == 0


def test_one_against_one_has_a_fair_share() -> None:
    _, figure = draw_mix({})
    assert figure is not None
    assert points(lines_of(figure.axes[0])["fair share of the rate"])[1] == [50, 50]
    _, uneven = draw_mix({"flows": [{"name": "main", "count": 3, "base_rtt": "40ms"}]})
    assert uneven is not None
    assert "fair share of the rate" not in legend_of(uneven)


def test_models_are_drawn_as_goodput() -> None:
    measures, figure = draw_mix({})
    assert figure is not None
    setting = {s.buffer_label: s for s in measures.run.settings}["10bdp"]
    question = question_of_mix(measures, setting, ((1, 1),))
    assert question is not None
    drawn = lines_of(figure.axes[0])
    for name in ("fluid", "closed-form", "ware", "mishra-two-flow"):
        share = MODELS[name].predict(question).share
        assert share is not None
        x, y = points(drawn[MODELS[name].title])
        assert y[x.index(10)] == pytest.approx(goodput_of_share(share, 10**8) / 1e6)
    # Of one flow against one, Mishra's two bounds are the same as his form for two flows.
    assert not any("synchronised" in label or "bounds" in label for label in legend_of(figure))


@pytest.mark.parametrize(("quantity", "expected"), [("share", 95.641), ("aggregate", 1.0)])
def test_published_series(quantity: str, expected: float) -> None:
    series = {"label": "Paper", "strategy": "bbr", "axis": "buffer_bdp", "quantity": quantity,
              "x": [1, 10], "y": [1.0, 0.5]}  # fmt: skip
    _, figure = draw_mix({"reference": [series]})
    assert figure is not None
    line = lines_of(figure.axes[0])["Paper, bbr"]
    # A share is of the payload rate, 1448 of 1514 bytes of each frame.
    assert points(line) == ([1, 10], pytest.approx([expected, expected / 2], rel=1e-4))


def test_each_cca_alone() -> None:
    measures = made({"sweep": {**BUFFERS["sweep"], "mixes": [0, 2]}}, lambda *_: 20e6)
    (line,) = lines(measures.run.settings)
    figure = draw_alone_along(measures, line)
    assert figure is not None
    found = lines_of(figure.axes[0])
    assert points(found["cubic alone (n = 1 trial each)"]) == ([1, 2, 10, 30], [40] * 4)
    assert points(found["bbr alone (n = 1 trial each)"])[1] == [40] * 4


def test_nothing_where_fewer_than_two_settings_have_it() -> None:
    measures = made(BUFFERS, by_buffer)
    (line,) = lines(measures.run.settings)
    assert draw_alone_along(measures, line) is None


def test_random_loss_with_zero_on_a_logarithmic_axis() -> None:
    losses = {"sweep": {"random_loss": ["0%", "0.1%", "10%"], "mixes": [1]}}
    measures = made(losses, lambda *_: 20e6)
    (line,) = lines(measures.run.settings)
    (state,) = mixed_states(measures, line)
    figure = draw_mix_along(measures, line, state)
    assert figure is not None
    (ax,) = figure.axes
    assert points(lines_of(ax)["1 bbr (n = 1 trial each)"])[0] == [0, 0.1, 10]
    assert ax.get_xlabel() == "random loss (%)"
    assert ax.get_xscale() == "symlog"


@pytest.mark.parametrize(
    ("places", "scale"),
    [([1, 19], "linear"), ([1, 20], "log"), ([0, 1, 20], "symlog"), ([0], "linear")],
)
def test_the_scale(places: list[float], scale: str) -> None:
    axes: Axes = Figure().subplots()
    set_scale(axes, places)
    assert axes.get_xscale() == scale


def test_a_logarithmic_axis_names_what_was_measured() -> None:
    axes: Axes = Figure().subplots()
    set_scale(axes, [1, 3, 8, 20])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "3", "8", "20"]
    assert len(axes.get_xticks(minor=True)) == 0
    close: Axes = Figure().subplots()
    set_scale(close, [1, 18, 19, 20])  # their labels would hide each other
    assert 19 not in close.get_xticks()
