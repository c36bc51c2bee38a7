"""Beyond the edges of the fluid model's grid: which points, and how the best ones are chosen."""

from __future__ import annotations

import numpy as np
import pytest
from nashbed.analysis.fits.fluid import GRID, fitted_mixes, left_out_constants, panel_of
from nashbed.analysis.fits.fluid_edges import (
    BEYOND,
    Beyond,
    best_table,
    constants_text,
    points_beyond,
    unseen_table,
)
from nashbed.analysis.fits.published_panels import MIXES
from nashbed.analysis.models.fluid import FITTED, FluidConstants
from nashbed.analysis.models.measured import mixes_of_file


def test_the_further_grids_hold_the_shipped_constants_inside() -> None:
    points = points_beyond()
    # 3 x 3 x 3 x 3 and 4 x 4 x 2 x 3, of which 3 x 3 x 2 x 2 are in both.
    assert len(points) == len(set(points)) == 81 + 96 - 36
    chosen = left_out_constants()
    assert chosen[None] == FITTED
    assert len(chosen) == 8
    assert set(chosen.values()) <= set(points)
    for name in ("losing_packets", "aggregated_packets"):
        assert getattr(FITTED, name) == min(GRID[name])
        assert min(min(grid[name]) for grid in BEYOND) < min(GRID[name])


@pytest.fixture(scope="module")
def beyond() -> Beyond:
    """Two points: one is right in the first panel alone, and the shipped one elsewhere."""
    mixes = fitted_mixes(mixes_of_file(MIXES).mixes)
    other = FluidConstants(0.5, 0.25, 4.0, 1.0)
    first = np.array([panel_of(mix) == min(map(panel_of, mixes)) for mix in mixes])
    left = FluidConstants(1.0, 0.15, 7.0, 1.0)
    off = np.stack([np.where(first, 0.0, 0.02), np.where(first, 0.1, 0.01), np.full(len(mixes), 1)])
    return Beyond(mixes, [other, FITTED, left], off)


@pytest.mark.slow
def test_the_best_points(beyond: Beyond) -> None:
    # The first of seven panels of 49 mixes: (6/7) 0.02 and (1/7) 0.1 + (6/7) 0.01.
    (best, error), (_, second) = beyond.best(2)
    assert len(beyond.mixes) == 343
    assert constants_text(best) == "0.5, 0.25, 4, 1"
    assert (error, second) == pytest.approx((0.02 * 6 / 7, 0.16 / 7))


def test_a_panel_is_judged_by_what_is_best_without_it(beyond: Beyond) -> None:
    chosen = beyond.chosen()
    panels = sorted({panel_of(mix) for mix in beyond.mixes})
    # Without the first panel the shipped point is best; without another one it is not.
    assert chosen[panels[0]] == FITTED
    assert {constants_text(chosen[panel]) for panel in panels[1:]} == {"0.5, 0.25, 4, 1"}
    assert beyond.unseen(chosen).mean() == pytest.approx((0.1 + 6 * 0.02) / 7)


def test_the_tables(beyond: Beyond) -> None:
    assert best_table(beyond).row_count == 3
    assert unseen_table(beyond).row_count == 7 + 1
