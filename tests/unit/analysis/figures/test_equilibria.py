"""Flows of CUBIC at the equilibrium, against the buffer."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure
from nashbed.analysis.figures.equilibria import draw_equilibria_by_buffer
from nashbed.analysis.models import MODELS
from nashbed.analysis.models.band import equilibrium_band
from nashbed.analysis.models.crossing import crossing_of
from nashbed.analysis.models.measured import questions_of_setting
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.results.sweep import lines
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import band, containers, legend_of, lines_of, points, unlabelled_lines
from tests.unit.analysis.made_measures import made, with_repetition

BUFFERS: dict[str, Any] = {
    "flows": [{"name": "main", "count": 10, "base_rtt": "40ms"}],
    "sweep": {"buffer": ["1bdp", "5bdp", "20bdp"]},
}
BEST = {1.0: 9.5, 5.0: 6.5, 20.0: 3.5}


def settles(setting: Setting, strategy: str, second: int) -> float:
    """Joining BBR gains as long as there are fewer BBR flows than at the best mix."""
    return 1e7 + (1e5 * (BEST[setting.buffer_bdp] - second) if strategy == "bbr" else 0)


def draw(raw: dict[str, Any]) -> tuple[Any, Figure | None]:
    measures = made({**BUFFERS, **raw}, settles)
    (line,) = lines(measures.run.settings)
    found = {e.setting.label: e for e in equilibria_of_measures(measures)}
    return measures, draw_equilibria_by_buffer(measures, line, found)


def draw_repeated() -> Figure:
    """Two repetitions; in the second the lead ends at two BBR flows fewer."""

    def earlier(setting: Setting, strategy: str, second: int) -> float:
        return settles(setting, strategy, second + 2)

    measures = with_repetition(made(BUFFERS, settles), made(BUFFERS, earlier))
    (line,) = lines(measures.run.settings)
    found = {e.setting.label: e for e in equilibria_of_measures(measures)}
    figure = draw_equilibria_by_buffer(measures, line, found)
    assert figure is not None
    return figure


def test_equilibria_at_their_buffers() -> None:
    _, figure = draw({})
    assert figure is not None
    (ax,) = figure.axes
    # Up to 9, 6 and 3 BBR flows joining pays: 1, 4 and 7 CUBIC flows stay.
    line = lines_of(ax)["equilibrium of the means (n = 1 trial per mix)"]
    assert points(line) == ([1, 5, 20], [1, 4, 7])
    assert line.get_linestyle() == "None"
    assert ax.get_xlabel() == "buffer (BDP)"
    assert ax.get_ylabel() == "cubic flows at the equilibrium, of 10"
    assert ax.get_ylim() == pytest.approx((-0.3, 10.3))
    assert ax.get_xscale() == "log"


def test_where_the_lead_ends_with_its_interval() -> None:
    measures, figure = draw({})
    assert figure is not None
    (ax,) = figure.axes
    bars = containers(ax)["where the lead ends, 95 %"]
    x, middle = points(bars.lines[0])
    assert x == [1, 5, 20]
    # The lead of BBR is 0.1 (best - k) Mbit/s, so it ends at `best` BBR flows.
    # Behind 9 no mix has flows of both, so 9.5 is where it never ends: no CUBIC flow.
    assert middle == pytest.approx([0, 3.5, 6.5], abs=0.1)
    ends = [tuple(segment[:, 1]) for segment in bars.lines[2][0].get_segments()]
    for (low, high), each in zip(ends, equilibria_of_measures(measures), strict=True):
        assert each.ends is not None
        (interval,) = each.ends.intervals
        assert (low, high) == pytest.approx((10 - interval.high, 10 - interval.low))
        assert low <= 10 - BEST[each.setting.buffer_bdp] <= high


def test_each_repetition_has_circles_of_its_own() -> None:
    found = draw_repeated()
    (ax,) = found.axes
    line = lines_of(ax)["equilibrium of one repetition"]
    assert line.get_markerfacecolor() == "none"
    pairs = sorted(zip(*points(line), strict=True))
    # The second repetition settles two BBR flows earlier: two CUBIC flows more.
    assert pairs == [(1, 1), (1, 3), (5, 4), (5, 6), (20, 7), (20, 9)]
    means = lines_of(ax)["equilibrium of the means (n = 2 trials per mix)"]
    assert points(means) == ([1, 5, 20], [2, 5, 8])


def test_epsilon_equilibria_are_bars() -> None:
    # 2 % of the fair share of 10 Mbit/s are 0.2 Mbit/s, so gains of 0.05 and 0.15 are allowed:
    # from two BBR flows fewer than the equilibrium to two more, as far as there are flows.
    _, figure = draw({"equilibrium": {"epsilon": "2%"}})
    assert figure is not None
    (ax,) = figure.axes
    named = points(lines_of(ax)["gain below 2% of the fair share"])
    others = [points(line) for line in unlabelled_lines(ax)]
    bars = sorted((x[0], x[1], low, high) for x, (low, high) in [named, *others])
    assert bars == [(1, 1, 0, 3), (5, 5, 2, 6), (20, 20, 5, 9)]


def test_models_are_lines_and_mishra_a_band() -> None:
    measures, figure = draw({})
    assert figure is not None
    (ax,) = figure.axes
    assert "Mishra 2022, synchronised to de-synchronised" in legend_of(figure)
    questions = questions_of_setting(measures, measures.run.settings[1])
    assert questions is not None
    for name in ("fluid", "closed-form", "ware"):
        x, cubic = points(lines_of(ax)[MODELS[name].title])
        predicted = crossing_of(MODELS[name], questions, 10)
        assert cubic[x.index(5)] == pytest.approx(predicted.first)
    model = equilibrium_band(questions(1))
    assert model.synchronised_bbr is not None
    assert model.desynchronised_bbr is not None
    expected = sorted((10 - model.synchronised_bbr, 10 - model.desynchronised_bbr))
    assert band(ax, -1, 5.0) == pytest.approx(expected)


@pytest.mark.parametrize("strategies", [["bbr", "cubic"], ["cubic", "reno"]])
def test_no_model_where_it_does_not_speak(strategies: list[str]) -> None:
    def leads(setting: Setting, strategy: str, second: int) -> float:
        return settles(setting, "bbr" if strategy == strategies[1] else "cubic", second)

    measures = made({**BUFFERS, "strategies": strategies}, leads)
    (line,) = lines(measures.run.settings)
    found = {e.setting.label: e for e in equilibria_of_measures(measures)}
    figure = draw_equilibria_by_buffer(measures, line, found)
    assert figure is not None
    assert not {model.title for model in MODELS.values()} & set(legend_of(figure))


def test_published_equilibria_are_crosses() -> None:
    series = {"label": "Paper", "strategy": "cubic", "axis": "buffer_bdp",
              "quantity": "equilibrium", "x": [1, 5], "y": [2, 5]}  # fmt: skip
    _, figure = draw({"reference": [series]})
    assert figure is not None
    line = lines_of(figure.axes[0])["Paper, cubic"]
    assert points(line) == ([1, 5], [2, 5])
    assert line.get_marker() == "x"


def test_nothing_with_fewer_than_two_equilibria() -> None:
    measures = made(BUFFERS, settles)
    (line,) = lines(measures.run.settings)
    few = made({**BUFFERS, "sweep": {"buffer": ["1bdp", "5bdp", "20bdp"], "mixes": [5]}}, settles)
    found = {e.setting.label: e for e in equilibria_of_measures(few)}
    assert draw_equilibria_by_buffer(measures, line, found) is None
