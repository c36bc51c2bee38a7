"""Our DualPI2 against the plain one, packet by packet, and what RFC 9332 promises of it."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.controlplane.machine.c_files.aqm_judging import Arrival, Fate, Passage, problems_of
from nashbed.controlplane.machine.c_files.aqm_tool import pass_through
from nashbed.controlplane.machine.paths import AQM_TOOL
from tests.model.dualpi2 import MS, DualPi2, Packet

pytestmark = pytest.mark.skipif(not AQM_TOOL.is_file(), reason="needs nashbed-aqm: `make build`")
RATE_BPS, LIMIT = 8 * 10**7, 10**7
"""Ten bytes in a microsecond: a byte takes a whole number of nanoseconds."""
NS_PER_BYTE = 100
NOT_ECT, ECT1, ECT0, CE = range(4)


def ours(arrivals: list[Arrival], seed: int) -> list[Fate]:
    lines = "".join(f"{a.ns} {a.flow} {a.bytes} {a.ecn}\n" for a in arrivals)
    limit = {"unit": "bytes", "value": LIMIT}
    own = {"name": "dualpi2", "seed": seed}
    rows = pass_through("", {"rate_bps": RATE_BPS, "limit": limit, "discipline": own}, lines)
    return [Fate(number, ns, bool(left), bool(mark)) for number, ns, left, mark, _ in rows]


def plain(arrivals: list[Arrival], seed: int) -> list[Fate]:
    """A line that asks the plain discipline when it is free; nothing is ever too much."""
    queue, fates = DualPi2(seed), []
    sent, free = None, 0

    def serve(now: int) -> None:
        nonlocal sent, free
        sent, free = queue.dequeue(now), now
        fates.extend(Fate(each.number, now, False, False) for each in queue.dropped)
        queue.dropped.clear()
        if sent is not None:
            free = now + sent.bytes * NS_PER_BYTE

    def until(now: int) -> None:
        nonlocal sent
        while sent is not None and free <= now:
            fates.append(Fate(sent.number, free, True, sent.marked))
            serve(free)

    for number, each in enumerate(arrivals):
        until(each.ns)
        queue.enqueue(Packet(number, each.ns, each.bytes, each.ecn))
        if sent is None:
            serve(max(free, each.ns))
    until(2**63)
    return fates


def load(share: float, scalable: float, count: int, seed: int) -> list[Arrival]:
    """Packets at random times, some of them of the scalable queue."""
    draw = random.Random(seed)
    now, arrivals = 10**12 + 7, []
    for _ in range(count):
        now += int(draw.expovariate(share / (1514 * NS_PER_BYTE)))
        ecn = ECT1 if draw.random() < scalable else draw.choice([NOT_ECT, ECT0])
        arrivals.append(Arrival(now, draw.randrange(4), 1514, ecn))
    return arrivals


ROWS = st.lists(
    st.tuples(st.integers(0, 2 * MS), st.integers(60, 1514), st.sampled_from([0, 1, 2, 3])),
    min_size=1, max_size=200,
)  # fmt: skip


@given(ROWS, st.integers(0, 2**63 - 1))
@settings(max_examples=25, deadline=None)
def test_it_is_the_plain_one(rows: list[tuple[int, int, int]], seed: int) -> None:
    now, arrivals = 0, []
    for gap, size, ecn in rows:
        now += gap
        arrivals.append(Arrival(now, ecn, size, ecn))
    assert ours(arrivals, seed) == plain(arrivals, seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "scalable"), [(0.9, 0.5), (1.3, 0.0), (1.3, 1.0), (2.0, 0.5), (2.0, 1.0)]
)
def test_under_load(share: float, scalable: float) -> None:
    """Half a second, overloaded for most of it: the controller, the coupling, and overload."""
    arrivals = load(share, scalable, 3000, 5)
    found = ours(arrivals, 9)
    assert found == plain(arrivals, 9)
    flows = [Arrival(a.ns, a.flow * 2 + (a.ecn == ECT1), a.bytes, a.ecn) for a in arrivals]
    assert problems_of(Passage(flows, found, RATE_BPS, LIMIT)) == {}
    if share > 1:
        assert any(each.marked if scalable == 1 else not each.departed for each in found)


def test_scalable_packets_wait_less_and_are_marked_more() -> None:
    arrivals = load(1.05, 0.3, 6000, 1)
    waits: dict[bool, list[int]] = {True: [], False: []}
    marks = {True: 0, False: 0}
    for each in ours(arrivals, 2):
        if each.departed:
            scalable = arrivals[each.packet].ecn == ECT1
            waits[scalable].append(each.ns - arrivals[each.packet].ns)
            marks[scalable] += each.marked
    means = {kind: sum(all_) / len(all_) for kind, all_ in waits.items()}
    assert means[True] < means[False] / 2
    assert marks[True] / len(waits[True]) > 2 * marks[False] / len(waits[False])
