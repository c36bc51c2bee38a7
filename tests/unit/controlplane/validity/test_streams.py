"""Copies that came too soon to be needed, and copies of what was lost."""

import numpy as np
import pytest
from nashbed.controlplane.validity import streams as module
from nashbed.controlplane.validity.streams import Repeats

MS = 10**6
ROUND_TRIP_NS = 20 * MS


def repeats_of(rows: list[tuple[int, int, int]], batch: int) -> Repeats:
    """Rows of where a segment begins, when it came and when it left (ms)."""
    found = Repeats(ROUND_TRIP_NS)
    for at in range(0, len(rows), batch):
        begin, arrived, left = np.array(rows[at : at + batch], np.int64).T
        found.feed(begin, arrived * MS, left * MS)
    return found


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_when_the_next_copy_comes_tells_why(batch: int) -> None:
    rows = [
        (0, 0, 10),
        (1000, 1, 11),
        (2000, 2, 12),
        (1000, 31, 40),  # 20 ms after the first copy had left: it may be without need
        (0, 32, 41),  # 22 ms after: its loss was noticed
        (1000, 61, 70),  # 21 ms after the second copy
        (3000, 62, 71),
    ]
    found = repeats_of(rows, batch)
    assert (found.packets, found.late, found.longest_ns) == (3, 2, 22 * MS)


def test_only_so_many_departures_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED", 2)
    rows = [(0, 0, 1), (1000, 1, 2), (2000, 2, 3), (1000, 3, 4), (0, 4, 5)]
    found = repeats_of(rows, 1)
    assert (found.packets, found.late) == (1, 0)


def test_nothing_sent_twice() -> None:
    found = repeats_of([(0, 0, 1), (1000, 1, 2)], 1)
    assert (found.packets, found.late, found.longest_ns) == (0, 0, 0)
