"""Flows of CUBIC at the equilibrium, against the buffer."""

from typing import Any

import pytest
from nashbed.analysis.figures.equilibria import equilibria_along_plot
from nashbed.analysis.figures.plot import Line, Plot
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.models import MODELS
from nashbed.analysis.models.band import equilibrium_band
from nashbed.analysis.models.crossing import crossing_of
from nashbed.analysis.models.measured import questions_of_setting
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.results.sweep import lines
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import Seen, panels, points
from tests.unit.analysis.made_measures import made, with_repetition

BUFFERS: dict[str, Any] = {
    "flows": [{"name": "main", "count": 10, "base_rtt": "40ms"}],
    "sweep": {"buffer": ["1bdp", "5bdp", "20bdp"]},
}
BEST = {1.0: 9.5, 5.0: 6.5, 20.0: 3.5}


def settles(setting: Setting, strategy: str, second: int) -> float:
    """Joining BBR gains as long as there are fewer BBR flows than at the best mix."""
    return 1e7 + (1e5 * (BEST[setting.buffer_bdp] - second) if strategy == "bbr" else 0)


def of_measures(measures: RunMeasures) -> Plot | None:
    (line,) = lines(measures.run.settings)
    found = {e.setting.label: e for e in equilibria_of_measures(measures)}
    return equilibria_along_plot(measures, line, found)


def by_buffer(raw: dict[str, Any]) -> tuple[RunMeasures, Seen]:
    measures = made({**BUFFERS, **raw}, settles)
    (panel,) = panels(of_measures(measures))
    return measures, panel


def repeated() -> Seen:
    """Two repetitions; in the second the lead ends at two BBR flows fewer."""

    def earlier(setting: Setting, strategy: str, second: int) -> float:
        return settles(setting, strategy, second + 2)

    (panel,) = panels(of_measures(with_repetition(made(BUFFERS, settles), made(BUFFERS, earlier))))
    return panel


def test_equilibria_at_their_buffers() -> None:
    _, panel = by_buffer({})
    # Up to 9, 6 and 3 BBR flows joining pays: 1, 4 and 7 CUBIC flows stay.
    line = panel["equilibrium of the means (n = 1 trial per mix)"]
    assert points(line) == ([1, 5, 20], [1, 4, 7])
    assert panel.x.title == "buffer (BDP)"
    assert panel.y.title == "cubic flows at the equilibrium, of 10"
    assert (panel.y.low, panel.y.high) == pytest.approx((-0.3, 10.3))


def test_where_the_lead_ends_with_its_interval() -> None:
    measures, panel = by_buffer({})
    bars = panel["where the lead ends, 95 %"]
    x, middle = points(bars)
    assert x == [1, 5, 20]
    # The lead of BBR is 0.1 (best - k) Mbit/s, so it ends at `best` BBR flows.
    # Behind 9 no mix has flows of both, so 9.5 is where it never ends: no CUBIC flow.
    assert middle == pytest.approx([0, 3.5, 6.5], abs=0.1)
    ends = [row[3:] for row in bars.rows()]
    for (low, high), each in zip(ends, equilibria_of_measures(measures), strict=True):
        assert each.ends is not None
        (interval,) = each.ends.intervals
        assert (low, high) == pytest.approx((10 - interval.high, 10 - interval.low))
        assert low <= 10 - BEST[each.setting.buffer_bdp] <= high


def test_each_repetition_has_circles_of_its_own() -> None:
    panel = repeated()
    line = panel["equilibrium of one repetition"]
    pairs = sorted(zip(*points(line), strict=True))
    # The second repetition settles two BBR flows earlier: two CUBIC flows more.
    assert pairs == [(1, 1), (1, 3), (5, 4), (5, 6), (20, 7), (20, 9)]
    means = panel["equilibrium of the means (n = 2 trials per mix)"]
    assert points(means) == ([1, 5, 20], [2, 5, 8])


def test_epsilon_equilibria_are_bars() -> None:
    # 2 % of the fair share of 10 Mbit/s are 0.2 Mbit/s, so gains of 0.05 and 0.15 are allowed:
    # from two BBR flows fewer than the equilibrium to two more, as far as there are flows.
    _, panel = by_buffer({"equilibrium": {"epsilon": "2%"}})
    thick = [points(line) for line in panel.of(Line) if line.look.get("linewidth") == 5]
    bars = sorted((x[0], x[1], low, high) for x, (low, high) in thick)
    assert bars == [(1, 1, 0, 3), (5, 5, 2, 6), (20, 20, 5, 9)]


def test_models_are_lines_and_mishra_a_band() -> None:
    measures, panel = by_buffer({})
    questions = questions_of_setting(measures, measures.run.settings[1])
    assert questions is not None
    for name in ("fluid", "closed-form", "ware"):
        x, cubic = points(panel[MODELS[name].title])
        predicted = crossing_of(MODELS[name], questions, 10)
        assert cubic[x.index(5)] == pytest.approx(predicted.first)
    model = equilibrium_band(questions(1))
    assert model.synchronised_bbr is not None
    assert model.desynchronised_bbr is not None
    band = panel["Mishra 2022, synchronised to de-synchronised"]
    assert [(low, high) for _, x, _, low, high in band.rows() if x == 5] == [
        pytest.approx((10 - model.synchronised_bbr, 10 - model.desynchronised_bbr))
    ]


@pytest.mark.parametrize("strategies", [["bbr", "cubic"], ["cubic", "reno"]])
def test_no_model_where_it_does_not_speak(strategies: list[str]) -> None:
    def leads(setting: Setting, strategy: str, second: int) -> float:
        return settles(setting, "bbr" if strategy == strategies[1] else "cubic", second)

    measures = made({**BUFFERS, "strategies": strategies}, leads)
    (panel,) = panels(of_measures(measures))
    assert not {model.title for model in MODELS.values()} & set(panel.labels)


def test_published_equilibria_are_crosses() -> None:
    series = {"label": "Paper", "strategy": "cubic", "axis": "buffer_bdp",
              "quantity": "equilibrium", "x": [1, 5], "y": [2, 5]}  # fmt: skip
    _, panel = by_buffer({"reference": [series]})
    line = panel["Paper, cubic"]
    assert points(line) == ([1, 5], [2, 5])


def test_equilibria_against_the_number_of_flows() -> None:
    """BBR's lead ends at two CUBIC flows, however many there are; the line says how many."""

    def two_stay(setting: Setting, strategy: str, second: int) -> float:
        (flows,) = setting.flow_counts or (0,)
        return 1e7 + (1e5 * (flows - 1.5 - second) if strategy == "bbr" else 0)

    measures = made({"sweep": {"flows": {"count": [4, 10, 20]}}}, two_stay)
    (panel,) = panels(of_measures(measures))
    means = panel["equilibrium of the means (n = 1 trial per mix)"]
    assert points(means) == ([4, 10, 20], [2, 2, 2])
    assert points(panel["all flows"]) == ([4, 10, 20], [4, 10, 20])
    assert panel.x.title == "flows"
    assert panel.y.title == "cubic flows at the equilibrium, of 4 to 20"


def test_equilibria_against_the_length_of_the_trials() -> None:
    def later(setting: Setting, strategy: str, second: int) -> float:
        best = {30: 6.5, 60: 4.5, 120: 2.5}[(setting.duration_ns or 0) // 10**9]
        return 1e7 + (1e5 * (best - second) if strategy == "bbr" else 0)

    lengths = {"flows": BUFFERS["flows"], "sweep": {"duration": ["30s", "60s", "120s"]}}
    (panel,) = panels(of_measures(made(lengths, later)))
    means = panel["equilibrium of the means (n = 1 trial per mix)"]
    assert points(means) == ([30, 60, 120], [4, 6, 8])
    assert panel.x.title == "length of the trials (s)"
    assert "all flows" not in panel.labels


def test_nothing_with_fewer_than_two_equilibria() -> None:
    measures = made(BUFFERS, settles)
    (line,) = lines(measures.run.settings)
    few = made({**BUFFERS, "sweep": {"buffer": ["1bdp", "5bdp", "20bdp"], "mixes": [5]}}, settles)
    found = {e.setting.label: e for e in equilibria_of_measures(few)}
    assert equilibria_along_plot(measures, line, found) is None
