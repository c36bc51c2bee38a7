# SPDX-License-Identifier: Apache-2.0
"""The data plane in virtual time against the plain model: no mismatch at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.model.droptail import Arrival, droptail
from tests.support.capture import read_capture, tcp_capture
from tests.support.replay import PIPELINES, Bottleneck, Replayed, need_pipeline, replay, time_of

pytestmark = pytest.mark.dataplane

Ints = NDArray[np.int64]


def random_arrivals(seed: int, n: int, mean_gap_ns: float) -> tuple[Ints, Ints, Ints]:
    """Times, sizes and flows: bursts, ties, idle times, sizes from 54 to 1514 bytes."""
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(mean_gap_ns, n).astype(np.int64)
    gaps[rng.random(n) < 0.2] = 0  # several at the very same time
    idle = rng.random(n) < 0.001
    gaps[idle] += rng.integers(0, 50_000_000, idle.sum())  # the queue runs dry
    sizes = np.where(rng.random(n) < 0.5, 1514, rng.integers(54, 1515, n))
    flows = rng.integers(0, 50, n)
    flows[:50] = np.arange(50)  # flow ids are given in the order of first packets
    return np.cumsum(gaps), sizes, flows


def check(replayed: Replayed, bottleneck: Bottleneck, times: Ints, sizes: Ints, flows: Ints) -> int:
    """Compare every postcard and departure with the model; the number of drops."""
    times = times - times[0]
    arrivals = [Arrival(int(t), int(s)) for t, s in zip(times, sizes, strict=True)]
    outcomes = droptail(
        arrivals,
        bottleneck.rate_bps,
        bottleneck.limit,
        bottleneck.unit,
        bottleneck.cell_bytes,
        bottleneck.overhead,
    )
    dropped = np.array([o.dropped for o in outcomes])
    departure = np.array([o.departure_ns for o in outcomes])
    queue_bytes = np.array([o.queue_bytes for o in outcomes])
    # In order of time; at one instant what leaves makes room before the next comes.
    order = np.lexsort((np.arange(len(times)), dropped, departure))
    cards = replayed.postcards
    assert len(cards) == len(times)
    np.testing.assert_array_equal(cards["tcp_seq"], order)
    np.testing.assert_array_equal(cards["kind"], dropped[order].astype(int))
    np.testing.assert_array_equal(cards["flow"], flows[order])
    np.testing.assert_array_equal(cards["packet_bytes"], sizes[order])
    np.testing.assert_array_equal(cards["payload_bytes"], sizes[order] - 54)
    np.testing.assert_array_equal(cards["queue_bytes"], queue_bytes[order])
    np.testing.assert_array_equal(time_of(cards, "enqueue"), times[order])
    np.testing.assert_array_equal(time_of(cards, "dequeue"), departure[order])
    np.testing.assert_array_equal(cards["lane_seq"], np.arange(len(times)))
    check_registers(replayed, times, sizes, flows, dropped, departure)
    return int(dropped.sum())


def peak_of(times: Ints, sizes: Ints, departure: Ints) -> int:
    """The most bytes of one flow in the queue: at equal times what leaves goes first."""
    moments = np.concatenate([departure, times])
    change = np.concatenate([-sizes, sizes])
    order = np.lexsort((change, moments))
    return int(np.cumsum(change[order]).max(initial=0))


def check_registers(
    replayed: Replayed,
    times: Ints,
    sizes: Ints,
    flows: Ints,
    dropped: NDArray[np.bool_],
    departure: Ints,
) -> None:
    """P4's per-flow registers against sums over the model, the peak included."""
    for entry in replayed.summary["flows"]:
        mine = flows == entry["flow"]
        left = mine & ~dropped
        assert entry["arrived_packets"] == mine.sum()
        assert entry["arrived_bytes"] == sizes[mine].sum()
        assert entry["departed_packets"] == left.sum()
        assert entry["departed_bytes"] == sizes[left].sum()
        assert entry["dropped_packets"] == (mine & dropped).sum()
        assert entry["dropped_bytes"] == sizes[mine & dropped].sum()
        assert entry["in_queue_bytes"] == 0
        assert entry["peak_queue_bytes"] == peak_of(times[left], sizes[left], departure[left])


@pytest.fixture(params=PIPELINES)
def pipeline(request: pytest.FixtureRequest) -> str:
    """Each way to run the P4 program that there is here."""
    need_pipeline(request.param)
    return str(request.param)


@pytest.mark.slow
def test_a_million_packets(tmp_path: Path, pipeline: str) -> None:
    bottleneck = Bottleneck(rate_bps=100_000_000, limit=100_000)
    times, sizes, flows = random_arrivals(seed=1, n=1_000_000, mean_gap_ns=80_000)
    replayed = replay(tmp_path, tcp_capture(times, sizes, flows), bottleneck, pipeline)
    drops = check(replayed, bottleneck, times, sizes, flows)
    assert 10_000 < drops < 500_000  # or the test would not test the limit


@pytest.mark.parametrize(
    "bottleneck",
    [
        Bottleneck(limit=17, unit="packets"),
        Bottleneck(limit=400, unit="cells", cell_bytes=80),
        Bottleneck(limit=300, unit="cells", cell_bytes=176, overhead=24),
        Bottleneck(limit=1514),
        Bottleneck(rate_bps=99_999_989, limit=30_000, overhead=24),
        Bottleneck(rate_bps=1_000_003, limit=250_000, overhead=4096),
    ],
    ids=lambda b: f"{b.rate_bps}bps-{b.limit}{b.unit}+{b.overhead}",
)
def test_limits_and_overheads(tmp_path: Path, bottleneck: Bottleneck, pipeline: str) -> None:
    slowness = 100_000_000 / bottleneck.rate_bps * (1 + bottleneck.overhead / 800)
    times, sizes, flows = random_arrivals(seed=2, n=20_000, mean_gap_ns=80_000 * slowness)
    replayed = replay(tmp_path, tcp_capture(times, sizes, flows), bottleneck, pipeline)
    assert check(replayed, bottleneck, times, sizes, flows) > 100


def test_departures_are_the_packets_at_their_times(tmp_path: Path, pipeline: str) -> None:
    times, sizes, flows = random_arrivals(seed=3, n=5_000, mean_gap_ns=80_000)
    replayed = replay(
        tmp_path, tcp_capture(times, sizes, flows), Bottleneck(limit=20_000), pipeline
    )
    departed = replayed.postcards[replayed.postcards["kind"] == 0]
    packets = read_capture(replayed.departures)
    assert [t for t, _ in packets] == list(times[0] + time_of(departed, "dequeue"))
    sequence = [int.from_bytes(frame[38:42], "big") for _, frame in packets]
    assert sequence == list(departed["tcp_seq"])


def test_the_same_bytes_every_time(tmp_path: Path, pipeline: str) -> None:
    times, sizes, flows = random_arrivals(seed=4, n=5_000, mean_gap_ns=80_000)
    capture = tcp_capture(times, sizes, flows)
    first = replay(tmp_path / "a", capture, Bottleneck(), pipeline)
    second = replay(tmp_path / "b", capture, Bottleneck(), pipeline)
    for name in ("postcards.raw", "departures.pcap", "replay.json"):
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()
