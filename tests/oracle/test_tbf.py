"""A shaper against Linux's tbf in front of a device that takes no time.

Linux has tokens in whole nanoseconds: where a byte takes one or several, both are equal to the
packet. At other rates it rounds each packet's time down.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracle.arrivals import PATTERNS, Traffic, arrivals, recorded
from tests.oracle.compare import assert_same
from tests.oracle.linux_qdiscs import Line, Qdisc, codel, fq_codel, need_source, run, tbf
from tests.oracle.ours import Ours, play

NO_TIME_BPS = 10**18
RATES = [10_000_000, 100_000_000]
BUCKETS = {
    "one packet": (1514, 0, 0),
    "32 kB": (32_000, 0, 0),
    "1 MB": (10**6, 0, 0),
    "peak": (32_000, 4, 1514),
    "peak of two packets": (90_000, 2, 3028),
}
"""Burst in bytes, peak rate as a multiple of the rate (0: none), mtu in bytes."""
LIMIT = 60_000


def both(
    rate_bps: int,
    buckets: tuple[int, int, int],
    came: NDArray[Any],
    ours: Ours,
    inner: Qdisc | None = None,
    overhead: int = 0,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Ours and Linux's, whose buckets hold the overhead of one packet more than they are told."""
    burst, times, mtu = buckets
    sizes = (burst - overhead, ours.limit, times * rate_bps, mtu - overhead)
    qdisc = tbf(rate_bps, *sizes, overhead, inner)
    theirs = run(qdisc, Line(NO_TIME_BPS), came, need_source("tbf")).outcomes
    mine = replace(ours, shaper=(burst, times * rate_bps, mtu))
    return play(mine, Line(rate_bps, overhead), came), theirs


@pytest.mark.parametrize("rate_bps", RATES)
@pytest.mark.parametrize("buckets", BUCKETS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_packet(pattern: str, buckets: str, rate_bps: int) -> None:
    came = arrivals(Traffic(pattern, rate_bps, seconds=2e7 / rate_bps, sizes="any"))
    ours, theirs = both(rate_bps, BUCKETS[buckets], came, Ours(LIMIT))
    assert_same(ours, theirs)


@pytest.mark.parametrize("rate_bps", RATES)
def test_a_burst_changes_what_is_dropped(rate_bps: int) -> None:
    came = arrivals(Traffic("bursts", rate_bps, seconds=2e8 / rate_bps))
    drops = [
        both(rate_bps, BUCKETS[name], came, Ours(LIMIT))[1]["dropped"].sum()
        for name in ("one packet", "32 kB", "1 MB")
    ]
    assert drops[0] > 1.05 * drops[1] > 1.5 * drops[2] > 0


@pytest.mark.parametrize("rate_bps", [25_000_000, 50_000_000])
@pytest.mark.parametrize("buckets", BUCKETS)
def test_recorded_arrivals_with_overhead(rate_bps: int, buckets: str) -> None:
    burst, times, mtu = BUCKETS[buckets]
    room = (max(burst, 1538), times, mtu and mtu + 24)
    ours, theirs = both(rate_bps, room, recorded(), Ours(LIMIT), overhead=24)
    assert theirs["dropped"].sum() > 100
    assert_same(ours, theirs)


INNER = {
    "codel": (codel(ecn=1), Ours(1000, "packets", name="codel", params={"ecn": 1})),
    "fq_codel": (fq_codel(limit=200), Ours(200, "packets", name="fq_codel")),
}


@pytest.mark.parametrize("rate_bps", RATES)
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_discipline_in_front_of_the_bucket(inner: str, pattern: str, rate_bps: int) -> None:
    """It is asked for the next packet when the last one leaves, and that one then waits."""
    traffic = Traffic(pattern, rate_bps, 6e7 / rate_bps, flows=1, sizes="any", ecn="mixed")
    qdisc, ours = INNER[inner]
    mine, theirs = both(rate_bps, (32_000, 0, 0), arrivals(traffic), ours, qdisc)
    assert_same(mine, theirs)


def test_what_no_bucket_holds_is_dropped() -> None:
    came = arrivals(Traffic("poisson", RATES[0], seconds=2, sizes="mixed"))
    ours, theirs = both(RATES[0], (1000, 0, 0), came, Ours(LIMIT))
    assert theirs["dropped"][came["bytes"] > 1000].all()
    assert_same(ours, theirs)


@pytest.mark.parametrize("pattern", ["bursts", "cbr"])
def test_where_linux_rounds(pattern: str) -> None:
    """It is ahead by less than a nanosecond for each packet since the bucket was full."""
    rate_bps = 99_999_984
    came = arrivals(Traffic(pattern, rate_bps, seconds=0.2, sizes="any"))
    ours, theirs = both(rate_bps, (32_000, 0, 0), came, Ours(10**9))
    assert not (ours["dropped"] | theirs["dropped"]).any()
    ahead = ours["departure_ns"].astype(np.int64) - theirs["departure_ns"].astype(np.int64)
    assert ahead.min() >= 0
    assert np.all(ahead <= np.arange(1, len(came) + 1))
    assert ahead.max() > 10
