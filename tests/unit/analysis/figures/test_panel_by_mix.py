"""Every mix at every buffer, beside published ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.analysis.correlation.of_run import RunCorrelation
from nashbed.analysis.figures import panel_by_mix
from nashbed.analysis.figures.catalogue import draw_all
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.models import MODELS
from nashbed.analysis.models.measured import questions_of_setting
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.results.sweep import lines
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import colour, containers, half_widths, legend_of, lines_of, points, spans
from tests.unit.analysis.made_measures import made

FIVE: dict[str, Any] = {
    "flows": [{"name": "main", "count": 10, "base_rtt": "40ms"}],
    "sweep": {"buffer": ["1bdp", "5bdp", "10bdp", "20bdp", "50bdp"]},
}
BEST = {1.0: 9.5, 5.0: 6.5, 10.0: 5.5, 20.0: 3.5, 50.0: 1.5}
MEASURED = "measured (n = 1 trial per mix)"


def settles(setting: Setting, strategy: str, second: int) -> float:
    """Joining BBR gains as long as there are fewer BBR flows than at the best mix."""
    return 9e6 + (1e5 * (BEST[setting.buffer_bdp] - second) if strategy == "bbr" else 0)


def draw_measures(measures: RunMeasures) -> Figure | None:
    (line,) = lines(measures.run.settings)
    found = {e.setting.label: e for e in equilibria_of_measures(measures)}
    return panel_by_mix.draw(measures, line, found)


def draw(raw: dict[str, Any]) -> Figure | None:
    return draw_measures(made({**FIVE, **raw}, settles))


def panels(figure: Figure | None) -> dict[str, Axes]:
    """The axes by title, in their order."""
    assert figure is not None
    return {ax.get_title(loc="left") or ax.get_title(): ax for ax in figure.axes}


@pytest.mark.slow
def test_every_mix_as_a_share_of_the_link() -> None:
    found = panels(draw({}))
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
    for ax, best in zip(panels(draw({})).values(), BEST.values(), strict=True):
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
    figure = draw({"reference": [*series, *equilibria]})
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
    for setting, ax in zip(measures.run.settings, panels(draw({})).values(), strict=True):
        questions = questions_of_setting(measures, setting)
        assert questions is not None
        x, y = points(lines_of(ax)["Closed form"])
        assert x == list(range(1, 10))
        share = MODELS["closed-form"].predict(questions(4)).bbr_share
        assert share is not None
        assert y[3] == pytest.approx(100 * 1448 / 1514 * share)


def test_titles_and_scales_are_shared() -> None:
    figure = draw({})
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
    figure = draw_measures(replace(measures, trials=(*measures.trials, *less)))
    ax = panels(figure)["1 BDP"]
    assert list(containers(ax)) == ["measured (n = 2 trials per mix)"]
    half = half_widths(ax, "measured (n = 2 trials per mix)")
    assert half is not None
    # Two observations a and 0.9 a: s = 0.1 a / sqrt(2), and t(1) = 12.706.
    one = np.array([k * (9 + 0.1 * (9.5 - k)) for k in range(11)])
    assert half == pytest.approx(12.706 * 0.1 * one / 2, rel=1e-4)


def test_other_runs_have_none() -> None:
    assert draw({"sweep": {**FIVE["sweep"], "mixes": [2, 5]}}) is None
    assert draw({"strategies": ["cubic", "bbr", "reno"]}) is None
    two = [{"name": n, "count": 2, "base_rtt": "40ms"} for n in ("a", "b")]
    assert draw({"flows": two}) is None
    measures = made(FIVE, settles)
    few = tuple(t for t in measures.trials if t.trial.setting.buffer_bdp > 10)
    assert draw_measures(replace(measures, trials=few)) is None


@pytest.mark.slow
def test_it_is_in_the_catalogue(tmp_path: Path) -> None:
    measures = made(FIVE, settles)
    correlation = RunCorrelation(measures, (), None)
    drawn = draw_all(measures, equilibria_of_measures(measures), correlation, tmp_path, ("png",))
    (figure,) = (f for f in drawn if f.kind == "panel_by_mix")
    assert figure.paths["png"] == tmp_path / "panel_by_mix-100mbit-40ms.png"
    assert figure.paths["png"].is_file()
    assert "published mixes and equilibria" in figure.caption
