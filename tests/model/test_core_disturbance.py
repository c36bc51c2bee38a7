"""What held frames up, by bins of 100 ms, and the loop's pauses."""

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.contract.shared import CONSTANTS
from tests.model.core import Disturbance

BIN = CONSTANTS.disturbance_bin_ns
EPOCH = 5_000_000_007

NOTES = st.lists(
    st.tuples(
        st.sampled_from(["departed", "returned", "answered"]),
        st.integers(0, 3 * BIN),
        st.integers(0, 2**40),
    ),
    max_size=400,
)
PREFIXES = {
    "departed": ("departures", "late"),
    "returned": ("returns", "error"),
    "answered": ("responses", "response"),
}


@pytest.mark.slow
@given(NOTES)
def test_counts_sums_and_maxima_of_every_bin(notes: list[tuple[str, int, int]]) -> None:
    disturbance = Disturbance(EPOCH)
    expected: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    now_ns = 0
    for what, step_ns, ns in notes:
        now_ns += step_ns
        getattr(disturbance, what)(now_ns, ns)
        expected[now_ns // BIN][what].append(ns)
    with TemporaryDirectory() as folder:
        bins, _ = disturbance.records(Path(folder))
    assert list(bins["t_ns"]) == [EPOCH + number * BIN for number in sorted(expected)]
    for record, number in zip(bins, sorted(expected), strict=True):
        for what, (count, prefix) in PREFIXES.items():
            seen = expected[number][what]
            assert record[count] == len(seen)
            assert record[f"{prefix}_sum_ns"] == sum(seen)
            assert record[f"{prefix}_max_ns"] == max(seen, default=0)


def test_an_arrival_from_before_the_open_bin_counts_in_it(tmp_path: Path) -> None:
    disturbance = Disturbance(0)
    disturbance.departed(BIN + 5, 0)
    disturbance.answered(BIN - 5, 77)
    bins, _ = disturbance.records(tmp_path)
    assert [(record["t_ns"], record["response_max_ns"]) for record in bins] == [(BIN, 77)]


def test_thousands_of_pauses_in_their_order(tmp_path: Path) -> None:
    disturbance = Disturbance(EPOCH)
    for i in range(5000):
        disturbance.paused(1000 * i, 500_000 + i)
    _, pauses = disturbance.records(tmp_path)
    assert list(pauses["t_ns"]) == [EPOCH + 1000 * i for i in range(5000)]
    assert list(pauses["length_ns"]) == [500_000 + i for i in range(5000)]
