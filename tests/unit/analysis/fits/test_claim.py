"""What stands beside the fluid model's error: baselines by hand, and on the published mixes."""

import math

import numpy as np
import pytest
from nashbed.analysis.fits.claim import (
    Claim,
    Unsettled,
    neighbours,
    table,
    trial_noise,
    unsettled,
)
from nashbed.analysis.fits.published_panels import MIXES
from nashbed.analysis.models import cubic_against
from nashbed.analysis.models.accuracy import MeasuredMix
from nashbed.analysis.models.measured import MeasuredMixes, mixes_of_file


@pytest.fixture(scope="module")
def published() -> MeasuredMixes:
    return mixes_of_file(MIXES)


def mix(mbps: float, rtt_ms: float, bbr: int, share: float, bdp: float = 5) -> MeasuredMix:
    size = bdp * mbps * rtt_ms * 125
    question = cubic_against(mbps * 1e6, rtt_ms / 1e3, size, 10 - bbr, bbr)
    return MeasuredMix(question, share, bdp)


def test_the_nearest_panels_by_hand() -> None:
    # BDPs of 1, 2, 8 and 16 Mbit. Of 2 the nearest are 1 and 8, factors of 2 and 4 away, although
    # 16 is not much farther than 8 by difference; of 16 they are 8 and 2.
    panels = {(50, 20): 0.1, (50, 40): 0.2, (100, 80): 0.4, (200, 80): 0.9}
    mixes = [mix(mbps, rtt, 5, share) for (mbps, rtt), share in panels.items()]
    assert neighbours(mixes) == pytest.approx([0.3 - 0.1, 0.25 - 0.2, 0.55 - 0.4, 0.3 - 0.9])
    # The mix counts, and the buffer: nobody else has these.
    alone = [*mixes, mix(50, 20, 3, 0.5), mix(50, 20, 5, 0.5, bdp=10)]
    assert neighbours(alone)[:4] == pytest.approx(neighbours(mixes))
    assert np.isnan(neighbours(alone)[4:]).all()


def test_a_panel_that_lacks_a_mix_is_passed_over() -> None:
    mixes = [mix(50, 20, 5, 0.1), mix(50, 40, 4, 0.2), mix(100, 80, 5, 0.4), mix(200, 80, 5, 0.8)]
    assert neighbours(mixes)[0] == pytest.approx(0.6 - 0.1)


def test_noise_by_hand() -> None:
    # A straight line has none; 0.06 off it in the middle bends by 0.12, in units of sqrt(6).
    line = [mix(50, 20, bbr, 0.1 * bbr) for bbr in range(1, 6)]
    line[2] = mix(50, 20, 3, 0.36)
    noise = trial_noise(line)
    assert np.isnan(noise[[0, -1]]).all()
    assert noise[1:-1] == pytest.approx(np.array([0.06, -0.12, 0.06]) / math.sqrt(6))


def test_noise_of_made_trials() -> None:
    """It is a trial's own error: of a standard deviation of 1 the median absolute is 0.674."""
    rng = np.random.default_rng(1)
    made = [mix(50, 20 + i, bbr, rng.normal(0, 1)) for i in range(500) for bbr in range(1, 10)]
    assert np.nanmedian(np.abs(trial_noise(made))) == pytest.approx(0.674, abs=0.03)


def test_the_published_baselines(published: MeasuredMixes) -> None:
    """The numbers of the README."""
    off, noise = neighbours(published.mixes), trial_noise(published.mixes)
    assert np.isfinite(off).all()
    assert round(100 * float(np.median(np.abs(off))), 1) == 4.9
    assert round(100 * float(np.nanmedian(np.abs(noise))), 1) == 0.6


@pytest.mark.slow
def test_a_deep_buffer_has_not_settled(published: MeasuredMixes) -> None:
    shallow, deep = published.games[0], published.games[13]
    assert (shallow.buffer_bdp, deep.buffer_bdp) == (0.5, 50)
    assert abs(unsettled(shallow).off) < 0.02
    assert abs(unsettled(deep).off) > 0.05


def claimed(published: MeasuredMixes, every: int) -> Claim:
    """A claim of some mixes, with an error of 2 points each."""
    mixes = published.mixes[::every]
    off = np.full(len(mixes), 0.02)
    games = [Unsettled(game.buffer_bdp, 0.01) for game in published.games]
    return Claim(mixes, off, off, off, games)


def test_the_table_has_a_row_for_each_buffer(published: MeasuredMixes) -> None:
    claim = claimed(published, 20)
    assert table(claim).row_count == 7 + 2
    deep = claim.row(5, math.inf)
    assert (deep[1], deep[-1]) == ("2.0", "0 of 42")


@pytest.mark.long
def test_the_tables_numbers(published: MeasuredMixes) -> None:
    claim = claimed(published, 1)
    # Mixes, fluid, Ware, two edges, the band's three, baseline, noise, and what has not settled.
    deep = claim.row(5, math.inf)
    assert deep[:2] == ["2051", "2.0"]
    assert deep[5:] == ["4.7", "20.4", "36 %", "100 %", "2.0", "2.0", "1.0", "0 of 42"]
    assert [claim.row(bdp, bdp)[5] for bdp in (0.5, 10, 20)] == ["-", "2.1", "1.1"]
