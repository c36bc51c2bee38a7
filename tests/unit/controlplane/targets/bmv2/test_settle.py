"""Departures that the next packet cut short, in a file of raw postcards."""

from pathlib import Path

import numpy as np
from nashbed.controlplane.contract.records import CLOCK_WRAP_NS, POSTCARD
from nashbed.controlplane.targets.bmv2.switch import settle_departures
from tests.support.postcards import Card, postcards
from tests.support.replay import time_of

SLOT = 1000


def written(path: Path, ends: list[int], dropped: tuple[int, ...] = ()) -> Path:
    """Raw postcards with these departures; some of them are drops."""
    cards = [Card(dequeue_ns=end, dropped=i in dropped) for i, end in enumerate(ends)]
    postcards(cards).tofile(path)
    return path


def settled(path: Path, ends: list[int], dropped: tuple[int, ...] = ()) -> list[int]:
    """Departures afterwards."""
    settle_departures(written(path, ends, dropped), SLOT)
    return list(time_of(np.fromfile(path, POSTCARD), "dequeue"))


def test_a_slot_apart_or_more_is_left_alone(tmp_path: Path) -> None:
    ends = [1000, 2000, 3001, 9000]
    assert settled(tmp_path / "raw", ends) == ends


def test_a_packet_let_go_early_ends_the_one_before_it(tmp_path: Path) -> None:
    # The second was let go at 2400 - 1000: the first was on the link until then.
    assert settled(tmp_path / "raw", [1900, 2400, 3400]) == [1400, 2400, 3400]


def test_each_of_a_crowd_ends_when_the_next_is_let_go(tmp_path: Path) -> None:
    # Let go at 9000, 9001, 9002: the first two were on the link for a nanosecond each.
    assert settled(tmp_path / "raw", [10000, 10001, 10002]) == [9001, 9002, 10002]


def test_drops_are_no_departures(tmp_path: Path) -> None:
    ends = [1900, 1500, 2400]
    assert settled(tmp_path / "raw", ends, dropped=(1,)) == [1400, 1500, 2400]


def test_the_clock_wraps(tmp_path: Path) -> None:
    assert settled(tmp_path / "raw", [100, 400]) == [CLOCK_WRAP_NS - 600, 400]
    assert settled(tmp_path / "raw", [CLOCK_WRAP_NS - 100, 900]) == [CLOCK_WRAP_NS - 100, 900]
    assert settled(tmp_path / "raw", [CLOCK_WRAP_NS - 100, 800]) == [CLOCK_WRAP_NS - 200, 800]


def test_few_records(tmp_path: Path) -> None:
    for ends in ([], [5]):
        assert settled(tmp_path / "raw", ends) == ends
    path = written(tmp_path / "cut", [1900, 2400])
    path.write_bytes(path.read_bytes() + b"half a record")
    assert settle_departures(path, SLOT) == 1
    assert path.read_bytes().endswith(b"half a record")
