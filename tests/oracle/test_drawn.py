"""RED, PIE and DualPI2 against Linux's: with the same draws by packet, else by their means."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracle.arrivals import ECT_0, PATTERNS, Traffic, arrivals, recorded
from tests.oracle.compare import assert_same, means
from tests.oracle.linux_qdiscs import Line, Red, dualpi2, need_source, pie, run
from tests.oracle.ours import Ours, play

Both = Callable[[Line, NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]
"""Ours and Linux's, with the same options."""

RATES = [10_000_000, 100_000_000]
FEW = 50
"""Drops or marks, of which a mean says little."""
HALF_SECOND_NS = 500_000_000
NO_LIMIT = 4_000_000
"""Bytes: drops are RED's own."""


def both_reds(ecn: bool = False, **options: Any) -> Both:
    """RED of 30 to 90 kB."""

    def both(line: Line, came: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        red = Red(NO_LIMIT, 30_000, 90_000, 1000, 55, 0.02, line.rate_bps, ecn=ecn, **options)
        left = run(red.qdisc(), line, came, need_source("red")).outcomes
        params = {
            "min": red.low,
            "max": red.high,
            "avpkt": red.average,
            "burst": red.burst,
            "probability": red.probability,
            "ecn": red.ecn,
            "harddrop": red.harddrop,
        }
        return play(Ours(NO_LIMIT, name="red", params=params), line, came), left

    return both


def both_pies(limit: int = 1000, **options: int) -> Both:
    """PIE with tc's options.

    Linux's first update is 500 ms after it was made, ours a period after the first arrival: here
    that is at 500 ms.
    """

    def both(line: Line, came: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        later = came.copy()
        later["ns"] += np.uint64(HALF_SECOND_NS) - came["ns"][0]
        left = run(pie(limit=limit, **options), line, later, need_source("pie")).outcomes
        in_us = ("target", "tupdate")
        params = {name: value * 1000 if name in in_us else value for name, value in options.items()}
        mine = play(Ours(limit, "packets", name="pie", params=params), line, later)
        for side in (mine, left):
            side["departure_ns"] -= later["ns"][0] - came["ns"][0]
        return mine, left

    return both


def both_dualpi2s(limit: int = 10_000) -> Both:
    """DualPI2 with its defaults."""

    def both(line: Line, came: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        left = run(dualpi2(limit=limit), line, came, need_source("dualpi2")).outcomes
        return play(Ours(limit, "packets", name="dualpi2"), line, came), left

    return both


SIDES = {
    "red": both_reds(),
    "red ecn": both_reds(ecn=True),
    "red ecn harddrop": both_reds(ecn=True, harddrop=True),
    "pie": both_pies(),
    "pie ecn": both_pies(ecn=1),
    "pie bytemode": both_pies(bytemode=1),
    "pie target 5ms tupdate 20ms": both_pies(target=5000, tupdate=20_000),
    "dualpi2": both_dualpi2s(),
}


@pytest.mark.parametrize("rate_bps", RATES)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("sides", SIDES)
def test_with_the_same_draws_each_packet_is_the_same(
    sides: str, pattern: str, rate_bps: int
) -> None:
    seconds = 4 if rate_bps < 5e7 else 2
    traffic = Traffic(pattern, rate_bps, seconds, flows=8, sizes="any", ecn="mixed")
    ours, theirs = SIDES[sides](Line(rate_bps, seed=7), arrivals(traffic))
    assert (theirs["dropped"] | theirs["marked"]).sum() > 10
    assert_same(ours, theirs)


def test_red_drops_on_an_idle_line() -> None:
    """A drop with nothing to send begins another idle time: the average goes on to decay."""
    rate_bps, seed = 10_000_000, 461071
    came = arrivals(Traffic("ties", rate_bps, 3.3, seed=seed))
    red = Red(NO_LIMIT, 10_000, 20_000, 500, 76, 0.001, rate_bps)
    params = {"min": 10_000, "max": 20_000, "avpkt": 500, "burst": 76, "probability": 0.001}
    line = Line(rate_bps, seed=seed)
    theirs = run(red.qdisc(), line, came, need_source("red")).outcomes
    sent = theirs[theirs["dropped"] == 0]
    sent = sent[np.argsort(sent["decided_ns"])]
    drops = came["ns"][theirs["dropped"] == 1]
    last = np.searchsorted(sent["decided_ns"], drops, side="right") - 1
    assert (sent["departure_ns"][last] <= drops).sum() > 5  # on an idle line
    assert_same(play(Ours(NO_LIMIT, name="red", params=params), line, came), theirs)


@pytest.mark.parametrize("sides", SIDES)
def test_with_other_draws_the_means_are_the_same(sides: str) -> None:
    """Over seeds; differences of 2.5 % in drops or delay would be seen, of 15 % in marks."""
    rate_bps = 10_000_000
    came = arrivals(Traffic("steps", rate_bps, 4, flows=8, sizes="any", ecn="mixed"))
    line = Line(rate_bps)
    mine = [SIDES[sides](replace(line, seed=seed), came)[0] for seed in range(1, 41)]
    theirs = [SIDES[sides](replace(line, seed=seed), came)[1] for seed in range(101, 141)]
    for measure, seen in ((drops, 0.025), (marks, 0.15), (delay, 0.025)):
        values = [[measure(came, left) for left in side] for side in (mine, theirs)]
        if np.mean(values) < FEW:
            continue
        compared = means(*values)
        assert compared.errors_apart < 4, (measure.__name__, compared)
        assert compared.detectable < seen, (measure.__name__, compared)


def drops(came: NDArray[Any], left: NDArray[Any]) -> float:
    return float(left["dropped"].sum())


def marks(came: NDArray[Any], left: NDArray[Any]) -> float:
    return float(left["marked"].sum())


def delay(came: NDArray[Any], left: NDArray[Any]) -> float:
    sent = left["dropped"] == 0
    return float((left["departure_ns"][sent] - came["ns"][sent]).mean())


@pytest.mark.parametrize("sides", SIDES)
def test_recorded_arrivals(sides: str) -> None:
    ours, theirs = SIDES[sides](Line(45_000_000, seed=3), recorded(ECT_0))
    assert_same(ours, theirs)
