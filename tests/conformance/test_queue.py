"""The queue and its shaper: what is dropped, when the rest leaves."""

import numpy as np
import pytest
from tests.conformance.conftest import Run
from tests.conformance.packets import burst, tcp, tcp_key
from tests.conformance.target import Outcome, Packet, Target, needs
from tests.model.droptail import Arrival, droptail
from tests.support.replay import Bottleneck, time_of

ONE_FLOW = [tcp_key()]
BYTE_NS = 80
"""Serialisation time of one byte at 100 Mbit/s."""


def dropped_of(outcome: Outcome) -> list[int]:
    """Sequence numbers of the dropped packets."""
    return [int(seq) for seq in outcome.dropped["tcp_seq"]]


def numbered(sizes: list[int]) -> list[bytes]:
    """Frames of one flow, numbered by their TCP sequence."""
    return [tcp(size=size, seq=i) for i, size in enumerate(sizes)]


@pytest.mark.parametrize(("limit", "fit"), [(9999, 9), (10_000, 10), (10_001, 10)])
def test_the_byte_limit_is_met_exactly(run: Run, limit: int, fit: int) -> None:
    outcome = run(burst(numbered([1000] * 15)), ONE_FLOW, Bottleneck(limit=limit))
    assert dropped_of(outcome) == list(range(fit, 15))
    assert list(outcome.dropped["queue_bytes"]) == [fit * 1000] * (15 - fit)


def test_a_smaller_packet_takes_the_room_that_a_larger_one_did_not_fit(run: Run) -> None:
    outcome = run(burst(numbered([1000, 1000, 400, 300, 300])), ONE_FLOW, Bottleneck(limit=2300))
    assert dropped_of(outcome) == [2, 4]


def test_a_packet_larger_than_the_limit_never_fits(run: Run) -> None:
    outcome = run(burst(numbered([1001, 1000, 1001])), ONE_FLOW, Bottleneck(limit=1000))
    assert dropped_of(outcome) == [0, 2]


def test_drops_are_reported_one_by_one(run: Run) -> None:
    sizes = [1000, 1514, 60, 700, 61, 1000]
    outcome = run(burst(numbered(sizes)), ONE_FLOW, Bottleneck(limit=1121))
    assert dropped_of(outcome) == [1, 3, 5]
    assert list(outcome.dropped["packet_bytes"]) == [1514, 700, 1000]
    assert list(outcome.dropped["payload_bytes"]) == [1460, 646, 946]
    assert list(outcome.dropped["queue_bytes"]) == [1000, 1060, 1121]
    # It was never in the queue: it leaves when it comes.
    arrival, end = (time_of(outcome.dropped, field) for field in ("enqueue", "dequeue"))
    assert list(arrival) == list(end)
    assert outcome.frames == [numbered(sizes)[i] for i in (0, 2, 4)]


def test_occupancy_and_delay_of_a_full_sized_burst(run: Run) -> None:
    # Full-sized packets take the same time on every target: 1514 bytes at 10 Mbit/s.
    slot_ns = 1514 * 8 * 100
    outcome = run(burst(numbered([1514] * 12)), ONE_FLOW, Bottleneck(10_000_000, limit=15_140))
    assert list(outcome.departed["queue_bytes"]) == [1514 * i for i in range(10)]
    arrivals, departures = (time_of(outcome.departed, field) for field in ("enqueue", "dequeue"))
    # Nothing is on the link for less than its time (a rate in whole packets per second is off
    # by up to half a packet), and the n-th waits for all before it.
    least = slot_ns * np.arange(1, 11) * 0.999
    assert np.all(departures - arrivals[0] >= least)
    assert np.all(np.diff(departures) > 0)
    assert np.all(np.diff(arrivals) >= 0)


def test_the_packet_limit(run: Run, target: Target) -> None:
    needs(target, "packets" in target.capabilities.limit_units, "no limit in packets")
    sizes = [60, 1514, 60, 1514, 60, 60]
    outcome = run(burst(numbered(sizes)), ONE_FLOW, Bottleneck(limit=4, unit="packets"))
    assert dropped_of(outcome) == [4, 5]


@pytest.mark.slow
def test_the_cell_limit_counts_whole_cells(run: Run, target: Target) -> None:
    needs(target, "cells" in target.capabilities.limit_units, "no limit in cells")
    # 80 bytes a cell: 1, 1, 2, 19, 2 cells; 25 is met, one cell more is not.
    sizes = [79, 80, 81, 1514, 160, 60]
    outcome = run(burst(numbered(sizes)), ONE_FLOW, Bottleneck(limit=25, unit="cells"))
    assert dropped_of(outcome) == [5]
    outcome = run(burst(numbered(sizes)), ONE_FLOW, Bottleneck(limit=24, unit="cells"))
    assert dropped_of(outcome) == [4]


def test_what_is_being_sent_may_hold_no_room(run: Run, target: Target) -> None:
    needs(target, "queue" in target.capabilities.limit_counts, "its limit counts what is sent")
    bottleneck = Bottleneck(limit=2 * 1514, counts="queue")
    outcome = run(burst(numbered([1514] * 4)), ONE_FLOW, bottleneck)
    assert dropped_of(outcome) == [3]
    assert list(outcome.departed["queue_bytes"]) == [0, 1514, 2 * 1514]


def test_serialisation_sets_the_departures(run: Run, target: Target) -> None:
    needs(target, target.capabilities.exact_times, "times are not exact")
    sizes = [1000, 500, 60]
    outcome = run(burst(numbered(sizes)), ONE_FLOW, Bottleneck())
    ends = np.cumsum(sizes) * BYTE_NS
    assert list(time_of(outcome.postcards, "dequeue")) == list(ends)
    assert [packet.time_ns for packet in outcome.out] == list(ends)
    assert list(time_of(outcome.postcards, "enqueue")) == [0, 0, 0]


def test_overhead_takes_time_but_no_room(run: Run, target: Target) -> None:
    needs(target, target.capabilities.exact_times, "times are not exact")
    needs(target, target.capabilities.overhead, "no overhead")
    bottleneck = Bottleneck(limit=2000, overhead=24)
    outcome = run(burst(numbered([1000, 1000, 60])), ONE_FLOW, bottleneck)
    assert dropped_of(outcome) == [2]
    departures = list(time_of(outcome.departed, "dequeue"))
    assert departures == [1024 * BYTE_NS, 2048 * BYTE_NS]
    assert list(outcome.departed["packet_bytes"]) == [1000, 1000]


def test_an_idle_line_saves_nothing_up(run: Run, target: Target) -> None:
    needs(target, target.capabilities.exact_times, "times are not exact")
    first, second, third = numbered([1000, 1000, 1000])
    later = 10_000_000
    packets = [Packet(0, first), Packet(later, second), Packet(later, third)]
    outcome = run(packets, ONE_FLOW, Bottleneck())
    ends = [1000 * BYTE_NS, later + 1000 * BYTE_NS, later + 2000 * BYTE_NS]
    assert list(time_of(outcome.postcards, "dequeue")) == ends


def test_room_is_there_at_the_very_departure(run: Run, target: Target) -> None:
    needs(target, target.capabilities.exact_times, "times are not exact")
    end = 1000 * BYTE_NS
    frames = numbered([1000, 1000, 1000, 1000])
    packets = [*burst(frames[:2]), Packet(end - 1, frames[2]), Packet(end, frames[3])]
    outcome = run(packets, ONE_FLOW, Bottleneck(limit=2000))
    assert dropped_of(outcome) == [2]
    assert list(outcome.dropped["queue_bytes"]) == [2000]


def test_fractions_of_a_nanosecond_are_carried(run: Run, target: Target) -> None:
    needs(target, target.capabilities.exact_times, "times are not exact")
    # 60 bytes at 7 Mbit/s take 68571 and 3/7 ns.
    outcome = run(burst(numbered([60] * 70)), ONE_FLOW, Bottleneck(rate_bps=7_000_000))
    expected = [480 * 10**9 * (i + 1) // 7_000_000 for i in range(70)]
    assert list(time_of(outcome.postcards, "dequeue")) == expected


def test_a_drop_has_its_postcard_at_its_arrival(run: Run, target: Target) -> None:
    needs(target, target.capabilities.exact_times, "times are not exact")
    frames = numbered([1000] * 3)
    packets = [*burst(frames[:2]), Packet(100, frames[2])]
    outcome = run(packets, ONE_FLOW, Bottleneck(limit=2000))
    [drop] = outcome.dropped
    assert (drop["packet_bytes"], drop["payload_bytes"], drop["flow"]) == (1000, 946, 0)
    assert list(time_of(outcome.dropped, "enqueue")) == [100]
    assert list(time_of(outcome.dropped, "dequeue")) == [100]
    # Postcards come in the order of what happened: the drop before both departures.
    assert list(outcome.postcards["kind"]) == [1, 0, 0]
    assert outcome.frames == frames[:2]


@pytest.mark.slow
def test_a_crowd_against_the_plain_model(run: Run, target: Target) -> None:
    needs(target, target.capabilities.exact_times, "times are not exact")
    rng = np.random.default_rng(5)
    times = np.cumsum(rng.integers(0, 110_000, 500))
    times -= times[0]
    sizes = [int(size) for size in rng.integers(60, 1515, 500)]
    frames = numbered(sizes)
    outcome = run(
        [Packet(int(t), f) for t, f in zip(times, frames, strict=True)],
        ONE_FLOW,
        Bottleneck(limit=6000),
    )
    arrivals = [Arrival(int(t), s) for t, s in zip(times, sizes, strict=True)]
    expected = droptail(arrivals, rate_bps=100_000_000, limit=6000)
    assert sorted(dropped_of(outcome)) == [i for i, e in enumerate(expected) if e.dropped]
    assert 20 < len(outcome.dropped) < 400
    by_packet = outcome.postcards[np.argsort(outcome.postcards["tcp_seq"])]
    assert list(by_packet["queue_bytes"]) == [e.queue_bytes for e in expected]
    assert list(time_of(by_packet, "dequeue")) == [e.departure_ns for e in expected]
