"""What held flows up."""

import numpy as np
import pytest
from nashbed.controlplane.contract.records import DISTURBANCE, FLOW_SAMPLE, PAUSE
from nashbed.controlplane.store.tables import Disturbances
from nashbed.controlplane.validity.hold_ups import (
    DisturbanceEvidence,
    HoldUps,
    QueueingDelay,
    WindowLimits,
)
from tests.fakes.traffic import departed

MS = 10**6
WINDOW = (150 * MS, 350 * MS)


def bins(*begins_ms: int) -> np.ndarray:
    """A bin at each of these times; the n-th has n departures, each n us late, and so on."""
    found = np.zeros(len(begins_ms), DISTURBANCE)
    numbers = np.arange(1, len(begins_ms) + 1)
    found["t_ns"] = np.array(begins_ms) * MS
    found["departures"], found["returns"], found["responses"] = numbers, 10 * numbers, 2 * numbers
    found["late_sum_ns"], found["late_max_ns"] = 1000 * numbers**2, 1000 * numbers
    found["error_sum_ns"], found["error_max_ns"] = 100 * numbers, 70 * numbers
    found["response_sum_ns"], found["response_max_ns"] = 8 * numbers, 5 * numbers
    return found


def pauses(*pairs_ms: tuple[int, int]) -> np.ndarray:
    return np.array([(t * MS, length * MS) for t, length in pairs_ms], PAUSE)


def test_bins_that_overlap_the_window_count_whole() -> None:
    """Bins at 50, 51, 250, 349 and 350 ms: those at 51 (to 151), 250 and 349 ms overlap."""
    found = DisturbanceEvidence(WINDOW)
    found.examine(Disturbances(bins(50, 51, 250, 349, 350), pauses()))
    assert found.departures == HoldUps(2 + 3 + 4, 4000 + 9000 + 16000, 4000)
    assert found.returns == HoldUps(90, 900, 280)
    assert found.returns.mean_ns == 10
    assert found.responses == HoldUps(18, 72, 20)
    assert found.pauses == HoldUps(0, 0, 0)


def test_pauses_that_overlap_the_window_count_whole() -> None:
    found = DisturbanceEvidence(WINDOW)
    in_ms = (100, 50), (149, 2), (200, 7), (349, 30), (350, 900)
    found.examine(Disturbances(bins(), pauses(*in_ms)))
    assert found.pauses == HoldUps(3, 39 * MS, 30 * MS)
    assert found.returns == HoldUps(0, 0, 0)
    assert found.returns.mean_ns == 0


def test_the_mean_queueing_delay_is_that_of_the_windows_packets() -> None:
    """Bins with 1, 3 and no packet inside, and one outside: (4 + 3 x 8) / 4 = 7 ms."""
    delay = QueueingDelay(WINDOW)
    assert delay.mean_ns == 0
    times = np.array([149, 150, 349, 200, 350]) * MS
    delays = np.array([99, 4, 8, np.nan, 99]) * MS
    delay.examine(departed(times, delays, np.array([5, 1, 3, 0, 5], np.uint32)))
    assert delay.mean_ns == 7 * MS


def samples(rows: list[tuple[int, int, int, int]]) -> np.ndarray:
    """Rows of flow, time (ms), time limited by the receive window and by the send buffer (us)."""
    found = np.zeros(len(rows), FLOW_SAMPLE)
    for n, (flow, ms, receive, send) in enumerate(rows):
        found["flow"][n], found["t_ns"][n] = flow, ms * MS
        found["rwnd_limited_us"][n], found["sndbuf_limited_us"][n] = receive, send
    return found


def test_shares_are_of_the_window_alone() -> None:
    limits = WindowLimits(2, (1000 * MS, 3000 * MS))
    # Flow 0 loses 400 ms to the receive window before the window and 100 ms in it, the half of
    # the 200 ms between two samples on either side of its end. Flow 1: 20 ms to its buffer.
    limits.examine(
        samples(
            [
                (0, 0, 0, 0), (1, 0, 0, 0),
                (0, 1000, 400_000, 0), (1, 1000, 0, 1000),
                (0, 2900, 400_000, 0), (1, 2900, 0, 21_000),
                (0, 3100, 600_000, 0), (1, 3100, 0, 21_000),
            ]
        )
    )  # fmt: skip
    assert limits.shares["receive window"].tolist() == pytest.approx([0.05, 0.0])
    assert limits.shares["send buffer"].tolist() == pytest.approx([0.0, 0.01])


def test_a_flow_that_was_not_sampled_for_the_whole_window() -> None:
    limits = WindowLimits(3, (1000 * MS, 3000 * MS))
    # Flow 0 was sampled for 1 s of the window, flow 1 once, flow 2 never.
    limits.examine(
        samples([(0, 500, 0, 0), (0, 1000, 0, 0), (0, 2000, 250_000, 0), (1, 900, 7, 7)])
    )
    assert limits.shares["receive window"].tolist() == pytest.approx([0.25, 0.0, 0.0])
