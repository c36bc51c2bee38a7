"""What must hold of any discipline: a queue that keeps it, and queues that do not."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.machine.c_files.aqm_check import LOADS, PACKETS, arrivals_of
from nashbed.controlplane.machine.c_files.aqm_judging import Arrival, Fate, Passage, problems_of

RATE_BPS = 8 * 10**9
"""One byte in a nanosecond."""
ARRIVALS = [
    Arrival(0, 0, 500, 0),
    Arrival(100, 1, 500, 2),
    Arrival(200, 0, 500, 0),
    Arrival(5000, 0, 100, 0),
]
GOOD = [
    Fate(0, 500, True, False),
    Fate(1, 1000, True, True),
    Fate(2, 1500, True, False),
    Fate(3, 5100, True, False),
]


def judged(fates: list[Fate], limit: int = 1500) -> dict[str, str]:
    return problems_of(Passage(ARRIVALS, fates, RATE_BPS, limit))


def test_a_good_queue() -> None:
    assert judged(GOOD) == {}


def test_one_that_drops_in_its_queue() -> None:
    """The second packet waits, and is dropped when its turn comes."""
    dropped = Fate(1, 500, False, False)
    assert judged([GOOD[0], dropped, replace(GOOD[2], ns=1000), GOOD[3]]) == {}


@pytest.mark.parametrize(
    ("fates", "limit", "check", "said"),
    [
        (GOOD[:3], 1500, "conservation", "1 packets never came out"),
        ([*GOOD, GOOD[3]], 1500, "conservation", "1 packets came out more than once"),
        (
            [Fate(2, 500, True, False), Fate(0, 1000, True, False), Fate(1, 1500, True, False),
             GOOD[3]],
            1500, "order", "1 packets overtook their own flow's",
        ),
        ([GOOD[1], GOOD[0], *GOOD[2:]], 1500, "order", "1 times went back"),
        (GOOD, 1499, "limit", "1500 B in a queue of 1499 B"),
        (
            [*GOOD[:2], replace(GOOD[2], ns=1700), GOOD[3]], 1500, "work-conserving",
            "1 times the line was idle with a packet in the queue, or faster than its rate",
        ),
        (
            [*GOOD[:2], replace(GOOD[2], ns=1400), GOOD[3]], 1500, "work-conserving",
            "1 times the line was idle with a packet in the queue, or faster than its rate",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong(fates: list[Fate], limit: int, check: str, said: str) -> None:
    assert judged(fates, limit)[check] == said


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 3), st.integers(60, 1514)), max_size=60)
)
def test_drop_tail_keeps_everything(rows: list[tuple[int, int, int]]) -> None:
    """A plain model of it, whatever arrives."""
    limit, now, free, queue = 5000, 0, 0, []
    arrivals, fates = [], []
    for number, (gap, flow, size) in enumerate(rows):
        now += gap
        queue = [each for each in queue if each[0] > now]
        arrivals.append(Arrival(now, flow, size, 0))
        if sum(held for _, held in queue) + size > limit:
            fates.append(Fate(number, now, False, False))
            continue
        free = max(now, free) + size
        queue.append((free, size))
        fates.append(Fate(number, free, True, False))
    fates.sort(key=lambda each: each.ns)
    assert problems_of(Passage(arrivals, fates, RATE_BPS, limit)) == {}


@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.name)
def test_loads_are_what_they_are_called(load) -> None:
    arrivals = list(arrivals_of(load, 1))
    assert arrivals == list(arrivals_of(load, 1))
    assert arrivals != list(arrivals_of(load, 2))
    assert len(arrivals) == PACKETS
    offered = sum(each.bytes for each in arrivals) * 8e9 / arrivals[-1].ns
    assert offered / 10**7 == pytest.approx(load.share, rel=0.15)
    assert sum(each.ecn > 0 for each in arrivals) / PACKETS == pytest.approx(load.ecn, abs=0.05)
