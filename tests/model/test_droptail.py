# SPDX-License-Identifier: Apache-2.0
"""The data plane in virtual time against the plain model: no mismatch at all.

In both of its forms: fed by a capture, and as the library that a guest's kernel calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.records import POSTCARD
from numpy.typing import NDArray
from tests.model.droptail import Arrival, droptail
from tests.support.capture import (
    HEADERS_BYTES,
    RECORD_HEADER_BYTES,
    read_capture,
    tcp_capture,
    tcp_records,
)
from tests.support.control import Client
from tests.support.replay import PIPELINES, Bottleneck, need_pipeline, replay, time_of
from tests.support.virtual import RECEIVERS, SENDERS, Packets, library

pytestmark = pytest.mark.dataplane

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Passed:
    """What came out.

    Attributes:
        postcards: Shape (n,), dtype records.POSTCARD, as written.
        departures: Frames at the receivers in their order: (time since the first arrival in ns,
            frame as far as its headers) each.
        flows: Each flow's registers by name.
    """

    postcards: NDArray[Any]
    departures: list[tuple[int, bytes]]
    flows: list[dict[str, int]]


PassThrough = Callable[[Path, Bottleneck, Ints, Ints, Ints], Passed]
"""Of a folder, a bottleneck, and the packets' times, sizes and flows."""


def by_replay(pipeline: str) -> PassThrough:
    """By `nashbed-replay`, from a capture."""

    def run(folder: Path, bottleneck: Bottleneck, times: Ints, sizes: Ints, flows: Ints) -> Passed:
        replayed = replay(folder, tcp_capture(times, sizes, flows), bottleneck, pipeline)
        departures = read_capture(replayed.departures)
        return Passed(
            postcards=replayed.postcards,
            departures=[(time_ns - int(times[0]), frame) for time_ns, frame in departures],
            flows=replayed.summary["flows"],
        )

    return run


def by_library(pipeline: str) -> PassThrough:
    """By the library, frame by frame."""

    def run(folder: Path, bottleneck: Bottleneck, times: Ints, sizes: Ints, flows: Ints) -> Passed:
        with library(folder, pipeline=pipeline) as made, Client(made.socket) as client:
            n = int(flows.max()) + 1
            client.call("program", lane=0, **bottleneck.config())
            client.call("flows", lane=0, entries=[entry(flow) for flow in range(n)])
            client.call("telemetry", lane=0, mode="all", path=str(folder / "cards"))
            left = made.play(client, headers(times, sizes, flows), HEADERS_BYTES)
            totals = client.call("telemetry_stop", lane=0)
            assert (totals["gaps"], totals["lost"]) == (0, 0)
            registers = client.call("counters", lane=0, flows=[0, n])["flows"]
            client.call("shutdown")
            assert made.end() == ""
        return Passed(
            postcards=np.fromfile(folder / "cards", POSTCARD),
            departures=left.on(RECEIVERS),
            flows=[
                {"flow": flow} | {name: values[flow] for name, values in registers.items()}
                for flow in range(n)
            ],
        )

    return run


def entry(flow: int) -> dict[str, Any]:
    """The flow table's entry for a flow of tcp_records."""
    hosts = {"src": "10.64.0.1", "dst": "10.65.0.1"}
    return {"flow": flow, "sport": 10000 + flow, "dport": 5001, "proto": 6} | hosts


def headers(times: Ints, sizes: Ints, flows: Ints) -> Packets:
    """The packets of tcp_records, as they come from the senders."""
    records = tcp_records(times, sizes, flows)
    rows = records.view(np.uint8).reshape(len(records), -1)[:, RECORD_HEADER_BYTES:]
    return Packets(
        times=times - times[0],
        wires=np.full(len(times), SENDERS),
        lengths=sizes,
        captured=np.full(len(times), HEADERS_BYTES),
        data=np.ascontiguousarray(rows).ravel(),
    )


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


def check(passed: Passed, bottleneck: Bottleneck, times: Ints, sizes: Ints, flows: Ints) -> int:
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
    cards = passed.postcards
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
    check_departures(passed, order[~dropped[order]], departure, sizes)
    check_registers(passed, times, sizes, flows, dropped, departure)
    return int(dropped.sum())


def check_departures(passed: Passed, order: Ints, departure: Ints, sizes: Ints) -> None:
    """The frames themselves, at their times: packets `order`, in that order."""
    assert [time_ns for time_ns, _ in passed.departures] == departure[order].tolist()
    frames = [frame for _, frame in passed.departures]
    assert [int.from_bytes(frame[38:42], "big") for frame in frames] == order.tolist()
    totals = [int.from_bytes(frame[16:18], "big") for frame in frames]
    assert totals == (sizes[order] - 14).tolist()


def peak_of(times: Ints, sizes: Ints, departure: Ints) -> int:
    """The most bytes of one flow in the queue: at equal times what leaves goes first."""
    moments = np.concatenate([departure, times])
    change = np.concatenate([-sizes, sizes])
    order = np.lexsort((change, moments))
    return int(np.cumsum(change[order]).max(initial=0))


def check_registers(
    passed: Passed,
    times: Ints,
    sizes: Ints,
    flows: Ints,
    dropped: NDArray[np.bool_],
    departure: Ints,
) -> None:
    """P4's per-flow registers against sums over the model, the peak included."""
    for registers in passed.flows:
        mine = flows == registers["flow"]
        left = mine & ~dropped
        assert registers["arrived_packets"] == mine.sum()
        assert registers["arrived_bytes"] == sizes[mine].sum()
        assert registers["departed_packets"] == left.sum()
        assert registers["departed_bytes"] == sizes[left].sum()
        assert registers["dropped_packets"] == (mine & dropped).sum()
        assert registers["dropped_bytes"] == sizes[mine & dropped].sum()
        assert registers["in_queue_bytes"] == 0
        assert registers["peak_queue_bytes"] == peak_of(times[left], sizes[left], departure[left])


@pytest.fixture(params=PIPELINES)
def pipeline(request: pytest.FixtureRequest) -> str:
    """Each way to run the P4 program that there is here."""
    need_pipeline(request.param)
    return str(request.param)


@pytest.fixture(params=[by_replay, by_library], ids=["replay", "library"])
def pass_through(request: pytest.FixtureRequest, pipeline: str) -> PassThrough:
    """Each form of the data plane in virtual time."""
    made: PassThrough = request.param(pipeline)
    return made


@pytest.mark.slow
def test_a_million_packets(tmp_path: Path, pass_through: PassThrough) -> None:
    bottleneck = Bottleneck(rate_bps=100_000_000, limit=100_000)
    times, sizes, flows = random_arrivals(seed=1, n=1_000_000, mean_gap_ns=80_000)
    passed = pass_through(tmp_path, bottleneck, times, sizes, flows)
    drops = check(passed, bottleneck, times, sizes, flows)
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
def test_limits_and_overheads(
    tmp_path: Path, bottleneck: Bottleneck, pass_through: PassThrough
) -> None:
    slowness = 100_000_000 / bottleneck.rate_bps * (1 + bottleneck.overhead / 800)
    times, sizes, flows = random_arrivals(seed=2, n=20_000, mean_gap_ns=80_000 * slowness)
    passed = pass_through(tmp_path, bottleneck, times, sizes, flows)
    assert check(passed, bottleneck, times, sizes, flows) > 100


def test_departures_are_the_packets_at_their_times(
    tmp_path: Path, pass_through: PassThrough
) -> None:
    times, sizes, flows = random_arrivals(seed=3, n=5_000, mean_gap_ns=80_000)
    passed = pass_through(tmp_path, Bottleneck(limit=20_000), times, sizes, flows)
    departed = passed.postcards[passed.postcards["kind"] == 0]
    assert [time_ns for time_ns, _ in passed.departures] == list(time_of(departed, "dequeue"))
    sequence = [int.from_bytes(frame[38:42], "big") for _, frame in passed.departures]
    assert sequence == list(departed["tcp_seq"])


def test_the_same_bytes_every_time(tmp_path: Path, pipeline: str) -> None:
    times, sizes, flows = random_arrivals(seed=4, n=5_000, mean_gap_ns=80_000)
    capture = tcp_capture(times, sizes, flows)
    first = replay(tmp_path / "a", capture, Bottleneck(), pipeline)
    second = replay(tmp_path / "b", capture, Bottleneck(), pipeline)
    for name in ("postcards.raw", "departures.pcap", "replay.json"):
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()
