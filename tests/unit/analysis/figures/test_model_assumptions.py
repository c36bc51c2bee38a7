"""The ledger as a figure: a row for each assumption, a marker for each mix and bound."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes
from nashbed.analysis.correlation.assumptions import ASSUMPTIONS, Held
from nashbed.analysis.correlation.of_run import RunCorrelation
from nashbed.analysis.figures import model_assumptions
from tests.support.drawn import legend_of, points
from tests.unit.analysis.figures.made_correlations import (
    correlation,
    held,
    measures_of_three,
    of_trials,
)
from tests.unit.analysis.made_measures import made

KEYS = [assumption.key for assumption in ASSUMPTIONS]


def run_of_mixes(assumptions: dict[str, Held], *bbr_flows: int) -> RunCorrelation:
    measures = measures_of_three()
    by_count = {t.state[0][1]: t for t in measures.trials}
    return of_trials(measures, *(correlation(by_count[k], held=assumptions) for k in bbr_flows))


def markers(ax: Axes, row: int) -> list[tuple[float, str]]:
    """The single markers of a row: place and shape, in the order in which they were drawn."""
    found = [(points(line), str(line.get_marker())) for line in ax.lines]
    return [
        (x[0], marker)
        for (x, y), marker in found
        if len(x) == 1 and abs(y[0] - row) < 0.5 and marker != "None"
    ]


def test_ratios_and_points_by_mix() -> None:
    run = run_of_mixes(held(full=0.9), 1, 2)
    setting = run.measures.run.settings[0]
    figure = model_assumptions.draw(run, setting)
    assert figure is not None
    ratios, costs = figure.axes
    assert [label.get_text() for label in ratios.get_yticklabels()] == [
        assumption.short for assumption in ASSUMPTIONS
    ]
    row = KEYS.index("full")
    assert [x for x, _ in markers(ratios, row)] == pytest.approx([0.9, 0.9])
    expected = []
    for ledger in run.ledgers(setting):
        (entry,) = (e for e in ledger.entries if e.assumption.key == "full")
        expected += [entry.alone["synchronised"].points, entry.alone["desynchronised"].points]
    assert [x for x, _ in markers(costs, row)] == pytest.approx(expected)
    assert [x for x, _ in markers(ratios, KEYS.index("keeps"))] == pytest.approx([1, 1])
    assert ratios.get_xlabel() == "measured / assumed"
    assert costs.get_xlabel() == "moves BBR's share by (points)"
    assert legend_of(figure)[:2] == ["1 bbr", "2 bbr"]
    assert "no solution from here on" in legend_of(figure)
    assert figure.legends[0].get_title().get_text() == "n = 1 trial"


def test_without_a_solution_an_arrow_points_on() -> None:
    run = run_of_mixes(held(flight=0.5), 1)
    figure = model_assumptions.draw(run, run.measures.run.settings[0])
    assert figure is not None
    shapes = [marker for _, marker in markers(figure.axes[1], KEYS.index("flight"))]
    assert shapes == ["<", "<"]


def test_rows_that_were_not_measured_are_left_out() -> None:
    known = {key: one for key, one in held().items() if key not in ("flight", "kept")}
    run = run_of_mixes(known, 1)
    figure = model_assumptions.draw(run, run.measures.run.settings[0])
    assert figure is not None
    assert len(figure.axes[0].get_yticks()) == len(ASSUMPTIONS) - 2


def test_no_ledger_is_no_figure() -> None:
    run = run_of_mixes({}, 1, 2)
    assert model_assumptions.draw(run, run.measures.run.settings[0]) is None


def test_a_later_version_of_bbr_has_its_name() -> None:
    measures = made(
        {
            "strategies": ["cubic", "bbr3"],
            "flows": [{"name": "main", "count": 3, "base_rtt": "40ms"}],
        },
        lambda _, __, ___: 30e6,
    )
    mixed = next(t for t in measures.trials if t.state[0][1] == 2)
    run = of_trials(measures, correlation(mixed, held=held(full=0.9)))
    figure = model_assumptions.draw(run, measures.run.settings[0])
    assert figure is not None
    assert legend_of(figure)[0] == "2 bbr3"
