"""A link over time: what it carries, and departures that equal the plain models."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.controlplane.contract.link import (
    Departures,
    Link,
    ShapedDepartures,
    TokenBucket,
    packed,
    unpacked,
)
from tests.model.schedules import Bucket, Opportunities, Rates, Shaper, times

MS = 10**6
GAPS = st.lists(st.sampled_from([0, 1, 999, 54_321, 3 * MS]), min_size=1, max_size=30)
RATES = st.sampled_from([10**6, 7_000_001, 10**8])


@given(GAPS, RATES, st.lists(st.sampled_from([1, 999, 3 * MS]), min_size=1, max_size=5), st.data())
def test_departures_by_rates(
    gaps: list[int], base: int, steps: list[int], data: st.DataObject
) -> None:
    rates = [data.draw(st.one_of(st.just(0), RATES)) for _ in steps[1:]] + [data.draw(RATES)]
    made = tuple(zip(times(steps), rates, strict=True))
    link, plain = Departures(Link(base, made)), Rates(base, 1, 0, [(*each, 1) for each in made])
    for now in times(gaps):
        assert link.leave(now, 8 * 1514) == plain.depart(now, 8 * 1514)


@settings(max_examples=30)  # the model takes every opportunity one by one
@given(GAPS, st.lists(st.sampled_from([0, 1, MS]), min_size=1, max_size=20), st.booleans())
def test_departures_by_opportunities(gaps: list[int], steps: list[int], repeats: bool) -> None:
    at = (*times(steps), sum(steps) + 5)
    period = at[-1] if repeats else 0
    link = Departures(Link(10**7, (), at, 8 * 1514, period))
    plain = Opportunities(0, at, 8 * 1514, period, 10**7)
    for now in times(gaps):
        assert link.leave(now, 8 * 800) == plain.depart(now, 8 * 800)


@given(GAPS, RATES, st.sampled_from([1514, 5000, 10**5]), st.sampled_from([1514, 4000]))
def test_departures_from_a_shaper(gaps: list[int], rate: int, burst: int, mtu: int) -> None:
    peak = 3 * rate + 1
    shaper = ShapedDepartures(TokenBucket(rate, burst), TokenBucket(peak, mtu))
    plain = Shaper(Bucket(rate, burst), Bucket(peak, mtu))
    for now in times(gaps):
        assert shaper.leave(now, 8 * 1514) == plain.depart(now, 8 * 1514)


def test_a_packet_on_its_way_at_t0() -> None:
    """1000 bytes at 1 Mbit/s, half of them before t0; 500 bytes with the second opportunity."""
    link = Departures(Link(10**6, (), (5, 6), 8 * 300))
    assert link.leave(-4 * MS, 8000) == 6
    assert Departures(Link(10**6, ((0, 2 * 10**6),))).leave(-4 * MS, 8000) == 2 * MS


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (Link(10**9), 30e6),
        # 10 ms at 1 Gbit/s, 5 ms down, 15 ms at 100 Mbit/s.
        (Link(10**9, ((10 * MS, 0), (15 * MS, 10**8))), 10e6 + 1.5e6),
        # Periods of 8 ms, of which 3 at 1 Gbit/s and 5 at 100 Mbit/s; the fourth has 6 ms.
        (Link(1, ((0, 10**9), (3 * MS, 10**8)), period_ns=8 * MS), 3 * 3.5e6 + 3.3e6),
        # Opportunities at 4 and 8 ms of each 8: seven in 30 ms.
        (Link(1, (), (4 * MS, 8 * MS), 12_112, 8 * MS), 7 * 12_112),
        # Those once, and then 22 ms at 1 Gbit/s.
        (Link(10**9, (), (4 * MS, 8 * MS), 12_112), 2 * 12_112 + 22e6),
    ],
)
def test_capacity(link: Link, expected: float) -> None:
    assert link.capacity_bits(0, 30 * MS) == expected
    halves = link.capacity_bits(0, 13 * MS), link.capacity_bits(13 * MS, 30 * MS)
    assert sum(halves) == pytest.approx(expected)


@given(st.lists(st.integers(0, 2**62)))
def test_numbers_are_packed(numbers: Sequence[int]) -> None:
    assert unpacked(packed(numbers)) == numbers
