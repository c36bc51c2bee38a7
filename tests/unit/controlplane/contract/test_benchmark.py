"""A benchmark's bound, from either side, and the table that shows it."""

from __future__ import annotations

import pytest
from nashbed.controlplane.cli.bench_text import benchmarks_text
from nashbed.controlplane.contract.benchmark import Benchmark


@pytest.mark.parametrize(
    ("sense", "wanted", "met"),
    [
        ("at least", 2.0, True),
        ("at least", 2.1, False),
        ("at most", 2.0, True),
        ("at most", 1.9, False),
        ("at most", None, True),
    ],
)
def test_the_median_is_judged(sense: str, wanted: float | None, met: bool) -> None:
    benchmark = Benchmark(name="x", unit="s", values=(9.0, 2.0, 1.0), wanted=wanted, sense=sense)
    assert benchmark.met is met
    told = benchmark.model_dump(mode="json")
    assert (told["low"], told["median"], told["high"]) == (1.0, 2.0, 9.0)
    assert told["met"] is met


def test_the_table() -> None:
    low = Benchmark(name="low_us", unit="us", values=(1234.5,), wanted=1.0, sense="at most")
    free = Benchmark(name="free", unit="s", values=(0.125,), detail="as it comes")
    told = benchmarks_text([low, free]).splitlines()
    assert told[1].split() == ["low_us", *["1,234"] * 3, "1", "at", "most", "1", "missed"]
    assert told[2].split() == ["free", *["0.125"] * 3, "1"]
    assert told[4] == "free: as it comes"
