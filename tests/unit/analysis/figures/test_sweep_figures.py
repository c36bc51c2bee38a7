"""Figures over settings: lines, heat maps, the decision tree, equilibria by buffer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from nashbed.analysis.figures import against_setting, equilibria_by_buffer, heat_map
from nashbed.analysis.figures import decision_tree as tree_figure
from nashbed.analysis.figures.model_lines import predicted_shares
from nashbed.analysis.figures.style import house_style, save
from nashbed.analysis.metrics.goodput_gain import goodput_gain
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.results.decision_tree import FEATURES, decide, fit
from nashbed.analysis.results.sweep import lines, mixed_states, place_of
from nashbed.controlplane.contract.trial import Setting
from tests.unit.analysis.made_measures import made

BUFFERS = {"sweep": {"buffer": ["1bdp", "2bdp", "10bdp", "30bdp"], "mixes": [1]}}


def by_buffer(setting: Setting, strategy: str, second: int) -> float:
    share = 1 / (1 + setting.buffer_bdp / 4)
    return setting.rate_bps * 0.95 * (share if strategy == "bbr" else 1 - share)


def by_path(setting: Setting, strategy: str, second: int) -> float:
    """BBR wins from 100 Mbit/s on if the buffer is shallow."""
    wins = setting.rate_bps >= 10**8 and setting.buffer_bytes < 10**6
    return setting.rate_bps * (0.9 if (strategy == "bbr") == wins else 0.5)


GRID = {
    "flows": [{"name": "main", "count": 1, "base_rtt": "40ms"}],
    "sweep": {"rate": ["10mbit", "50mbit", "100mbit", "200mbit"], "base_rtt": ["10ms", "100ms"],
              "buffer": ["100kB", "10MB"]},
}  # fmt: skip


def drawn(figure: Figure | None, path: Path) -> str:
    assert figure is not None
    with house_style():
        (file,) = save(figure, path / "figure", ("svg",))
    text = file.read_text()
    assert len(text) > 5000
    return text


def test_lines() -> None:
    found = lines(made(BUFFERS, by_buffer).run.settings)
    assert [(line.axis, len(line.settings)) for line in found] == [("buffer", 4)]
    assert found[0].label == "100mbit-40ms"
    losses = {"sweep": {"random_loss": ["0%", "1%", "10%"], "mixes": [1]}}
    (line,) = lines(made(losses, by_buffer).run.settings)
    assert line.axis == "random_loss"
    assert [place_of(s, "random_loss") for s in line.settings] == [0, 1, 10]
    two = made({"sweep": {"buffer": ["1bdp", "2bdp"], "mixes": [1]}}, by_buffer)
    assert lines(two.run.settings) == []


def test_throughput_against_the_buffer(tmp_path: Path) -> None:
    reference = {"label": "Paper", "strategy": "bbr", "axis": "buffer_bdp", "quantity": "share",
                 "x": [1, 10], "y": [0.9, 0.3]}  # fmt: skip
    measures = made({**BUFFERS, "reference": [reference]}, by_buffer)
    (line,) = lines(measures.run.settings)
    (state,) = mixed_states(measures, line)
    figure = against_setting.draw_mix(measures, line, state)
    assert figure is not None
    labels = [t.get_text() for t in figure.legends[0].get_texts()]
    assert "1 bbr (n = 1 trial each)" in labels
    assert "Paper, bbr" in labels
    assert any("Mishra" in label for label in labels)
    assert against_setting.draw_alone(measures, line) is None
    drawn(figure, tmp_path)


def test_models_answer_where_they_hold() -> None:
    measures = made(BUFFERS, by_buffer)
    settings = {s.buffer_label: s for s in measures.run.settings}
    shares = predicted_shares(measures, settings["10bdp"], ((1, 1),))
    assert shares["mishra-two-flow"] == pytest.approx(0.3418, abs=1e-4)
    groups = [{"name": "a", "count": 1, "base_rtt": "10ms"}, {"name": "b", "count": 1,
              "base_rtt": "50ms"}]  # fmt: skip
    several = made({"flows": groups}, by_buffer)
    assert predicted_shares(several, several.run.settings[0], ((1, 0), (0, 1))) == {}


def test_equilibria_by_buffer(tmp_path: Path) -> None:
    ten = {"flows": [{"name": "main", "count": 10, "base_rtt": "40ms"}],
           "sweep": {"buffer": ["1bdp", "5bdp", "20bdp"]}}  # fmt: skip

    def settles(setting: Setting, strategy: str, second: int) -> float:
        best = {1.0: 9, 5.0: 6, 20.0: 3}[setting.buffer_bdp]
        return 1e7 + (1e5 * (best - second) if strategy == "bbr" else 0)

    measures = made(ten, settles)
    (line,) = lines(measures.run.settings)
    found = {e.setting.label: e for e in equilibria_of_measures(measures)}
    drawn(equilibria_by_buffer.draw(measures, line, found), tmp_path)


def test_goodput_gain() -> None:
    assert goodput_gain(20.0, 43.0) == pytest.approx(1.15)
    assert goodput_gain(20.0, 10.0) == -0.5
    assert np.isnan(goodput_gain(0.0, 1.0))
    assert np.isnan(goodput_gain(float("nan"), 1.0))


def test_heat_map(tmp_path: Path) -> None:
    measures = made(GRID, by_path)
    setting = measures.run.settings[0]  # 10 Mbit/s: CUBIC 0.9, BBR 0.5 of the rate
    assert heat_map.gain_of_setting(measures, setting) == pytest.approx(-100 * 4 / 9)
    drawn(heat_map.draw(measures, heat_map.gain_of_setting, "gain (%)", signed=True), tmp_path)
    assert heat_map.draw(measures, heat_map.retransmits_of("bbr"), "again (%)", False) is None


def test_decision_tree(tmp_path: Path) -> None:
    measures = made(GRID, by_path)
    found = decide(measures)
    assert found is not None
    assert (found.settings, found.accuracy, found.classes) == (16, 1.0, ("bbr", "cubic"))
    drawn(tree_figure.draw(measures), tmp_path)


def test_a_tree_by_hand() -> None:
    # One cut in the rate between 50 and 100 Mbit/s tells everything.
    rows = np.array([[rate, 10, 1, 1] for rate in (10, 20, 50, 100, 200, 500)], dtype=float)
    found = fit(rows, ["cubic"] * 3 + ["bbr"] * 3)
    assert found is not None
    assert FEATURES[found.tree.tree_.feature[0]] == "rate (Mbit/s)"
    assert found.tree.tree_.threshold[0] == 75
    assert fit(rows, ["bbr"] * 6) is None


def test_no_tree_from_few_settings() -> None:
    assert decide(made(BUFFERS, by_buffer)) is None
