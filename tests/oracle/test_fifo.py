"""Drop-tail against Linux's bfifo and pfifo: each packet's fate and departure, exactly."""

import numpy as np
import pytest
from tests.oracle.arrivals import PATTERNS, Traffic, arrivals, recorded
from tests.oracle.compare import assert_same
from tests.oracle.linux_qdiscs import Line, fifo, need_source, run
from tests.oracle.ours import Ours, play

UNITS = {"bfifo": ("bytes", 30_000), "pfifo": ("packets", 20)}


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("rate_bps", [10_000_000, 99_999_989])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_queue_that_counts_what_waits_is_linuxs(name: str, rate_bps: int, pattern: str) -> None:
    unit, limit = UNITS[name]
    came = arrivals(Traffic(pattern, rate_bps, seconds=2, sizes="any"))
    line = Line(rate_bps, overhead=24)
    theirs = run(fifo(name, limit), line, came, need_source(name)).outcomes
    ours = play(Ours(limit, unit), line, came)
    assert theirs["dropped"].sum() > 20
    assert_same(ours, theirs)


@pytest.mark.parametrize("rate_bps", [30_000_000, 45_000_000])
def test_recorded_arrivals(rate_bps: int) -> None:
    line, came = Line(rate_bps), recorded()
    theirs = run(fifo("bfifo", 90_000), line, came, need_source("bfifo")).outcomes
    assert theirs["dropped"].sum() > 100
    assert_same(play(Ours(90_000), line, came), theirs)


def test_what_is_being_sent_is_all_that_sets_system_apart() -> None:
    """With full-sized packets a limit of n packets, the one being sent included, is Linux's n - 1.

    Except at the start of a busy period: there the first packet comes to an idle line.
    """
    line = Line(100_000_000)
    came = arrivals(Traffic("bursts", seconds=2))
    theirs = run(fifo("pfifo", 20), line, came, need_source("pfifo")).outcomes
    assert_same(play(Ours(21, "packets", "system"), line, came), theirs)
    fewer = play(Ours(20, "packets", "system"), line, came)
    assert fewer["dropped"].sum() > theirs["dropped"].sum()
    assert np.all(theirs["departure_ns"][theirs["dropped"] == 0] > 0)
