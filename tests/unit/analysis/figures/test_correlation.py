"""Queue against throughput, CUBIC's losses together, and the ledger."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from nashbed.analysis.correlation.assumptions import ASSUMPTIONS, AssumptionCheck
from nashbed.analysis.correlation.k_verdict import KPrediction, judge_k
from nashbed.analysis.correlation.ledger import BOUNDS, LedgerEntry, PointsMoved
from nashbed.analysis.correlation.of_run import RunCorrelation
from nashbed.analysis.figures.correlation import (
    draw_model_assumptions,
    share_against_share_plot,
    synchronisation_plot,
)
from nashbed.analysis.figures.style import colour_of
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.metrics.statistics import Estimate
from tests.support.drawn import legend_of, panels, points
from tests.unit.analysis.figures.made_correlations import (
    correlation,
    held,
    losses,
    measures_of_three,
    of_trials,
)
from tests.unit.analysis.made_measures import made

MIXES = {"sweep": {"mixes": [1]}, "flows": [{"name": "main", "count": 4, "base_rtt": "40ms"}]}
QUEUE = np.array([0.2, 0.3, 0.4, 0.1])
THROUGHPUT = np.array([0.25, 0.35, 0.45, 0.15])
SHARES = {0: [1.0, 1 / 3], 1: [0.5, 0.5], 2: [1.0]}
PREDICTED = {"measured": 0.4, "synchronised": 0.6, "desynchronised": 0.3}
KEYS = [assumption.key for assumption in ASSUMPTIONS]


def measures_with(queue: np.ndarray | None) -> RunMeasures:
    measures = made(MIXES, lambda *_: 1e7)
    (trial,) = measures.trials
    shares = {"throughput_share": THROUGHPUT}
    if queue is not None:
        shares["occupancy_share"] = queue
    return replace(measures, trials=(replace(trial, per_flow=shares),))


def test_a_point_for_each_flow_and_the_lines() -> None:
    measures = measures_with(QUEUE)
    (panel,) = panels(share_against_share_plot(measures, measures.run.settings[0]))
    # Three CUBIC flows and then the BBR flow; throughput is the queue's share plus 0.05.
    cubic = panel["cubic: slope 1.00, R² 1.00"]
    assert points(cubic) == ([0.2, 0.3, 0.4], [0.25, 0.35, 0.45])
    assert cubic.look["color"] == colour_of("cubic", ())
    assert points(panel["bbr"]) == ([0.1], [0.15])
    top = 1.06 * 0.45
    assert points(panel["equation (5): equal shares"]) == ([0, top], [0, top])
    line = points(panel["all: slope 1.00, R² 1.00, n 4"])
    assert line == ([0, top], pytest.approx([0.05, 0.05 + top]))
    assert (panel.x.high, panel.y.high) == (top, top)


def test_flows_without_a_share_are_left_out() -> None:
    measures = measures_with(np.array([0.2, np.nan, 0.4, 0.1]))
    (panel,) = panels(share_against_share_plot(measures, measures.run.settings[0]))
    assert points(panel["cubic"]) == ([0.2, 0.4], [0.25, 0.45])


def run_with_losses(*bbr_flows: int, with_model: bool = True) -> RunCorrelation:
    measures = measures_of_three()
    by_count = {t.state[0][1]: t for t in measures.trials}
    trials = [correlation(by_count[k], cubic=losses(3 - k, SHARES[k], 100)) for k in bbr_flows]
    label = measures.run.settings[0].label
    rows = [
        KPrediction(trial=by_count[k].trial.id, setting=label, bbr_share=0.25 + 0.1 * k,
                    k=dict.fromkeys(PREDICTED, 1.0),
                    predicted={name: share + 0.01 * k for name, share in PREDICTED.items()})
        for k in bbr_flows if k
    ]  # fmt: skip
    return of_trials(measures, *trials, k=judge_k(rows) if with_model else None)


def test_shares_of_losing_flows() -> None:
    run = run_with_losses(0, 1, 2)
    above, below = panels(synchronisation_plot(run, run.measures.run.settings[0]))
    measured = above["losing together, measured"]
    assert points(measured) == ([0, 1, 2], pytest.approx([2 / 3, 0.5, 1.0]))
    assert measured.half is None
    assert above["one flow each time"].y == pytest.approx([1 / 3, 1 / 2, 1])
    assert above["all together"].at == 1
    assert below.x.title == "flows running bbr (n = 1 trial)"


def test_shares_of_bbr_by_each_k() -> None:
    run = run_with_losses(0, 1, 2)
    _, below = panels(synchronisation_plot(run, run.measures.run.settings[0]))
    for name, share in PREDICTED.items():
        assert points(below[f"model, {name} k"]) == (
            [1, 2],
            pytest.approx([share + 0.01, share + 0.02]),
        )
    assert points(below["BBR's share, measured"]) == ([1, 2], pytest.approx([0.35, 0.45]))


def run_with_ledgers(assumptions: dict[str, AssumptionCheck], *bbr_flows: int) -> RunCorrelation:
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
    run = run_with_ledgers(held(full=0.9), 1, 2)
    setting = run.measures.run.settings[0]
    figure = draw_model_assumptions(run, setting)
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
    assert legend_of(figure)[:2] == ["1 bbr", "2 bbr"]
    assert "no solution from here on" in legend_of(figure)
    assert figure.legends[0].get_title().get_text() == "n = 1 trial"


def with_one_far(ratio: float, cost: float) -> Figure:
    """Two mixes of small ratios and costs, but for one of `W at a loss` in the second."""
    run = run_with_ledgers(held(full=0.9, delay=1.1), 1, 2)
    near, last = run.ledgers(run.measures.run.settings[0])

    def moved(entry: LedgerEntry) -> LedgerEntry:
        if entry.assumption.key != "largest":
            small = {bound: PointsMoved(1.5) for bound in BOUNDS}
            return replace(entry, alone=small)
        told = Estimate(mean=ratio * entry.says[BOUNDS[0]], n=1, ci95=None)
        return replace(entry, measured=told, alone=dict.fromkeys(BOUNDS, PointsMoved(cost)))

    calm = replace(near, entries=tuple(replace(e, alone=moved(near.entries[0]).alone)
                                       for e in near.entries))  # fmt: skip
    far = replace(last, entries=tuple(moved(entry) for entry in last.entries))
    with patch.object(RunCorrelation, "ledgers", return_value=[calm, far]):
        figure = draw_model_assumptions(run, run.measures.run.settings[0])
    assert figure is not None
    figure.draw_without_rendering()
    return figure


def place(ax: Axes, x: float) -> float:
    """Where a value stands, as a share of the axes' width, once the figure is laid out."""
    return float(ax.transAxes.inverted().transform(ax.transData.transform((x, 0)))[0])


def test_one_far_point_does_not_press_the_others_into_a_line() -> None:
    ratios, costs = with_one_far(ratio=40, cost=40).axes
    row = KEYS.index("largest")
    assert [x for x, _ in markers(ratios, row)][-1] == pytest.approx(40)
    assert ratios.get_xlabel().endswith("logarithmic beyond 2")
    assert costs.get_xlabel().endswith("logarithmic beyond ±5")
    for ax, near in ((ratios, (0.9, 1.1)), (costs, (0, 1.5))):
        assert 0 < place(ax, 40) < 1
        # On a linear scale 0.2 of 40 would be 0.5 % of the width, and 1.5 of 40 less than 4 %.
        assert place(ax, near[1]) - place(ax, near[0]) > 0.03
        ticks = [label.get_text() for label in ax.get_xticklabels()]
        assert {"5", "10", "20"} <= set(ticks)
    assert place(costs, 1.5) - place(costs, 0) > 0.06


def test_without_a_solution_an_arrow_points_on() -> None:
    run = run_with_ledgers(held(flight=0.5), 1)
    figure = draw_model_assumptions(run, run.measures.run.settings[0])
    assert figure is not None
    shapes = [marker for _, marker in markers(figure.axes[1], KEYS.index("flight"))]
    assert shapes == ["<", "<"]


def test_rows_that_were_not_measured_are_left_out() -> None:
    known = {key: one for key, one in held().items() if key not in ("flight", "kept")}
    run = run_with_ledgers(known, 1)
    figure = draw_model_assumptions(run, run.measures.run.settings[0])
    assert figure is not None
    assert len(figure.axes[0].get_yticks()) == len(ASSUMPTIONS) - 2
