"""Figures of games of pairs: which number stands in which cell, and which line is whose."""

import json
from typing import Any

import numpy as np
import pytest
from nashbed.analysis.figures.drawing import draw
from nashbed.analysis.figures.pairs import (
    ASIDE,
    pair_equilibria_plot,
    pair_lines_plot,
    tournament_plot,
)
from nashbed.analysis.figures.setting_figures import _pair_sketches
from nashbed.analysis.figures.style import colour_of
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.nash.answer import pair_answer
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.results.sweep import lines
from nashbed.controlplane.cli.results import equilibria_text
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import panels, points, texts
from tests.unit.analysis.made_measures import made

NAMES = ["cubic", "bbr", "copa"]
FLOWS = 10
CROSSING = {"bbr": 6.0, "copa": -5.0}
SCENARIO: dict[str, Any] = {
    "strategies": NAMES,
    "flows": [{"name": "main", "count": FLOWS, "base_rtt": "40ms"}],
    "sweep": {"mixes": {"pairs": "all"}},
}


def per_flow(setting: Setting, strategy: str, others: int) -> float:
    """Against cubic the lead of bbr ends at 6 flows, copa never leads; bbr beats copa always."""
    if strategy == "cubic":
        return 10e6
    if others == FLOWS:
        return {"bbr": 12e6, "copa": 5e6}[strategy]
    shift = 0.5 * setting.buffer_bdp - 1
    return 10e6 + 0.4e6 * (CROSSING[strategy] + shift - others)


def measures(**sweep: Any) -> RunMeasures:
    return made({**SCENARIO, "sweep": {"mixes": {"pairs": "all"}, **sweep}}, per_flow)


def test_matrix() -> None:
    (setting,) = equilibria_of_measures(measures())
    plot = tournament_plot(setting.pairs)
    assert plot is not None
    (ax,) = draw(plot).axes
    assert [t.get_text() for t in ax.get_yticklabels()] == ["bbr", "cubic", "copa"]
    shares = np.ma.filled(ax.images[0].get_array(), -1)
    # The last column is the mean over the others.
    rows = [[-1, 0.6, 1, 0.8], [0.4, -1, 1, 0.7], [0, 0, -1, 0]]
    assert shares == pytest.approx(np.array(rows), abs=0.01)
    assert len(plot.table().splitlines()) == 1 + 9
    # Each cell has its share and, below it, the interval.
    assert texts(ax)[0] == "60%"
    low, high = map(int, texts(ax)[1].split(" to "))
    assert low <= 60 <= high
    assert {"80%", "70%", "0%"} <= set(texts(ax))


def test_a_matrix_needs_every_pair() -> None:
    (setting,) = equilibria_of_measures(measures())
    assert tournament_plot(setting.pairs[:2]) is None


def test_each_pair_is_told_under_its_name_and_all_of_them_apart() -> None:
    (setting,) = equilibria_of_measures(measures())
    *games, means, nearly = equilibria_text(setting).splitlines()
    assert games == [
        "b2bdp:",
        "  cubic against bbr: 4 cubic + 6 bbr (95 %: 5 to 7 bbr)",
        "  cubic against copa: 10 cubic (95 %: no other mix)",
        "  bbr against copa: 10 bbr (95 %: no other mix)",
    ]
    apart = "5 cubic + 5 bbr, 4 cubic + 6 bbr, 10 bbr"
    assert means == f"  equilibria of the means over all pairs: {apart}"
    assert nearly.startswith("  epsilon-equilibria over all pairs: 7 cubic + 3 bbr, ")


def test_lines_against_the_first() -> None:
    run = measures()
    above, below = panels(pair_lines_plot(run, run.run.settings[0]))
    assert [label.split()[0] for label in above.labels] == ["bbr", "copa", "fair"]
    bbr, beside = above[above.labels[0]], below[below.labels[1]]
    assert (bbr.x, bbr.y[0]) == (list(range(1, 11)), pytest.approx(12.0))
    assert bbr.look["color"] == colour_of("bbr", NAMES)
    assert points(beside) == (list(range(10)), [10.0] * 10)


def test_equilibria_by_buffer() -> None:
    run = measures(buffer=["2bdp", "4bdp", "6bdp"])
    by_label = {e.setting.label: e for e in equilibria_of_measures(run)}
    (line,) = lines(run.run.settings)
    (panel,) = panels(pair_equilibria_plot(run, line, by_label))
    x, y = points(panel.items[0])
    assert x == pytest.approx([2, 4, 6], rel=ASIDE)
    assert y == pytest.approx([4, 3, 2], abs=0.3)


def test_both_are_in_the_catalogue_and_a_pair_is_plain_data() -> None:
    run = measures()
    (equilibria,) = equilibria_of_measures(run)
    sketches = list(_pair_sketches(run, run.run.settings[0], equilibria))
    assert [sketch.kind for sketch in sketches] == ["pair_lines", "tournament"]
    assert all(sketch.draw() is not None for sketch in sketches)
    told = pair_answer(equilibria.pairs[0]).model_dump(mode="json")
    assert (told["first"], told["second"]) == ("cubic", "bbr")
    assert 6 in told["equilibria_flows_of_second"]
    assert told["intervals"][0]["low"] <= 6 <= told["intervals"][0]["high"]
    assert json.loads(json.dumps(told, allow_nan=False)) == told
