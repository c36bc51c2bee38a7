"""The interval of the crossing held to published mixes that are drawn anew with their own noise.

A small part of `python -m tests.support.crossing_trials`, with the same seed each time.
Bounds: coverage of the 95 % intervals at least 90 %, a mean error below half a flow where the
equilibria of the means are about twice as far off, probabilities as often true as they say.
"""

import numpy as np
import pytest
from tests.support.crossing_trials import (
    DESIGNS,
    Design,
    JudgedRun,
    calibration,
    play,
    truths,
)


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.long)])
def draws(request: pytest.FixtureRequest) -> int:
    return request.param


def played(design: Design, draws: int, inside: bool = True) -> list[JudgedRun]:
    settings = [t for t in truths() if t.inside is inside]
    assert len(settings) == (38 if inside else 11)
    return list(play(design, draws, settings=settings))


def named(name: str) -> Design:
    return next(design for design in DESIGNS if design.name == name)


EVERY = (
    "every mix, 1 trial", "every mix, 3 trials", "10 flows, 3 trials", "adaptive, at most 3",
    "adaptive, at most 3, noise x 2",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "draws"),
    [("adaptive, at most 3", 2), ("10 flows, 3 trials", 2),
     *(pytest.param(name, 4, marks=pytest.mark.long) for name in EVERY)],
)  # fmt: skip
def test_coverage_and_error(name: str, draws: int, record_property) -> None:
    found = played(named(name), draws)
    coverage = float(np.mean([p.covered for p in found]))
    error = float(np.mean([p.error for p in found if p.error is not None]))
    record_property("coverage", f"{coverage:.3f}")
    record_property("error in flows", f"{error:.2f}")
    assert coverage >= 0.9
    assert error < 0.5
    assert all(p.ends.intervals for p in found)


@pytest.mark.slow
def test_better_than_the_search(draws: int) -> None:
    found = played(named("every mix, 1 trial, noise x 2"), draws)
    error = np.mean([p.error for p in found if p.error is not None])
    assert error < 0.7 * np.nanmean([p.search_error for p in found])


@pytest.mark.slow
def test_corners_are_covered(draws: int) -> None:
    for name in ("every mix, 1 trial", "adaptive, at most 3"):
        assert np.mean([p.covered for p in played(named(name), draws, inside=False)]) >= 0.9


@pytest.mark.slow
def test_probabilities_are_calibrated(draws: int) -> None:
    """Within four standard errors of what was stated."""
    found = played(named("adaptive, at most 3, noise x 2"), draws)
    stated, true, n = calibration([pair for p in found for pair in p.stated])
    assert stated == pytest.approx(true, abs=4 * np.sqrt(0.25 / n))
