"""Paths that change, jitter, reorder and lose in bursts: the core against a plain model."""

from collections import Counter
from dataclasses import replace
from math import e

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.core import NEVER, DelayLine, Impaired
from tests.model.impairment import BILLION, ChangingPath

T0_NS = 1000
SHARE = st.sampled_from([0, 1, BILLION // 10, BILLION // 2, BILLION])


@st.composite
def impairments(draw: st.DrawFn, *, reorders: bool = True) -> Impaired:
    """Any impairment; times, delays and jitter are alike, so that packets could overtake."""
    times = sorted(draw(st.lists(st.integers(0, 3000), min_size=1, max_size=4)))
    delays = st.sampled_from([0, 1, 50, 400, 2000])
    quantiles = st.one_of(st.just([]), st.lists(st.integers(0, 900), min_size=2))
    points = tuple(sorted(draw(quantiles)))
    return Impaired(
        changes=tuple((at_ns, draw(delays), draw(SHARE), draw(SHARE)) for at_ns in times),
        jitter_points=points,
        retries=None if points else draw(st.one_of(st.none(), SHARE)),
        jitter_every_ns=draw(st.sampled_from([0, 0, 7, 300])),
        reorder=(draw(SHARE), draw(st.integers(1, 800))) if reorders else (0, 0),
        gilbert=draw(st.one_of(st.none(), st.tuples(SHARE, SHARE, SHARE, SHARE))),
        seeds=draw(st.tuples(*[st.integers(0, 2**63 - 1)] * 3)),
    )


GAPS = st.lists(st.tuples(st.sampled_from([0, 0, 1, 10, 200]), st.sampled_from([0, 0, 30])))


def run(
    impaired: Impaired, gaps: list[tuple[int, int]], loss_ppb: int = 0
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(due, packet) by the core in its order, and by the model in the order of arrivals."""
    line, model, now_ns = DelayLine(1), ChangingPath(500, impaired, loss_ppb, seed=9), 2000
    assert line.configure(0, 500, loss_ppb, 9) == 0
    assert line.impair(0, impaired) == 0
    line.begin(0, T0_NS)
    model.t0_ns = T0_NS
    out, expected = [], []
    for packet, (gap_ns, less_ns) in enumerate(gaps):
        now_ns += gap_ns
        due_ns = model.due_ns(now_ns, less_ns)
        assert line.put(0, packet, now_ns, less_ns) == (due_ns is not None)
        if due_ns is not None:
            expected.append((due_ns, packet))
        # Taken out as time goes on, so that queues empty and fill again.
        while (got := line.get(now_ns)) is not None:
            out.append((got.due_ns, got.packet))
    assert line.lost(0) == len(gaps) - len(expected)
    while (got := line.get(NEVER - 1)) is not None:
        assert not got.stale
        out.append((got.due_ns, got.packet))
    assert line.waiting(0) == 0
    return out, expected


@pytest.mark.slow
@given(impairments(), GAPS, SHARE)
def test_every_packet_comes_once_and_when_the_model_says(
    impaired: Impaired, gaps: list[tuple[int, int]], loss_ppb: int
) -> None:
    out, expected = run(impaired, gaps, loss_ppb)
    assert Counter(out) == Counter(expected)


@pytest.mark.slow
@given(impairments(reorders=False), GAPS, SHARE)
def test_nothing_overtakes_where_no_reordering_is_asked_for(
    impaired: Impaired, gaps: list[tuple[int, int]], loss_ppb: int
) -> None:
    out, _ = run(impaired, gaps, loss_ppb)
    assert [packet for _, packet in out] == sorted(packet for _, packet in out)


@pytest.mark.slow
@given(impairments(), GAPS)
def test_what_is_not_late_keeps_its_order(impaired: Impaired, gaps: list[tuple[int, int]]) -> None:
    out, expected = run(impaired, gaps)
    _, in_order = run(replace(impaired, reorder=(0, 0)), gaps)
    on_time = {
        packet
        for (due_ns, packet), plain in zip(expected, in_order, strict=True)
        if (due_ns, packet) == plain
    }
    kept = [packet for _, packet in out if packet in on_time]
    assert kept == sorted(kept)


def test_a_path_is_what_it_was_before_it_begins() -> None:
    line = DelayLine(1)
    line.configure(0, 100)
    line.impair(0, Impaired(changes=((50, 10, 0, 0),)))
    line.put(0, 1, 10**9)
    out = line.get(NEVER - 1)
    assert out is not None
    assert out.due_ns == 10**9 + 100


@pytest.mark.parametrize("share", [10_000_000, 200_000_000])
def test_the_share_that_is_late(share: int) -> None:
    """By RFC 4737: a packet is reordered when one that was sent after it came before it.

    Five standard deviations of a binomial count: a true share of 1 % that came out as 1.35 % or as
    0.65 % of 20,000 packets would be found in half of all runs.
    """
    n, spacing_ns = 20_000, 100
    line = DelayLine(1)
    line.configure(0, 1000)
    line.impair(0, Impaired(reorder=(share, 5 * spacing_ns)))
    for packet in range(n):
        line.put(0, packet, packet * spacing_ns)
    expected = reordered = 0
    while (out := line.get(NEVER - 1)) is not None:
        reordered += out.packet < expected
        expected = max(expected, out.packet + 1)
    mean = n * share / BILLION
    assert abs(reordered - mean) < 5 * (mean * (1 - share / BILLION)) ** 0.5


def test_jitter_of_hosts_and_path_do_not_add_up_from_packet_to_packet() -> None:
    """A packet waits for the one before it, which took at most both in full."""
    line = DelayLine(1)
    line.configure(0, 1000, jitter_ns=30)
    line.impair(0, Impaired(jitter_points=(0, 900)))
    for packet in range(500):
        line.put(0, packet, 100 * packet)
    took = [out.due_ns - 100 * out.packet for out in iter(lambda: line.get(NEVER - 1), None)]
    assert len(took) == 500
    assert min(took) >= 1000
    assert max(took) <= 1000 + 900 + 30


def test_wifi_has_the_distribution_of_its_source() -> None:
    """Half a minute of packets, far enough apart that each comes as late as it drew.

    N of Poisson(1) ms less the mean of a part, 0.5 ms, of those with any: 1 - 0.5 (1 - 1/e) =
    0.684 ms; Poisson(12) x 7.5 ms, so 90 ms more, for a tenth. Five standard errors of 30,000
    packets: a variance of at most 1 + 1/12 ms^2 without retries, of which each packet's sum has
    0.1 (12 x 56.25 + 90^2) - 9^2 ms^2 = 796 ms^2 more.
    """
    n, apart_ns = 30_000, 10**9
    line = DelayLine(2)
    for path, retries in ((0, 0), (1, BILLION // 10)):
        line.configure(path, 0)
        line.impair(path, Impaired(retries=retries, seeds=(path, 2, 3)))
    late = {0: [], 1: []}  # type: dict[int, list[float]]
    for packet in range(n):
        for path in late:
            line.put(path, packet, packet * apart_ns)
        while (out := line.get((packet + 1) * apart_ns - 1)) is not None:
            late[out.path].append((out.due_ns - out.packet * apart_ns) / 1e6)
    error = 5 / n**0.5
    assert abs(sum(late[0]) / n - (0.5 + 0.5 / e)) < error * (13 / 12) ** 0.5
    assert abs(late[0].count(0) / n - 1 / e) < error * 0.5
    assert abs(sum(late[1]) / n - (9.5 + 0.5 / e)) < error * 797**0.5
    assert abs(sum(ms > 20 for ms in late[1]) / n - 0.1) < error * 0.3 + 0.001


def test_losses_come_in_bursts_of_a_mean_length_and_with_a_mean_share() -> None:
    """p/(p+r) of the packets are lost, 1/r at a time, where bad loses all and good nothing.

    100,000 packets have about 980 bursts; a burst's length is geometric, with a standard
    deviation of (1-r)^0.5/r = 4.5 packets: the mean length is 5 within 0.14, of which five times
    is taken. A cycle of good and bad has a mean of 1/p + 1/r = 102 packets.
    """
    n, p, r = 100_000, BILLION // 100, BILLION // 5
    model_mean = p / (p + r)
    line = DelayLine(1)
    line.configure(0, 0)
    line.impair(0, Impaired(gilbert=(p, r, BILLION, 0)))
    lost = [not line.put(0, packet, 0) for packet in range(n)]
    bursts = sum(b and not a for a, b in zip([False, *lost], lost, strict=False))
    assert abs(sum(lost) / bursts - 5) < 5 * 0.14
    # The count of cycles has a standard deviation of about its root; each loses 5 +- 4.5.
    assert abs(sum(lost) - n * model_mean) < 5 * (bursts * (5**2 + 4.5**2)) ** 0.5


def test_far_reordering_costs_no_more_than_order() -> None:
    """Late packets have a queue of their own: each put looks at one other packet at most."""
    line = DelayLine(1)
    line.configure(0, 0)
    line.impair(0, Impaired(reorder=(BILLION // 2, 10**9)))
    for packet in range(20_000):
        line.put(0, packet, packet)
    assert line.waiting(0) == 20_000
    due = [out.due_ns for out in iter(lambda: line.get(NEVER - 1), None)]
    assert due == sorted(due)


def test_queues_of_paths_are_given_back() -> None:
    line = DelayLine(2)
    for _ in range(600):
        assert line.configure(0, 5) == 0
        assert line.impair(0, Impaired(reorder=(1, 1))) == 0
        line.clear(0)
    assert line.configure(1, 5) == 0
    assert line.impair(1, Impaired(reorder=(1, 1))) == 0
