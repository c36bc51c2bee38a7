"""A line that changes, a policer and a shaper against plain models: equal to the nanosecond."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.controlplane.contract.shared import DROP_REASONS
from tests.model.core import Lane, Queued, QueueStats, TrafficManager
from tests.model.schedules import (
    NS,
    Bucket,
    Opportunities,
    Outcome,
    Rates,
    Shaper,
    policed,
    through,
    times,
)

Arrivals = Sequence[tuple[int, int]]

T0 = 1000
GAPS = st.lists(st.sampled_from([0, 1, 700, 12_345, 10**6]), min_size=1, max_size=40)
SIZES = st.sampled_from([60, 333, 1514])
arrivals_ = GAPS.flatmap(
    lambda gaps: st.lists(SIZES, min_size=len(gaps), max_size=len(gaps)).map(
        lambda sizes: list(zip(times(gaps), sizes, strict=True))
    )
)
RATES = st.sampled_from([10**6, 7_000_001, 10**8, 3 * 10**9 + 7])


@st.composite
def states_(draw: st.DrawFn, *, repeated: bool = False) -> list[tuple[int, int, int]]:
    gaps = draw(st.lists(st.sampled_from([1, 999, 54_321, 3 * 10**6]), min_size=1, max_size=5))
    at = [0, *times(gaps)] if repeated else times(gaps)
    rates = [draw(st.one_of(st.just(0), RATES)) for _ in at[1:]] + [draw(RATES)]
    limits = [draw(st.sampled_from([1514, 9000, 10**6])) for _ in at]
    return list(zip(at, rates, limits, strict=True))


def run(config: Lane, arrivals: Arrivals, t0_ns: int | None = T0) -> list[Queued]:
    """What becomes of arrivals in the data plane, in their order."""
    tm = TrafficManager(1)
    assert tm.set_up(0, config) == 0
    if t0_ns is not None:
        tm.begin(0, t0_ns)
    done: dict[int, Queued] = {}

    def leave(now_ns: int) -> None:
        while (each := tm.dequeue(now_ns)) is not None:
            done[each.packet] = each

    for number, (now_ns, size) in enumerate(arrivals):
        leave(now_ns)
        taken, queued = tm.enqueue(0, number + 1, size, now_ns)
        if not taken:
            done[number + 1] = queued
    leave(2**63)
    assert tm.stats(0).queue_packets == 0
    return [done[number + 1] for number in range(len(arrivals))]


def outcomes(config: Lane, arrivals: Arrivals) -> list[Outcome]:
    return [Outcome(each.dropped, each.dequeue_ns) for each in run(config, arrivals)]


@pytest.mark.slow
@given(arrivals_, RATES, states_())
def test_departures_are_the_integral_of_the_rate(
    arrivals: Arrivals, rate: int, states: list[tuple[int, int, int]]
) -> None:
    config = Lane(rate, 9000).states(states)
    expected = through(Rates(rate, 9000, T0, states), arrivals, 9000)
    assert outcomes(config, arrivals) == expected


@pytest.mark.slow
@given(arrivals_, RATES, states_(repeated=True), st.sampled_from([1, 77_777]))
def test_rates_that_begin_anew(
    arrivals: Arrivals, rate: int, states: list[tuple[int, int, int]], more: int
) -> None:
    period = states[-1][0] + more + 10**6
    config = Lane(rate, 9000).states(states, period)
    assert outcomes(config, arrivals) == through(
        Rates(rate, 9000, T0, states, period), arrivals, 9000
    )


@pytest.mark.slow
@given(
    arrivals_,
    st.lists(st.sampled_from([0, 1, 700, 20_000, 10**6]), min_size=1, max_size=30),
    st.booleans(),
)
@settings(max_examples=20)  # the model takes every opportunity one by one
def test_opportunities_are_used_as_in_mahimahi(
    arrivals: Arrivals, gaps: list[int], repeats: bool
) -> None:
    """Also several at one instant, packets over several of them, and several packets in one."""
    at = [*times(gaps), sum(gaps) + 5]
    period = at[-1] if repeats else 0
    arrivals = [(T0 + now_ns, size) for now_ns, size in arrivals]
    config = Lane(10**7, 9000).opportunities(at, 8 * 1514, period)
    expected = through(Opportunities(T0, at, 8 * 1514, period, 10**7), arrivals, 9000)
    assert outcomes(config, arrivals) == expected


def test_by_hand() -> None:
    """1000 bytes at 1 Mbit/s take 8 ms: of the first, 4 ms at 1 Mbit/s and 2 ms at 2 Mbit/s."""
    ms = 10**6
    config = Lane(10**6, 10**5).states([(4 * ms, 2 * 10**6, 10**5), (7 * ms, 0, 10**5),
                                        (9 * ms, 10**6, 10**5)])  # fmt: skip
    left = run(config, [(0, 1000), (0, 1000)], t0_ns=0)
    # The second: 1 ms at 2 Mbit/s are 2000 of its 8000 bits; an outage of 2 ms; 6 ms at 1 Mbit/s.
    assert [each.dequeue_ns for each in left] == [6 * ms, 15 * ms]


def test_a_packet_that_has_left_as_an_outage_begins_does_not_wait_for_its_end() -> None:
    ms = 10**6
    config = Lane(10**6, 10**5).states([(8 * ms, 0, 10**5), (20 * ms, 10**6, 10**5)])
    first, second = run(config, [(0, 1000)] * 2, t0_ns=0)
    assert (first.dequeue_ns, second.dequeue_ns) == (8 * ms, 28 * ms)


def test_without_begin_the_line_stays_as_it_was() -> None:
    config = Lane(10**6, 10**5).states([(0, 10**9, 10**5)])
    (left,) = run(config, [(0, 1000)], t0_ns=None)
    assert left.dequeue_ns == 8 * 10**6


def test_a_packet_on_its_way_at_t0_goes_on_with_opportunities() -> None:
    config = Lane(10**6, 10**5).opportunities([5, 6], 8 * 600)
    (left,) = run(config, [(0, 1000)], t0_ns=4 * 10**6)
    assert left.dequeue_ns == 4 * 10**6 + 5  # 500 bytes were left


def test_what_is_left_of_an_opportunity_at_t0_is_the_next_packets() -> None:
    config = Lane(10**6, 10**5).opportunities([0, 5], 8 * 1000)
    left = run(config, [(0, 1000), (0, 500)], t0_ns=4 * 10**6)
    assert [each.dequeue_ns for each in left] == [4 * 10**6] * 2  # 500 bytes each


@pytest.mark.parametrize(("bits", "at_ns"), [(4000, 5), (3999, 6)])
def test_a_bit_that_is_on_its_way_at_t0_takes_a_whole_one_of_an_opportunity(
    bits: int, at_ns: int
) -> None:
    config = Lane(10**6, 10**5).opportunities([5, 6], bits)
    t0_ns = 4 * 10**6 + 1
    (left,) = run(config, [(0, 1000)], t0_ns)
    assert left.dequeue_ns == t0_ns + at_ns  # 3999.999 of 8000 bits were left


@given(arrivals_, RATES, st.sampled_from([1514, 4000, 10**6]))
def test_a_policer_is_a_token_bucket(arrivals: Arrivals, rate: int, burst: int) -> None:
    config = Lane(10 * NS, 10**9).policer(rate, burst)
    out = run(config, arrivals)
    assert [not each.dropped for each in out] == policed(arrivals, rate, burst)
    assert {DROP_REASONS[each.reason] for each in out if each.dropped} <= {"policer"}


@pytest.mark.parametrize(("now_ns", "taken"), [(2, False), (3, True)])
def test_a_bucket_is_full_when_its_last_part_has_come(now_ns: int, taken: bool) -> None:
    """A byte of 8e9 parts, of which 3 Gbit/s bring 3e9 in a nanosecond."""
    tm = TrafficManager(1)
    assert tm.set_up(0, Lane(NS, 10**6).policer(3 * NS, 1000)) == 0
    assert tm.enqueue(0, 1, 1, 0)[0]
    assert tm.enqueue(0, 2, 1000, now_ns)[0] is taken


def test_a_policer_in_front_of_a_queue_that_has_a_limit() -> None:
    """A burst of 2048 bytes of the wire, of which each packet takes 24 more than it has."""
    tm = TrafficManager(1)
    assert tm.set_up(0, Lane(8 * NS, 1500, overhead=24).policer(10**6, 2048)) == 0
    assert tm.enqueue(0, 1, 1000, 0)[0]
    _, by_the_limit = tm.enqueue_train(0, 2, [476, 500], 0)  # the last tokens, but no room
    _, by_the_policer = tm.enqueue_train(0, 4, [30, 30], 0)
    refused = by_the_limit + by_the_policer
    assert [DROP_REASONS[each.reason] for each in refused] == ["limit"] * 2 + ["policer"] * 2
    assert [each.queue_bytes for each in refused] == [1000] * 4
    assert tm.stats(0) == QueueStats(1000, 1, 1000, 4)


@given(arrivals_, RATES, st.sampled_from([1514, 4000, 10**5]), st.sampled_from([0, 1514, 4000]))
def test_a_shaper_is_one_token_bucket_or_two(
    arrivals: Arrivals, rate: int, burst: int, mtu: int
) -> None:
    peak = 3 * rate + 1 if mtu else 0
    config = Lane(rate, 9000).shaper(burst, peak, mtu)
    buckets = [Bucket(rate, burst), *([Bucket(peak, mtu)] if mtu else [])]
    assert outcomes(config, arrivals) == through(Shaper(*buckets), arrivals, 9000)


def test_a_shaper_by_hand() -> None:
    """A burst of two packets; a third waits for its 8000 bits, and the bucket fills in a pause."""
    ms = 10**6
    config = Lane(10**6, 10**5).shaper(2000)
    came = [(0, 1000)] * 4 + [(100 * ms, 1000)] * 3
    left = [each.dequeue_ns // ms for each in run(config, came, t0_ns=None)]
    assert left == [0, 0, 8, 16, 100, 100, 108]


def test_a_peak_rate_spreads_a_burst() -> None:
    """1000 bytes in 1 ms at 8 Mbit/s, until at 1 Mbit/s the tokens of 3000 bytes are used up."""
    config = Lane(10**6, 10**5).shaper(3000, 8 * 10**6, 1000)
    left = [each.dequeue_ns / 10**6 for each in run(config, [(0, 1000)] * 4, t0_ns=None)]
    assert left == [0, 1, 2, 8]


def test_what_waits_for_tokens_counts_and_what_can_have_none_is_dropped() -> None:
    """The first packet takes all tokens; the second waits in the queue, where no third fits."""
    tm = TrafficManager(1)
    assert tm.set_up(0, Lane(10**6, 2000, counts="queue", overhead=24).shaper(1524)) == 0
    assert tm.enqueue(0, 1, 1500, 0)[0]
    assert tm.dequeue(0) is not None
    assert tm.enqueue(0, 2, 1500, 0)[0]
    assert not tm.enqueue(0, 3, 501, 0)[0]
    assert tm.enqueue(0, 4, 500, 0)[0]
    assert tm.dequeue(1524 * 8000 - 1) is None
    assert tm.dequeue(1524 * 8000) is not None
    taken, queued = tm.enqueue(0, 5, 1501, 2 * NS)
    assert (taken, DROP_REASONS[queued.reason]) == (False, "limit")


@pytest.mark.parametrize(
    "config",
    [
        Lane(10**6, 9000).shaper(2000).states([(5, 10**6, 1)]),
        Lane(10**6, 9000).shaper(2000, 10**7, 0),
    ],
)
def test_a_shaper_that_cannot_be_is_refused(config: Lane) -> None:
    assert TrafficManager(1).set_up(0, config) < 0


@pytest.mark.parametrize(
    "states",
    [
        [(5, 10**6, 1), (5, 10**6, 1)],
        [(5, 10**6, 1), (4, 10**6, 1)],
    ],
)
def test_states_out_of_order_are_refused(states: list[tuple[int, int, int]]) -> None:
    with pytest.raises(ValueError, match="schedule: bad value"):
        Lane(10**6, 9000).states(states)


def test_nothing_to_send_is_refused() -> None:
    """Else a departure would be searched for without end."""
    with pytest.raises(ValueError, match="schedule: bad value"):
        Lane(10**6, 9000).states([(0, 0, 9)], 10)
    with pytest.raises(ValueError, match="schedule: bad value"):
        Lane(10**6, 9000).opportunities([0], 9, 0)
