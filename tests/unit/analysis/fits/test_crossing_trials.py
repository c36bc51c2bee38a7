"""The interval of the crossing held to published mixes that are drawn anew with their own noise.

A small part of `python -m nashbed.analysis.fits.crossing_trials`, with the same seed each time.
Bounds: coverage of the 95 % intervals at least 90 %, a mean error below half a flow where the
equilibria of the means are about twice as far off, probabilities as often true as they say.
"""

from __future__ import annotations

import numpy as np
import pytest
from nashbed.analysis.fits.crossing_trials import (
    DESIGNS,
    Design,
    JudgedRun,
    calibration,
    play,
    truths,
)

DRAWS = 4


def played(design: Design, inside: bool = True) -> list[JudgedRun]:
    settings = [t for t in truths() if t.inside is inside]
    assert len(settings) == (38 if inside else 11)
    return list(play(design, DRAWS, settings=settings))


def named(name: str) -> Design:
    return next(design for design in DESIGNS if design.name == name)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["every mix, 1 trial", "every mix, 3 trials", "10 flows, 3 trials", "adaptive, at most 3",
     "adaptive, at most 3, noise x 2"],
)  # fmt: skip
def test_coverage_and_error(name: str, record_property) -> None:
    found = played(named(name))
    coverage = float(np.mean([p.covered for p in found]))
    error = float(np.mean([p.error for p in found if p.error is not None]))
    record_property("coverage", f"{coverage:.3f}")
    record_property("error in flows", f"{error:.2f}")
    assert coverage >= 0.9
    assert error < 0.5
    assert all(p.ends.intervals for p in found)


@pytest.mark.slow
def test_better_than_the_search() -> None:
    found = played(named("every mix, 1 trial, noise x 2"))
    error = np.mean([p.error for p in found if p.error is not None])
    assert error < 0.7 * np.nanmean([p.search_error for p in found])


@pytest.mark.slow
def test_corners_are_covered() -> None:
    assert np.mean([p.covered for p in played(named("every mix, 1 trial"), inside=False)]) >= 0.9
    assert np.mean([p.covered for p in played(named("adaptive, at most 3"), inside=False)]) >= 0.9


@pytest.mark.slow
def test_probabilities_are_calibrated() -> None:
    """Within four standard errors of what was stated; the bootstrap's share is above what is."""
    found = played(named("adaptive, at most 3, noise x 2"))
    stated, true, n = calibration([pair for p in found for pair in p.stated])
    assert stated == pytest.approx(true, abs=4 * np.sqrt(0.25 / n))
    share, held, _ = calibration([pair for p in found for pair in p.resampled])
    assert share > held
