"""Time bins against integration by brute force: exact, each final once, totals conserved."""

import errno
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.contract.records import MARK_CAPABLE, MARK_CE
from tests.model.core import Bins
from tests.model.droptail import Arrival, droptail
from tests.support.postcards import Card, postcards

FIRST_FLOW = 100
FLOWS = 3
WRAP_NS = 1 << 48
Record = dict[str, int]


def through_a_queue(
    arrivals: list[tuple[int, int, int]], rate_bps: int, limit: int, start_ns: int
) -> list[Card]:
    """Postcards, in the order of what happened, of (gap, flow, size) arrivals."""
    times = start_ns + np.cumsum([gap for gap, _, _ in arrivals])
    packets = [Arrival(int(t), size) for t, (_, _, size) in zip(times, arrivals, strict=True)]
    cards = [
        Card(FIRST_FLOW + flow, size, packet.time_ns, outcome.departure_ns, outcome.dropped)
        for packet, outcome, (_, flow, size) in zip(
            packets, droptail(packets, rate_bps, limit), arrivals, strict=True
        )
    ]
    return sorted(cards, key=lambda card: (card.dequeue_ns, card.dropped))


def with_an_aqm(cards: list[Card], every: int) -> list[Card]:
    """The same queue, where every so many packets are dropped half-way, and the next are marked."""
    left = [i for i, card in enumerate(cards) if not card.dropped]
    changed = dict(enumerate(cards))
    for i in left[::every]:
        card = cards[i]
        half_ns = (card.enqueue_ns + card.dequeue_ns) // 2
        changed[i] = replace(card, dropped=True, dequeue_ns=half_ns, marks=1)
    for i in left[1::every]:
        if not changed[i].dropped:
            changed[i] = replace(cards[i], marks=MARK_CE | MARK_CAPABLE)
    return sorted(changed.values(), key=lambda card: (card.dequeue_ns, card.dropped))


def overlap(card: Card, start_ns: int, end_ns: int) -> int:
    """How long the packet stands in the queue between these times."""
    return max(0, min(card.dequeue_ns, end_ns) - max(card.enqueue_ns, start_ns))


def by_brute_force(cards: list[Card], bin_ns: int) -> dict[tuple[int, int], Record]:
    """Every bin's content by its definition; (bin, flow) to record, empty ones left out."""
    bins: dict[tuple[int, int], Record] = defaultdict(lambda: defaultdict(int))
    for card in cards:
        end = bins[card.dequeue_ns // bin_ns, card.flow]
        if card.dropped:
            end["dropped_packets"] += 1
            end["dropped_bytes"] += card.size
        else:
            end["departed_packets"] += 1
            end["departed_bytes"] += card.size
            end["qdelay_sum_ns"] += card.dequeue_ns - card.enqueue_ns
        if card.marks & MARK_CE:
            end["marked_packets"] += 1
        if card.marks & MARK_CAPABLE:
            end["capable_packets"] += 1
        for number in range(card.enqueue_ns // bin_ns, card.dequeue_ns // bin_ns + 1):
            stay = overlap(card, number * bin_ns, (number + 1) * bin_ns)
            if stay:
                bins[number, card.flow]["occupancy_byte_ns"] += card.size * stay
    return {key: dict(record) for key, record in bins.items()}


def run(
    cards: list[Card], bin_ns: int, start_ns: int = 0, overtaken_ns: int = 0
) -> list[tuple[tuple[int, int], Record]]:
    """What the core makes of the postcards, in the order it was emitted."""
    bins = Bins(bin_ns, start_ns, FIRST_FLOW, FLOWS, overtaken_ns)
    for card in postcards(cards):
        assert bins.add(card) == 0
    assert bins.finish() == 0
    out = []
    for record in bins.records():
        values = {name: int(record[name]) for name in record.dtype.names if record[name]}
        key = (values.pop("bin", 0), values.pop("flow"))
        out.append((key, values))
    return out


ARRIVALS = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 10, 500, 1000, 3000, 50_000]),
        st.integers(0, FLOWS - 1),
        st.sampled_from([1, 60, 999, 1000, 1514]),
    ),
    min_size=1,
    max_size=100,
)


@pytest.mark.slow
@given(
    ARRIVALS,
    st.sampled_from([1, 7, 1000, 4096, 10**6]),
    st.sampled_from([8_000_000_000, 2_999_999_999]),
    st.sampled_from([2000, 20_000]),
    st.integers(0, 10**6),
    st.sampled_from([1, 2, 5, 1000]),
)
def test_exact(
    arrivals: list[tuple[int, int, int]],
    bin_ns: int,
    rate_bps: int,
    limit: int,
    start_ns: int,
    every: int,
) -> None:
    if bin_ns == 1:
        arrivals = arrivals[:5]  # the brute force is slow
    cards = with_an_aqm(through_a_queue(arrivals, rate_bps, limit, start_ns), every)
    emitted = run(cards, bin_ns, start_ns)
    keys = [key for key, _ in emitted]
    assert keys == sorted(set(keys)), "every bin is final once, in the order of time"
    assert dict(emitted) == by_brute_force(cards, bin_ns)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.integers(0, 5000),
            st.integers(0, 3000),
            st.integers(0, FLOWS - 1),
            st.booleans(),
        ),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from([7, 100, 1000]),
)
def test_exact_where_packets_overtake_others(
    packets: list[tuple[int, int, int, bool]], bin_ns: int
) -> None:
    cards = [
        Card(FIRST_FLOW + flow, 100, arrival, arrival + stay + 1, dropped)
        for arrival, stay, flow, dropped in packets
    ]
    cards.sort(key=lambda card: (card.dequeue_ns, card.dropped))
    emitted = run(cards, bin_ns, overtaken_ns=3001)
    keys = [key for key, _ in emitted]
    assert keys == sorted(set(keys)), "every bin is final once, in the order of time"
    assert dict(emitted) == by_brute_force(cards, bin_ns)


def test_a_bin_is_final_only_after_an_arrival_behind_it_has_left() -> None:
    bins = Bins(1000, 0, FIRST_FLOW, 1, 0)
    early, late = postcards([Card(FIRST_FLOW, 10, 0, 2500), Card(FIRST_FLOW, 10, 2100, 3500)])
    assert bins.add(early) == 0
    assert len(bins.records()) == 0
    assert bins.add(late) == 0
    assert list(bins.records()["bin"]) == [0, 1]
    assert bins.finish() == 0
    assert list(bins.records()["bin"]) == [0, 1, 2, 3]
    assert list(bins.records()["occupancy_byte_ns"]) == [10_000, 10_000, 5000 + 9000, 5000]


def test_a_bin_stays_open_for_what_may_be_overtaken_by_a_part_of_a_bin() -> None:
    bins = Bins(1000, 0, FIRST_FLOW, 1, 1)
    later, earlier = Card(FIRST_FLOW, 10, 1000, 1500), Card(FIRST_FLOW, 10, 999, 1501)
    assert [bins.add(card) for card in postcards([later, earlier])] == [0, 0]


def test_idle_time_takes_no_memory() -> None:
    # A hundred million bins of 1 ms between two packets.
    cards = [Card(FIRST_FLOW, 10, 0, 5), Card(FIRST_FLOW + 2, 20, 10**14, 10**14 + 7)]
    assert dict(run(cards, 10**6)) == by_brute_force(cards, 10**6)


@pytest.mark.parametrize("wraps", [1, 2, 1000])
@pytest.mark.parametrize("before_ns", [0, 20_500, 10**9], ids=["at", "across", "before"])
def test_the_clock_wraps(wraps: int, before_ns: int) -> None:
    """The bins are those of a clock of 64 bits, wherever the trial is to the wrap of 48."""
    start_ns = wraps * WRAP_NS - before_ns
    arrivals = [(1000, i % FLOWS, 1000) for i in range(60)]
    cards = through_a_queue(arrivals, 4_000_000_000, 20_000, start_ns)
    assert any(card.dropped for card in cards)
    assert dict(run(cards, 7000, start_ns)) == {
        (number % 2**32, flow): record
        for (number, flow), record in by_brute_force(cards, 7000).items()
    }


def test_a_packet_may_be_older_than_the_wrap_that_the_start_is_beyond() -> None:
    """Switch times are read a little late: what comes before the start is refused, not later."""
    bins = Bins(1024, WRAP_NS + 500, FIRST_FLOW, FLOWS, 0)
    early, late = postcards(
        [Card(FIRST_FLOW, 10, WRAP_NS - 1, WRAP_NS - 1), Card(FIRST_FLOW, 10, WRAP_NS, WRAP_NS)]
    )
    assert bins.add(early) == -errno.ERANGE
    assert bins.add(late) == 0


@pytest.mark.parametrize(
    "card",
    [
        Card(FIRST_FLOW - 1, enqueue_ns=5000, dequeue_ns=6000),
        Card(FIRST_FLOW + FLOWS, enqueue_ns=5000, dequeue_ns=6000),
        Card(FIRST_FLOW, enqueue_ns=3999, dequeue_ns=6000),
        Card(FIRST_FLOW, enqueue_ns=6000, dequeue_ns=5000),
    ],
    ids=["flow-below", "flow-above", "before-the-start", "leaves-before-it-comes"],
)
def test_what_cannot_be_is_refused(card: Card) -> None:
    bins = Bins(1000, 4000, FIRST_FLOW, FLOWS, 0)
    assert bins.add(postcards([card])[0]) == -errno.ERANGE
    assert bins.finish() == 0
    assert len(bins.records()) == 0
