"""A benchmark's bound, from either side, and the table that shows it."""

import pytest
from nashbed.controlplane.cli.bench_text import benchmarks_text
from nashbed.controlplane.contract.benchmark import Benchmark, Yardstick


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


TCP = Yardstick(name="kernel TCP", unit="Gbit/s per core", values=(9.0, 11.0, 10.0))


@pytest.mark.parametrize(("unit", "ratio"), [("Gbit/s", 0.4), ("ms", 40.0)])
def test_the_ratio_is_to_the_yardsticks_mean(unit: str, ratio: float) -> None:
    """A machine of twice the speed has twice the rate and half of the time: the same ratio."""
    benchmark = Benchmark(name="x", unit=unit, values=(4.0, 5.0, 3.0), yardstick=TCP)
    assert benchmark.ratio == ratio
    told = benchmark.model_dump(mode="json")
    assert told["ratio"] == ratio
    assert told["yardstick"]["values"] == [9.0, 11.0, 10.0]
    assert Benchmark.model_validate(told) == benchmark


@pytest.mark.parametrize(
    ("stick", "wanted", "ratio", "met"),
    [
        (TCP, None, 0.4, True),
        (TCP, None, 0.41, False),
        (TCP, 4.1, 0.4, False),
        (None, 4.0, 0.5, True),
        (Yardstick(name="kernel TCP", unit="Gbit/s per core", missing="root"), None, 0.5, True),
    ],
)
def test_a_ratio_is_judged_where_it_is_known(
    stick: Yardstick | None, wanted: float | None, ratio: float, met: bool
) -> None:
    benchmark = Benchmark(
        name="x", unit="Gbit/s", values=(4.0,), wanted=wanted, wanted_ratio=ratio, yardstick=stick
    )
    assert benchmark.met is met


def test_what_was_measured_before_there_were_yardsticks() -> None:
    old = {"name": "x", "unit": "Gbit/s", "values": [4.0], "wanted": None, "sense": "at least"}
    old |= {"detail": "", "data": {}, "median": 4.0, "low": 4.0, "high": 4.0, "met": True}
    assert Benchmark.model_validate(old) == Benchmark(name="x", unit="Gbit/s", values=(4.0,))
    assert Benchmark.model_validate(old).ratio is None


def test_the_table_has_the_ratio() -> None:
    met = Benchmark(
        name="met", unit="Gbit/s", values=(6.0,), wanted=5.0, wanted_ratio=0.5, yardstick=TCP
    )
    unknown = Benchmark(
        name="unknown",
        unit="Gbit/s",
        values=(6.0,),
        wanted_ratio=0.5,
        yardstick=Yardstick(name="kernel TCP", unit="Gbit/s per core", missing="needs root"),
    )
    told = benchmarks_text([met, unknown]).splitlines()
    assert told[1].split() == [
        *("met", "6", "6", "6", "1", "0.6", "at", "least", "5,", "ratio", "0.5", "met"),
    ]
    assert told[2].split() == ["unknown", "6", "6", "6", "1"]
    assert told[3:] == [
        "met: ; yardstick: kernel TCP, 10 (9 to 11) Gbit/s per core",
        "unknown: ; yardstick: kernel TCP, missing: needs root",
    ]
