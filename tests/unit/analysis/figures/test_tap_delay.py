"""Delays from captures and from postcards, and their difference."""

from __future__ import annotations

import numpy as np
import pytest
from nashbed.analysis.clock.queueing import TapComparison
from nashbed.analysis.figures import tap_delay
from tests.support.drawn import legend_of, lines_of, points, unlabelled_lines

MS, US = 1_000_000, 1_000


def comparison(postcards_ns: list[int], captures_ns: list[float]) -> TapComparison:
    return TapComparison(
        trial="t",
        software=True,
        clocks=(),
        alignments=(),
        sojourn_ns=np.array(postcards_ns, np.int64),
        delay_ns=np.array(captures_ns, np.float64),
        time_ns=np.arange(len(postcards_ns), dtype=np.int64) * 10**9,
        tolerance_ns=1000,
        mismatches=(),
    )


def test_delays_and_their_difference() -> None:
    found = comparison([MS, 2 * MS, 3 * MS], [MS + 5 * US, 2 * MS + 7 * US, 3 * MS + 9 * US])
    figure = tap_delay.draw(found)
    assert figure is not None
    above, below = figure.axes
    assert points(lines_of(above)["postcards"]) == ([0, 1, 2], [1, 2, 3])
    assert points(lines_of(above)["captures"]) == ([0, 1, 2], pytest.approx([1.005, 2.007, 3.009]))
    difference, *edges = unlabelled_lines(below)
    assert points(difference) == ([0, 1, 2], pytest.approx([5, 7, 9]))
    assert points(lines_of(below)["median difference"])[1] == pytest.approx([7, 7])
    # The 5th and 95th percentile of 5, 7, 9.
    assert [points(edge)[1][0] for edge in edges] == pytest.approx([5.2, 8.8])
    assert above.get_ylabel() == "queueing delay (ms)"
    assert below.get_ylabel() == "captures less\npostcards (µs)"
    assert below.get_xlabel() == "time (s)"
    assert legend_of(figure) == ["postcards", "captures", "median difference"]


def test_at_most_so_many_points() -> None:
    count = tap_delay.MAX_POINTS * 2 + 1
    figure = tap_delay.draw(comparison([MS] * count, [float(MS)] * count))
    assert figure is not None
    x, _ = points(lines_of(figure.axes[0])["postcards"])
    assert len(x) <= tap_delay.MAX_POINTS
    assert x[:3] == [0, 3, 6]


def test_nothing_of_no_packets() -> None:
    assert tap_delay.draw(comparison([], [])) is None
