"""BBR's path and CUBIC's queue over the same windows of 10 s, by hand."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from nashbed.analysis.correlation.bbr import bbr_windows
from nashbed.analysis.correlation.series import FlowSeries
from nashbed.analysis.metrics.queue import TimeBins

S = 1_000_000_000


def trial_of(seconds: int) -> Any:
    """One CUBIC flow (0) and one BBR flow (1), measured from 5 s on."""
    record = SimpleNamespace(window_ns=(5 * S, (5 + seconds) * S))
    masks = {"cubic": np.array([True, False]), "bbr": np.array([False, True])}
    return SimpleNamespace(
        trial=SimpleNamespace(record=record), strategy=tuple(masks), flow_mask=masks.__getitem__
    )


def series_of(seconds: int) -> FlowSeries:
    """Bins of a second: CUBIC has 100 bytes, but 40 in the 13th second; BBR 60, sending 7."""
    cubic = np.full(seconds, 100.0)
    cubic[12:13] = 40.0
    occupancy = np.stack((cubic, np.full(seconds, 60.0)))
    departed = np.stack((np.full(seconds, 9.0), np.full(seconds, 7.0)))
    return FlowSeries(TimeBins(5 * S, S, seconds), occupancy, departed, None, exact=True)


def samples_of(t_s: list[float], min_rtt_us: list[int], flight: list[int]) -> dict[str, Any]:
    """Samples of the BBR flow: segments of 934 bytes, so that frames are 1000."""
    count = len(t_s)
    return {
        "t_ns": (np.array(t_s) * S).astype(np.int64),
        "flow": np.ones(count, dtype=np.uint32),
        "mss": np.full(count, 934, dtype=np.uint32),
        "bbr_min_rtt_us": np.array(min_rtt_us),
        "inflight_bytes": np.array(flight),
    }


def test_windows() -> None:
    # Measured from 5 to 35 s: windows from 15 to 25 and from 25 to 35 s. The sample at 14 s is
    # before the first one, that at 20 s has no estimate.
    samples = samples_of(
        [14, 16, 18, 20, 30], [9_000, 40_000, 60_000, 0, 80_000], [1, 934, 1868, 5, 467]
    )
    found = bbr_windows(trial_of(30), series_of(30), samples)
    assert found is not None
    assert found.min_rtt_s == pytest.approx([0.050, 0.080])
    assert found.flight == pytest.approx([1500, 500])
    assert found.rate == pytest.approx([7, 7])
    # The 13th second is among the 10 s before bins 12 to 22: 8 bins of the first window
    # (10 to 19) and 3 of the second.
    assert found.least == pytest.approx([(2 * 100 + 8 * 40) / 10, (3 * 40 + 7 * 100) / 10])
    assert found.queue == pytest.approx([(9 * 160 + 100) / 10, 160])


def test_a_window_without_samples_is_not_known() -> None:
    found = bbr_windows(trial_of(30), series_of(30), samples_of([16], [40_000], [934]))
    assert found is not None
    assert found.min_rtt_s[0] == pytest.approx(0.040)
    assert np.isnan(found.min_rtt_s[1])


def test_less_than_20_seconds_have_none() -> None:
    assert bbr_windows(trial_of(19), series_of(19), samples_of([16], [40_000], [934])) is None
