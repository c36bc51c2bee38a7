"""Delay against goodput: which mixes share a panel, and what stands for a strategy."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nashbed.analysis.figures.delay_and_goodput import MOST_PANELS, delay_and_goodput_plot
from nashbed.analysis.figures.drawing import draw
from nashbed.analysis.measures import RunMeasures
from tests.support.drawn import panels, points
from tests.unit.analysis.made_measures import made

DELAYS = {"cubic": 0.06, "bbr": 0.02}
RATES = {"cubic": 10e6, "bbr": 20e6}


def measures(factors: Sequence[float], flows: int = 2, **raw: Any) -> RunMeasures:
    """Goodput and delay rise together, by these factors in three trials of each mix."""
    raw |= {"flows": [{"name": "main", "count": flows, "base_rtt": "40ms"}]}
    run = made(raw, lambda _, strategy, __: RATES[strategy], factors=factors)
    trials = []
    for trial in run.trials:
        delays = np.array([DELAYS[name] for name in trial.strategy])
        delays *= factors[trial.trial.record.repetition]
        trials.append(
            replace(trial, per_flow={**trial.per_flow, "per_flow_queueing_delay": delays})
        )
    return replace(run, trials=tuple(trials))


def test_each_alone_is_one_panel_and_every_mix_has_one() -> None:
    run = measures((0.9, 1.0, 1.4))
    (setting,) = run.run.settings
    alone, mixed = panels(delay_and_goodput_plot(run, setting))
    assert [alone.title, mixed.title] == ["each alone, 2 flows", "1 cubic + 1 bbr"]
    # 60 ms and 10 Mbit/s, times 0.9, 1 and 1.4; the median is not the mean.
    x, y = points(alone["cubic, each trial"])
    assert (x, y) == (pytest.approx([54, 60, 84]), pytest.approx([9, 10, 14]))
    assert points(alone["cubic, median"]) == ([pytest.approx(60)], [pytest.approx(10)])
    # Mean 1.1, variance (0.04 + 0.01 + 0.09) / 3: one sigma is sqrt(0.14 / 3) to each side.
    x, y = points(alone["bbr, one sigma"])
    sigma = (0.14 / 3) ** 0.5
    ends = pytest.approx((20 * (1.1 - sigma), 20 * (1.1 + sigma)))
    assert ((min(x), max(x)), (min(y), max(y))) == (ends, ends)
    # The delay falls to the right, on the same scale in both, with a tenth of room.
    assert mixed.x == alone.x
    least = 20 * (1.1 - sigma)
    room = 0.1 * (84 - least)
    assert (alone.x.low, alone.x.high) == pytest.approx((84 + room, least - room))
    assert draw(delay_and_goodput_plot(run, setting)).axes[0].get_xlim()[0] > 84


def test_two_trials_are_points_without_an_ellipse() -> None:
    run = measures((1.0, 1.1))
    (alone, _) = panels(delay_and_goodput_plot(run, run.run.settings[0]))
    assert alone.labels == ["cubic, each trial", "bbr, each trial"]


def test_many_mixes_are_thinned_and_nothing_is_drawn_without_delays() -> None:
    run = measures((1.0,), flows=20)
    (setting,) = run.run.settings
    found = panels(delay_and_goodput_plot(run, setting))
    assert found[0].title == "each alone, 20 flows"
    assert 4 < len(found) <= MOST_PANELS
    without = made({}, lambda *_: 1e7)
    assert delay_and_goodput_plot(without, without.run.settings[0]) is None
    # One strategy that was measured is no comparison.
    one = replace(run, trials=tuple(t for t in run.trials if "cubic" not in t.strategy))
    assert delay_and_goodput_plot(one, setting) is None
