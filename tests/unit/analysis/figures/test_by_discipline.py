"""Disciplines side by side: what stands in which row."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nashbed.analysis.figures.by_discipline import APART, by_discipline_plot
from nashbed.analysis.figures.drawing import draw
from nashbed.analysis.figures.run_figures import _side_by_side_sketches
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.results.sweep import beside_disciplines
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import legend_of, panels, points
from tests.unit.analysis.made_measures import made

SWEEP: dict[str, Any] = {"discipline": ["droptail", "codel"], "mixes": [1]}
TOTALS = {"mean_queueing_delay": 0.02, "p95_queueing_delay": 0.03, "loss_rate": 0.01}


def per_flow(setting: Setting, strategy: str, others: int) -> float:
    fast = (setting.queue.name == "codel") == (strategy == "cubic")
    return 60e6 if fast else 40e6


def measures(sweep: dict[str, Any] = SWEEP) -> RunMeasures:
    found = made({"sweep": sweep}, per_flow, TOTALS)
    marked = {**TOTALS, "mark_rate": 0.05}
    trials = tuple(
        replace(t, total=marked) if t.trial.setting.queue.name == "codel" else t
        for t in found.trials
    )
    return replace(found, trials=trials)


def test_rows() -> None:
    run = measures()
    (settings,) = beside_disciplines(run.run.settings)
    plot = by_discipline_plot(run, settings, run.trials[0].state)
    rates, delays, losses = panels(plot)
    assert rates.y.ticks == {0: "drop-tail", 1: "CoDel"}
    rows = pytest.approx([-APART, 1 - APART])
    assert points(rates["1 cubic (n = 1 trial)"]) == (rows, pytest.approx([40, 60]))
    assert rates["1 bbr (n = 1 trial)"].y == pytest.approx([60, 40])
    assert rates["fair share, as goodput"].upright
    assert rates["fair share, as goodput"].at == pytest.approx(50 * 1448 / 1514)
    assert points(delays["mean delay"]) == ([0, 1], pytest.approx([20, 20]))
    assert losses["lost"].y == pytest.approx([1, 1])
    # Drop-tail marks nothing, and says nothing of marks.
    assert points(losses["marked"]) == (pytest.approx([1 + APART]), pytest.approx([5]))
    assert plot is not None
    assert "lost" in legend_of(draw(plot))


def test_a_strategy_without_flows_is_left_out() -> None:
    run = measures({"discipline": ["droptail", "codel"], "mixes": [0]})
    (settings,) = beside_disciplines(run.run.settings)
    rates, *_ = panels(by_discipline_plot(run, settings, run.trials[0].state))
    assert "2 cubic (n = 1 trial)" in rates.labels
    assert not any("bbr" in label for label in rates.labels)


def test_a_figure_for_each_mix_and_buffer() -> None:
    two = measures({**SWEEP, "buffer": ["1bdp", "2bdp"], "mixes": [0, 1]})
    sketches = list(_side_by_side_sketches(two))
    assert len({sketch.name for sketch in sketches}) == len(sketches) == 4
    assert {sketch.kind for sketch in sketches} == {"by_discipline"}
    assert list(_side_by_side_sketches(made({}, per_flow))) == []


def test_needs_two_that_were_measured() -> None:
    run = measures()
    (settings,) = beside_disciplines(run.run.settings)
    one = replace(run, trials=run.trials[:1])
    assert by_discipline_plot(one, settings, run.trials[0].state) is None
    assert np.isfinite(run.trials[0].total["loss_rate"])
