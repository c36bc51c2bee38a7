"""Departures of a Tofino's postcards, moved to the ends of the packets."""

from pathlib import Path

import numpy as np
from nashbed.controlplane.contract.records import CLOCK_WRAP_NS, POSTCARD
from nashbed.controlplane.contract.target import Applied, Limit
from nashbed.controlplane.targets.tofino.times import add_serialisation
from tests.support.postcards import Card, postcards
from tests.support.replay import time_of

# At 80 Mbit/s a byte takes 100 ns; 50 bytes are counted beside each frame.
APPLIED = Applied(
    rate_bps=80_000_000,
    limit=Limit(unit="cells", value=100, cell_bytes=80),
    buffer_bytes=7570,
    overhead_bytes=50,
)


def moved(path: Path, cards: list[Card]) -> list[int]:
    postcards(cards).tofile(path)
    add_serialisation(path, APPLIED)
    return list(time_of(np.fromfile(path, POSTCARD), "dequeue"))


def test_each_packet_takes_its_own_time(tmp_path: Path) -> None:
    cards = [Card(dequeue_ns=0, size=1450), Card(dequeue_ns=150_000, size=50)]
    assert moved(tmp_path / "raw", cards) == [150_000, 160_000]


def test_drops_do_not_move(tmp_path: Path) -> None:
    cards = [Card(dequeue_ns=7, dropped=True, size=1450), Card(dequeue_ns=9, dropped=True)]
    assert moved(tmp_path / "raw", cards) == [7, 9]


def test_order_is_kept_in_a_burst(tmp_path: Path) -> None:
    cards = [Card(dequeue_ns=0, size=1450), Card(dequeue_ns=500, size=50)]
    assert moved(tmp_path / "raw", cards) == [150_000, 150_000]


def test_the_clock_wraps(tmp_path: Path) -> None:
    cards = [Card(dequeue_ns=CLOCK_WRAP_NS - 100_000, size=1450), Card(dequeue_ns=50_000, size=950)]
    assert moved(tmp_path / "raw", cards) == [50_000, 150_000]


def test_an_empty_file_and_one_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "raw"
    path.write_bytes(b"")
    add_serialisation(path, APPLIED)
    assert path.read_bytes() == b""
    path.write_bytes(postcards([Card(dequeue_ns=0, size=1450)]).tobytes() + b"rest")
    add_serialisation(path, APPLIED)
    assert path.read_bytes().endswith(b"rest")
