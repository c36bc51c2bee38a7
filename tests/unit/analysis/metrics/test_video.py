"""Metrics of video against cases computed by hand."""

import math

import numpy as np
import pytest
from nashbed.analysis.align.data import Segments, TrialData
from nashbed.analysis.metrics import METRICS
from nashbed.analysis.metrics.video import mean_bitrate, stalled_share

S = 1_000_000_000
NEVER = math.nan


def times(*seconds: float) -> np.ndarray:
    return np.array(seconds) * S


def test_the_mean_is_of_segments_that_arrived() -> None:
    assert mean_bitrate(np.array([1e6, 2e6, 8e6]), times(1, 2, NEVER)) == 1.5e6
    assert math.isnan(mean_bitrate(np.array([1e6]), times(NEVER)))


@pytest.mark.parametrize(
    ("completed", "buffer", "window", "share"),
    [
        # 4 s at 1 s are played until 5 s; the next comes at 7 s: 2 s of the 9 s from 1 s on.
        ((1, 7), (4, 4), (0, 10), 2 / 9),
        # In the window of 6 s on: 1 s of 4 s.
        ((1, 7), (4, 4), (6, 10), 1 / 4),
        # The second never came: from 5 s until 10 s, 5 s of 9 s.
        ((1, NEVER), (4, NEVER), (0, 10), 5 / 9),
        # In time: 4 s at 1 s, 7 s at 2 s, played until 9 s.
        ((1, 2), (4, 7), (0, 9), 0.0),
        ((1, 2), (4, 7), (0, 10), 1 / 9),
    ],
)
def test_the_picture_stands_while_the_buffer_is_empty(
    completed: tuple[float, ...],
    buffer: tuple[float, ...],
    window: tuple[int, int],
    share: float,
) -> None:
    low, high = window
    found = stalled_share(times(*completed), times(*buffer), (low * S, high * S))
    assert found == pytest.approx(share)


def test_without_a_first_segment_there_is_no_share() -> None:
    assert math.isnan(stalled_share(times(NEVER), times(NEVER), (0, S)))
    assert math.isnan(stalled_share(times(2), times(4), (0, S)))


def test_of_a_trial() -> None:
    segments = Segments(
        flow=np.array([1, 1, 1, 1]),
        bitrate_bps=np.array([1e6, 1e6, 2e6, 4e6]),
        requested_ns=times(0, 1, 3, 8).astype(np.int64),
        completed_ns=times(1, 2.5, 7, NEVER),
        buffer_ns=times(4, 6.5, 6, NEVER),
    )
    trial = TrialData(
        window_ns=(1 * S, 7 * S), spans_ns=None, rate_bps=1, buffer_bytes=1, overhead_bytes=0,
        strategy=("cubic", "cubic"), group=np.array([0, 1]), base_rtt_ns=np.array([1, 1]),
        goodput=None, queue=None, samples=None, segments=segments,
    )  # fmt: skip
    expected = {
        "video_bitrate": 1.5e6,  # asked for at 1 s and 3 s
        "bitrate_switches": 10,  # one in 6 s
        "rebuffering_share": 0.0,  # 6.5 s at 2.5 s last until 9 s
        "video_startup": 1.0,
    }
    for name, value in expected.items():
        bulk, video = np.asarray(METRICS[name].compute(trial)).tolist()
        assert math.isnan(bulk)
        assert video == pytest.approx(value)
