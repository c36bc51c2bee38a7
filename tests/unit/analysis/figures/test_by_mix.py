"""Throughput and queueing delay against the mix."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nashbed.analysis.figures.by_mix import (
    delay_by_mix_plot,
    panel_by_mix_plot,
    throughput_by_mix_plot,
)
from nashbed.analysis.figures.catalogue import sketches
from nashbed.analysis.figures.drawing import draw
from nashbed.analysis.figures.plot import Band, Line, Plot, Span
from nashbed.analysis.figures.style import colour_of
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.models import MODELS
from nashbed.analysis.models.measured import question_of_mix, questions_of_setting
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.results.sweep import lines
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import Seen, labels_of, legend_of, panels, points
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


def throughput(raw: dict[str, Any], per_flow: Any = leading_up_to_two) -> Plot:
    measures = made({**FOUR, **raw}, per_flow)
    (setting,) = measures.run.settings
    (equilibria,) = equilibria_of_measures(measures)
    return throughput_by_mix_plot(measures, setting, equilibria, measures.run.scenario.reference)


def test_strategies_that_run_only_alone_have_a_place_each() -> None:
    alone = [{"cubic": 4}, {"reno": 4}, {"bbr": 4}]
    raw = {"strategies": ["cubic", "reno", "bbr"], "sweep": {"mixes": alone}}
    (panel,) = panels(throughput(raw))
    assert panel.x.ticks == {0: "cubic", 1: "reno", 2: "bbr"}
    assert panel.x.title == "what all 4 flows run"
    places = [panel[f"{name} (n = 1 trial per mix)"].x for name in panel.x.ticks.values()]
    assert places == [[0], [1], [2]]


def test_a_line_for_each_strategy_where_it_has_flows_and_the_fair_share() -> None:
    (panel,) = panels(throughput({}))
    cubic, bbr = (panel[f"{s} (n = 1 trial per mix)"] for s in ("cubic", "bbr"))
    assert points(cubic) == ([0, 1, 2, 3], [20, 20, 20, 20])
    assert points(bbr) == ([1, 2, 3, 4], pytest.approx([23, 21, 19, 17]))
    assert [each.look["color"] for each in (cubic, bbr)] == [
        colour_of(s, ()) for s in ("cubic", "bbr")
    ]
    assert bbr.half is None
    # With one trial the band spans the slowest and the fastest flow: here they are alike.
    for band, line in zip(panel.of(Band)[:2], (cubic, bbr), strict=True):
        assert list(band.low) == list(band.high) == line.y
    assert panel["fair share, as goodput"].at == pytest.approx(25 * 1448 / 1514)
    assert panel.x.title == "flows running bbr, of 4"


def test_the_equilibrium_is_marked() -> None:
    # At two BBR flows a third would get 19 < 20, and one of the two would get 20 < 21.
    (panel,) = panels(throughput({}))
    mark = panel["equilibrium"]
    assert mark.ends == (1.6, 2.4)
    assert panel.notes == ["2"]


def test_mixes_that_nearly_settle_are_marked_lighter() -> None:
    # Epsilon of 6 % is 1.5 Mbit/s of the fair share of 25: at three BBR flows one gains 1 by
    # leaving; at one BBR flow another gains 1 by joining.
    (panel,) = panels(throughput({"equilibrium": {"epsilon": "6%"}}))
    near = [s for s in panel.of(Span) if s.label == "gain below 6% of the fair share"]
    assert [span.ends for span in near] == [(0.6, 1.4), (2.6, 3.4)]


def test_published_values_as_open_markers() -> None:
    series = {"label": "Paper", "strategy": "bbr", "x": [1, 4], "y": [30.0, 18.0]}
    (panel,) = panels(throughput({"reference": [series]}))
    line = panel["Paper, bbr"]
    assert points(line) == ([1, 4], [30, 18])
    assert line.look["color"] == colour_of("bbr", ())


def test_models_in_the_colours_of_the_ccas() -> None:
    measures = made(FOUR, leading_up_to_two)
    question = question_of_mix(measures, measures.run.settings[0], ((2, 2),))
    assert question is not None
    plot = throughput({})
    for name in ("fluid", "closed-form", "ware"):
        share = MODELS[name].predict(question).share
        assert share is not None
        # Two flows of each: a flow has half of its side's share of the link's payload.
        for strategy, part in (("cubic", 1 - share), ("bbr", share)):
            place = 2, part * 100 * 1448 / 1514 / 2
            mine = [
                i for i in plot.panels[0].beyond if i.look.get("color") == colour_of(strategy, ())
            ]
            curves = [points(item) for item in mine if isinstance(item, Line)]
            drawn = [xy for curve in curves for xy in zip(*curve, strict=True)]
            assert any(xy == pytest.approx(place) for xy in drawn), (name, strategy)
    assert {"Fluid", "Closed form", "Ware", "Mishra 2022's bounds"} <= set(labels_of(plot))
    assert draw(plot).axes[0].get_ylim()[1] < 30  # a model may leave the frame


def test_several_groups_have_axes_of_their_own() -> None:
    groups = [{"name": "near", "count": 1, "base_rtt": "10ms"},
              {"name": "far", "count": 2, "base_rtt": "50ms"}]  # fmt: skip
    near, far = panels(throughput({"flows": groups}))
    assert [panel.title for panel in (near, far)] == ["group near", "group far"]
    # The near group's flow runs CUBIC in the mixes with 0, 1 and 2 BBR flows in the far one.
    cubic = near["cubic (n = 1 trial per mix)"]
    assert (cubic.x, cubic.look["linestyle"]) == ([0, 1, 2], "none")
    assert far["bbr (n = 1 trial per mix)"].x == [1, 2, 2, 3]
    assert far.x.title == "flows running bbr, of 3"
    assert near.of(Span) == []


def delay(raw: dict[str, Any], totals: dict[str, float]) -> Seen:
    measures = made(raw, lambda *_: 1e7, totals)
    (panel,) = panels(delay_by_mix_plot(measures, measures.run.settings[0]))
    return panel


def test_mean_median_and_percentile_in_ms() -> None:
    panel = delay({}, TOTALS)
    for label, ms in (("mean over packets", 30), ("median", 25), ("95th percentile", 70)):
        line = panel[f"{label} (n = 1 trial per mix)"]
        assert points(line) == ([0, 1, 2], pytest.approx([ms] * 3))
        assert line.half is None
    # 2 BDP of 100 Mbit/s x 40 ms are sent in 80 ms.
    assert panel["full queue"].at == pytest.approx(80)
    models = [f"{MODELS[name].title}: mean" for name in ("fluid", "closed-form")]
    assert len(panel.labels) == 4 + len(models)
    measures = made({}, lambda *_: 1e7, TOTALS)
    question = question_of_mix(measures, measures.run.settings[0], ((1, 1),))
    assert question is not None
    fluid = MODELS["fluid"].predict(question).inner["queueing_delay_s"]
    assert points(panel[models[0]]) == ([1], [pytest.approx(1e3 * fluid)])


def test_what_was_not_measured_has_no_line() -> None:
    panel = delay({}, {"mean_queueing_delay": 0.030})
    measured = {label for label in panel.labels if "trial per mix" in label}
    assert measured == {"mean over packets (n = 1 trial per mix)"}
    measures = made({}, lambda *_: 1e7)
    assert delay_by_mix_plot(measures, measures.run.settings[0]) is None


def settles(setting: Setting, strategy: str, second: int) -> float:
    """Joining BBR gains as long as there are fewer BBR flows than at the best mix."""
    return 9e6 + (1e5 * (BEST[setting.buffer_bdp] - second) if strategy == "bbr" else 0)


def of_measures(measures: RunMeasures) -> Plot | None:
    (line,) = lines(measures.run.settings)
    found = {e.setting.label: e for e in equilibria_of_measures(measures)}
    return panel_by_mix_plot(measures, line, found)


def by_buffer(raw: dict[str, Any]) -> Plot | None:
    return of_measures(made({**FIVE, **raw}, settles))


@pytest.mark.slow
def test_every_mix_as_a_share_of_the_link() -> None:
    found = panels(by_buffer({}))
    assert [panel.title for panel in found] == ["1 BDP", "5 BDP", "10 BDP", "20 BDP", "50 BDP"]
    for best, panel in zip(BEST.values(), found, strict=True):
        # The link has 100 Mbit/s, so that Mbit/s are per cent.
        shares = [k * (9 + 0.1 * (best - k)) for k in range(11)]
        assert points(panel[MEASURED]) == (list(range(11)), pytest.approx(shares))
        assert panel[MEASURED].half is None
    assert found[0].x.title == "flows running bbr, of 10"
    assert found[0].y.title == "goodput of all bbr flows\n(% of the link rate)"


@pytest.mark.slow
def test_fair_share_and_equilibria() -> None:
    for panel, best in zip(panels(by_buffer({})), BEST.values(), strict=True):
        assert points(panel["fair share, as goodput"]) == ([0, 10], [0, 100 * 1448 / 1514])
        assert panel["equilibrium of the means"].at == int(best)
        # The lead is 0.1 (best - k) Mbit/s: it ends at `best` itself. A straight lead times
        # k (10 - k) is no parabola, which ten flows show.
        low, high = panel["where the lead ends, 95 %"].ends
        assert low <= best <= high <= low + 2


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
    plot = by_buffer({"reference": [*series, *equilibria]})
    found = panels(plot)
    assert points(found[0]["mixes"]) == ([1, 4], [20, 50])
    assert points(found[1]["mixes"]) == ([1, 4], [20, 40])
    whole = 100 * 1448 / 1514  # of a full link's bytes, those of payload
    assert found[2]["mixes"].y == pytest.approx([0.2 * whole, 0.5 * whole])
    assert [panel["settles"].at for panel in found[:4]] == [8, 6, 6, 3]
    assert not any("mixes" in panel.labels for panel in found[3:])
    assert "settles" not in found[4].labels
    assert plot is not None
    assert legend_of(draw(plot)) == [
        MEASURED, "mixes", "where the lead ends, 95 %", "equilibrium of the means", "settles",
        "fair share, as goodput", "Fluid", "Closed form", "Ware",
        "Mishra 2022's bounds",
    ]  # fmt: skip


def test_models_as_goodput() -> None:
    measures = made(FIVE, settles)
    for setting, panel in zip(measures.run.settings, panels(by_buffer({})), strict=True):
        questions = questions_of_setting(measures, setting)
        assert questions is not None
        x, y = points(panel["Closed form"])
        assert x == list(range(1, 10))
        share = MODELS["closed-form"].predict(questions(4)).share
        assert share is not None
        assert y[3] == pytest.approx(100 * 1448 / 1514 * share)


def test_repetitions_have_error_bars() -> None:
    measures = made(FIVE, settles)
    less = [
        replace(t, per_flow={"per_flow_throughput": t.per_flow["per_flow_throughput"] * part})
        for part in (0.9, 0.8)
        for t in measures.trials
    ]
    plot = of_measures(replace(measures, trials=(*measures.trials, *less)))
    # Three observations a, 0.9 a and 0.8 a: s = 0.1 a, and t(2) = 4.3027.
    one = np.array([k * (9 + 0.1 * (9.5 - k)) for k in range(11)])
    half = panels(plot)[0]["measured (n = 3 trials per mix)"].half
    assert half == pytest.approx(4.3027 * 0.1 * one / 3**0.5, rel=1e-4)


@pytest.mark.slow
def test_other_runs_have_none() -> None:
    assert by_buffer({"sweep": {**FIVE["sweep"], "mixes": [2, 5]}}) is None
    assert by_buffer({"strategies": ["cubic", "bbr", "reno"]}) is None
    two = [{"name": n, "count": 2, "base_rtt": "40ms"} for n in ("a", "b")]
    assert by_buffer({"flows": two}) is None
    measures = made(FIVE, settles)
    few = tuple(t for t in measures.trials if t.trial.setting.buffer_bdp > 10)
    assert of_measures(replace(measures, trials=few)) is None


def test_it_is_in_the_catalogue() -> None:
    measures = made(FIVE, settles)
    every = sketches(measures, equilibria_of_measures(measures))
    (sketch,) = (each for each in every if each.kind == "panel_by_mix")
    assert sketch.name == "panel_by_mix-100mbit-40ms"
    assert sketch.draw() is not None
    assert "published mixes and equilibria" in sketch.caption
