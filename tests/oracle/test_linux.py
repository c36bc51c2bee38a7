"""The oracle itself: Linux's code in user space does what the kernel's would, on any release."""

from dataclasses import replace

import numpy as np
import pytest
from nashbed.controlplane.machine.kernels.cache import release_numbers
from tests.oracle.arrivals import PATTERNS, Traffic, arrivals
from tests.oracle.compare import assert_same
from tests.oracle.linux_qdiscs import (
    OPERATIONS,
    Line,
    Qdisc,
    Red,
    codel,
    dualpi2,
    fifo,
    fq_codel,
    need_source,
    pie,
    run,
)
from tests.oracle.source import sources

RATE_BPS = 10_000_000
RED = Red(400_000, 30_000, 90_000, 1000, 55, 0.02, RATE_BPS, ecn=True)
ALL = [
    fifo("bfifo", 60_000),
    codel(ecn=1),
    fq_codel(limit=300),
    RED.qdisc(),
    pie(ecn=1),
    dualpi2(),
]


@pytest.mark.parametrize("qdisc", ALL, ids=lambda qdisc: qdisc.name)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_all_packets_are_sent_or_dropped_and_the_line_is_exact(qdisc: Qdisc, pattern: str) -> None:
    came = arrivals(Traffic(pattern, RATE_BPS, seconds=4, flows=20, sizes="any", ecn="mixed"))
    left = run(qdisc, Line(RATE_BPS), came, need_source(qdisc.name)).outcomes
    sent = np.flatnonzero(left["dropped"] == 0)
    assert 0 < (left["dropped"].sum() + left["marked"].sum()) < len(came)
    assert sorted(left["order"][sent]) == list(range(len(sent)))
    assert np.all(left["decided_ns"] >= came["ns"])
    assert not np.any(left["marked"][np.isin(came["ecn"], [0, 3])])
    sent = sent[np.argsort(left["order"][sent])]
    lasted = left["departure_ns"][sent] - left["decided_ns"][sent]
    exact = came["bytes"][sent] * (8e9 / RATE_BPS)
    assert np.all(np.abs(lasted.astype(float) - exact) < 1)
    assert np.all(left["decided_ns"][sent][1:] >= left["departure_ns"][sent][:-1])


@pytest.mark.parametrize("qdisc", ALL, ids=lambda qdisc: qdisc.name)
def test_releases_agree(qdisc: Qdisc) -> None:
    """What was fetched of several releases decides alike.

    But for CoDel before 6.1: it does not forget, when a queue empties, since when it was above its
    target.
    """
    known = [
        each
        for each in sources()
        if each.has(OPERATIONS[qdisc.name]) and release_numbers(each.release) >= [6, 1]
    ]
    if len(known) < 2:
        pytest.skip("`make qdiscs KERNEL=...` has fetched no second release since 6.1 that has it")
    came = arrivals(Traffic("steps", RATE_BPS, seconds=10, flows=20, sizes="any", ecn="mixed"))
    first, *others = (run(qdisc, Line(RATE_BPS), came, source).outcomes for source in known)
    for other in others:
        assert_same(other, first)


@pytest.mark.parametrize("qdisc", [codel(ecn=1), pie(), dualpi2()], ids=lambda qdisc: qdisc.name)
def test_the_kernels_clock_may_start_at_any_time(qdisc: Qdisc) -> None:
    """The clock of codel, 32 bits of 1024 ns, wraps in the middle of the arrivals."""
    came = arrivals(Traffic("steps", RATE_BPS, seconds=4, ecn="mixed", flows=20))
    source, line = need_source(qdisc.name), Line(RATE_BPS)
    wrapped = run(qdisc, replace(line, epoch_ns=2**42 - 2**31), came, source).outcomes
    assert_same(wrapped, run(qdisc, line, came, source).outcomes)


@pytest.mark.parametrize("qdisc", [fq_codel(flows=0), dualpi2(step_packets=1, step_us=1)])
def test_linux_refuses_what_it_would(qdisc: Qdisc) -> None:
    with pytest.raises(OSError, match="refuses"):
        run(qdisc, Line(RATE_BPS), arrivals(Traffic(seconds=0.01)), need_source(qdisc.name))
