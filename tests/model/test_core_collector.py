"""The collector: what it keeps, and what it notices."""

import errno
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.contract.records import BIN, POSTCARD
from tests.model.core import CollectorConfig, CollectorStats, collect
from tests.support.postcards import Card, postcards

WRAP = 2**32
FULL = Path("/dev/full")
"""Every write to it fails with ENOSPC."""


def numbered(numbers: list[int]) -> list[Card]:
    return [Card(lane_seq=number % WRAP, enqueue_ns=i) for i, number in enumerate(numbers)]


def test_all_are_written_as_they_are(tmp_path: Path) -> None:
    noise = np.frombuffer(np.random.default_rng(1).bytes(40 * 1000), POSTCARD).copy()
    noise["version"], noise["lane_seq"] = 1, np.arange(1000)
    stats = collect(tmp_path / "cards", CollectorConfig(), noise)
    assert stats == CollectorStats(seen=1000, written=1000, gaps=0, error=0)
    assert (tmp_path / "cards").read_bytes() == noise.tobytes()


@given(st.integers(0, WRAP - 1), st.lists(st.integers(0, 5), min_size=1, max_size=50))
def test_gaps_are_counted_over_the_wrap(first: int, missing: list[int]) -> None:
    numbers = list(first + np.cumsum([n + 1 for n in missing]))
    stats = collect(Path("/dev/null"), CollectorConfig(), postcards(numbered(numbers)))
    assert stats.gaps == sum(missing[1:])  # what came before the first is not known
    assert stats.seen == len(missing)


def test_gaps_are_counted_whatever_is_kept(tmp_path: Path) -> None:
    cards = postcards(numbered([0, 1, 5, 6, 10]))
    config = CollectorConfig(mode="bins", bin_ns=1000, n_flows=1)
    assert collect(tmp_path / "bins", config, cards).gaps == 6


def test_bins_are_written(tmp_path: Path) -> None:
    cards = [Card(5, 100, 0, 1500, lane_seq=0), Card(6, 200, 100, 2500, lane_seq=1)]
    config = CollectorConfig(mode="bins", bin_ns=1000, first_flow=5, n_flows=2)
    stats = collect(tmp_path / "bins", config, postcards(cards))
    records = np.fromfile(tmp_path / "bins", BIN)
    assert stats == CollectorStats(seen=2, written=5, gaps=0, error=0)
    assert [(r["bin"], r["flow"]) for r in records] == [(0, 5), (0, 6), (1, 5), (1, 6), (2, 6)]
    occupancy = [100 * 1000, 200 * 900, 100 * 500, 200 * 1000, 200 * 500]
    assert list(records["occupancy_byte_ns"]) == occupancy


def test_a_flow_outside_the_bins_is_an_error(tmp_path: Path) -> None:
    config = CollectorConfig(mode="bins", bin_ns=1000, first_flow=5, n_flows=2)
    stats = collect(tmp_path / "bins", config, postcards([Card(7)]))
    assert stats.error == errno.ERANGE


@pytest.mark.parametrize("n", [1, 100_000], ids=["at-the-close", "on-the-way"])
def test_a_full_disk_is_told(n: int) -> None:
    stats = collect(FULL, CollectorConfig(), np.zeros(n, POSTCARD))
    assert stats.error == errno.ENOSPC
    assert stats.seen == n


def test_a_full_disk_is_told_of_bins() -> None:
    config = CollectorConfig(mode="bins", bin_ns=1000, n_flows=1)
    assert collect(FULL, config, postcards([Card()])).error == errno.ENOSPC


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="collector_open") as raised:
        collect(tmp_path / "missing" / "cards", CollectorConfig(), postcards([]))
    assert raised.value.errno == errno.ENOENT
