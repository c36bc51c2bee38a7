"""For how much of a window sockets held flows back."""

from __future__ import annotations

import numpy as np
import pytest
from nashbed.controlplane.contract.records import FLOW_SAMPLE
from nashbed.controlplane.validity.hold_ups import WindowLimits

MS = 10**6


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
    limits.feed(
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
    limits.feed(samples([(0, 500, 0, 0), (0, 1000, 0, 0), (0, 2000, 250_000, 0), (1, 900, 7, 7)]))
    assert limits.shares["receive window"].tolist() == pytest.approx([0.25, 0.0, 0.0])
