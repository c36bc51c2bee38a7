"""The data plane in virtual time against the plain model: no mismatch at all.

In both of its forms: fed by a capture, and as the library that a guest's kernel calls.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.records import POSTCARD
from numpy.typing import NDArray
from tests.model.droptail import Arrival, droptail
from tests.model.trains import PSH, Frame, Segment, trains
from tests.support.capture import (
    HEADERS_BYTES,
    RECORD_HEADER_BYTES,
    read_capture,
    records_capture,
    tcp_records,
    times_of,
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


PassThrough = Callable[[Path, Bottleneck, NDArray[Any]], Passed]
"""Passes packets of dtype TCP_FRAME through a bottleneck, with files in a folder."""


def by_replay(pipeline: str) -> PassThrough:
    def run(folder: Path, bottleneck: Bottleneck, records: NDArray[Any]) -> Passed:
        replayed = replay(folder, records_capture(records), bottleneck, pipeline)
        departures = read_capture(replayed.departures)
        first_ns = int(times_of(records)[0])
        return Passed(
            postcards=replayed.postcards,
            departures=[(time_ns - first_ns, frame) for time_ns, frame in departures],
            flows=replayed.summary["flows"],
        )

    return run


def by_library(pipeline: str) -> PassThrough:
    def run(folder: Path, bottleneck: Bottleneck, records: NDArray[Any]) -> Passed:
        with library(folder, pipeline=pipeline) as made, Client(made.socket) as client:
            n = int(records["sport"].max()) - 10000 + 1
            client.call("program", lane=0, **bottleneck.config())
            client.call("flows", lane=0, entries=[entry(flow) for flow in range(n)])
            client.call("telemetry", lane=0, mode="all", path=str(folder / "cards"))
            left = made.play(client, headers(records), HEADERS_BYTES)
            totals = client.stop_telemetry(0)
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


def headers(records: NDArray[Any]) -> Packets:
    """The packets of tcp_records, as they come from the senders."""
    times = times_of(records)
    rows = records.view(np.uint8).reshape(len(records), -1)[:, RECORD_HEADER_BYTES:]
    return Packets(
        times=times - times[0],
        wires=np.full(len(records), SENDERS),
        lengths=records["length"].astype(np.int64),
        captured=np.full(len(records), HEADERS_BYTES),
        data=np.ascontiguousarray(rows).ravel(),
    )


def random_arrivals(seed: int, n: int, mean_gap_ns: float) -> NDArray[Any]:
    """Packets: bursts, ties, idle times, sizes from 54 to 1514 bytes."""
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(mean_gap_ns, n).astype(np.int64)
    gaps[rng.random(n) < 0.2] = 0  # several at the very same time
    idle = rng.random(n) < 0.001
    gaps[idle] += rng.integers(0, 50_000_000, idle.sum())  # the queue runs dry
    sizes = np.where(rng.random(n) < 0.5, 1514, rng.integers(54, 1515, n))
    flows = rng.integers(0, 50, n)
    flows[:50] = np.arange(50)  # flow ids are given in the order of first packets
    return tcp_records(np.cumsum(gaps), sizes, flows)


def random_tso(seed: int, n: int, mean_gap_ns: float) -> NDArray[Any]:
    """Packets of TSO packets: one to six frames at one instant, in sequence, PSH in the last.

    Sometimes two of one flow come at one instant, sometimes another flow's between their frames.
    """
    rng = np.random.default_rng(seed)
    frames = rng.integers(1, 7, n)
    gaps = rng.exponential(mean_gap_ns * frames).astype(np.int64)
    gaps[rng.random(n) < 0.2] = 0
    flows = rng.integers(0, 5, n)
    flows[:5] = np.arange(5)
    last = np.cumsum(frames) - 1
    sizes = np.full(last[-1] + 1, 1514)
    sizes[last[rng.random(n) < 0.2]] = 700
    records = tcp_records(np.repeat(np.cumsum(gaps), frames), sizes, np.repeat(flows, frames))
    records["flags"][last[frames > 1]] |= PSH
    for flow in range(5):
        mine = records["sport"] == 10000 + flow
        sent = np.cumsum(sizes[mine] - HEADERS_BYTES)
        records["seq"][mine] = (2**32 - 10**5 + np.append(0, sent[:-1])) % 2**32
    return records


def train_numbers(records: NDArray[Any]) -> list[int]:
    columns = (times_of(records), records["length"], records["sport"], records["seq"])
    frames = [
        Frame(time_ns, 0, size, Segment(sport, seq, size - HEADERS_BYTES, flags))
        for time_ns, size, sport, seq, flags in zip(
            *(column.tolist() for column in (*columns, records["flags"])), strict=True
        )
    ]
    return [number for number, train in enumerate(trains(frames)) for _ in train]


def check(passed: Passed, bottleneck: Bottleneck, records: NDArray[Any]) -> int:
    """Compare every postcard and departure with the model; the number of drops."""
    times = times_of(records)
    times = times - times[0]
    sizes, flows = records["length"].astype(np.int64), records["sport"].astype(np.int64) - 10000
    arrivals = [Arrival(int(t), int(s)) for t, s in zip(times, sizes, strict=True)]
    outcomes = droptail(
        arrivals,
        bottleneck.rate_bps,
        bottleneck.limit,
        bottleneck.unit,
        bottleneck.cell_bytes,
        bottleneck.overhead,
        train_numbers(records) if bottleneck.arrivals == "trains" else None,
        counts=bottleneck.counts,
    )
    dropped = np.array([o.dropped for o in outcomes])
    departure = np.array([o.departure_ns for o in outcomes])
    queue_bytes = np.array([o.queue_bytes for o in outcomes])
    # In order of time; at one instant what leaves makes room before the next comes.
    order = np.lexsort((np.arange(len(times)), dropped, departure))
    cards = passed.postcards
    assert len(cards) == len(times)
    np.testing.assert_array_equal(cards["tcp_seq"], records["seq"][order])
    np.testing.assert_array_equal(cards["kind"], dropped[order].astype(int))
    np.testing.assert_array_equal(cards["flow"], flows[order])
    np.testing.assert_array_equal(cards["packet_bytes"], sizes[order])
    np.testing.assert_array_equal(cards["payload_bytes"], sizes[order] - 54)
    np.testing.assert_array_equal(cards["queue_bytes"], queue_bytes[order])
    np.testing.assert_array_equal(time_of(cards, "enqueue"), times[order])
    np.testing.assert_array_equal(time_of(cards, "dequeue"), departure[order])
    np.testing.assert_array_equal(cards["lane_seq"], np.arange(len(times)))
    check_departures(passed, order[~dropped[order]], departure, records)
    check_registers(passed, times, sizes, flows, dropped, departure)
    return int(dropped.sum())


def check_departures(passed: Passed, order: Ints, departure: Ints, records: NDArray[Any]) -> None:
    """The frames themselves, at their times: packets `order`, in that order."""
    assert [time_ns for time_ns, _ in passed.departures] == departure[order].tolist()
    frames = [frame for _, frame in passed.departures]
    sequence = [int.from_bytes(frame[38:42], "big") for frame in frames]
    assert sequence == records["seq"][order].tolist()
    totals = [int.from_bytes(frame[16:18], "big") for frame in frames]
    assert totals == records["total_bytes"][order].tolist()


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


FORMS = {
    f"{name}-{pipeline}": (form, pipeline)
    for name, form in (("replay", by_replay), ("library", by_library))
    for pipeline in PIPELINES
}
"""Each form of the data plane in virtual time, with each way to run its P4 program."""


def form(name: str) -> PassThrough:
    """One of FORMS, if it is here."""
    make, pipeline = FORMS[name]
    need_pipeline(pipeline)
    return make(pipeline)


def each_by_one_form(cases: list[Any]) -> list[tuple[Any, str]]:
    """Cases, and the forms in turn: each value of a case meets more than one of them."""
    return list(zip(cases, cycle(FORMS), strict=False))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("replay-interpreted", 70_000),
        ("library-native", 70_000),
        *(
            pytest.param(name, 140_000 if "library" in name else 300_000, marks=pytest.mark.long)
            for name in FORMS
        ),
    ],
)
def test_very_many_packets(tmp_path: Path, name: str, count: int) -> None:
    """All 16-bit numbers wrap; the library's packets come one by one from Python."""
    bottleneck = Bottleneck(rate_bps=100_000_000, limit=100_000)
    records = random_arrivals(seed=1, n=count, mean_gap_ns=80_000)
    drops = check(form(name)(tmp_path, bottleneck, records), bottleneck, records)
    assert count / 100 < drops < count / 2  # or the test would not test the limit


LIMITS = [
    Bottleneck(limit=17, unit="packets"),
    Bottleneck(limit=400, unit="cells", cell_bytes=80),
    Bottleneck(limit=300, unit="cells", cell_bytes=176, overhead=24),
    Bottleneck(limit=1514),
    Bottleneck(rate_bps=99_999_989, limit=30_000, overhead=24),
    Bottleneck(rate_bps=1_000_003, limit=250_000, overhead=4096),
    Bottleneck(limit=17, unit="packets", counts="queue"),
    Bottleneck(limit=300, unit="cells", cell_bytes=176, overhead=24, counts="queue"),
    Bottleneck(limit=1514, counts="queue"),
    Bottleneck(rate_bps=99_999_989, limit=30_000, counts="queue"),
]


@pytest.mark.parametrize(
    ("bottleneck", "name"),
    each_by_one_form(LIMITS),
    ids=lambda b: (
        b if isinstance(b, str) else f"{b.rate_bps}bps-{b.limit}{b.unit}+{b.overhead}-{b.counts}"
    ),
)
def test_limits_and_overheads(tmp_path: Path, bottleneck: Bottleneck, name: str) -> None:
    slowness = 100_000_000 / bottleneck.rate_bps * (1 + bottleneck.overhead / 800)
    records = random_arrivals(seed=2, n=4_000, mean_gap_ns=80_000 * slowness)
    assert check(form(name)(tmp_path, bottleneck, records), bottleneck, records) > 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arrivals", "counts", "name"),
    [
        ("frames", "system", "library-interpreted"),
        ("trains", "system", "replay-native"),
        ("trains", "system", "library-native"),
        ("trains", "queue", "library-interpreted"),
        ("trains", "queue", "replay-interpreted"),
    ],
)
def test_trains(tmp_path: Path, arrivals: str, counts: str, name: str) -> None:
    bottleneck = Bottleneck(limit=30_000, arrivals=arrivals, counts=counts)
    records = random_tso(seed=5, n=3_000, mean_gap_ns=115_000)
    assert check(form(name)(tmp_path, bottleneck, records), bottleneck, records) > 500


def test_where_no_train_is_possible_frames_and_trains_are_the_same(tmp_path: Path) -> None:
    """Sequence numbers that do not follow each other."""
    capture = records_capture(random_arrivals(seed=6, n=5_000, mean_gap_ns=80_000))
    made = [
        replay(tmp_path / arrivals, capture, Bottleneck(limit=20_000, arrivals=arrivals))
        for arrivals in ("frames", "trains")
    ]
    assert made[0].postcards.tobytes() == made[1].postcards.tobytes()
    assert made[0].departures == made[1].departures


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_the_same_bytes_every_time(tmp_path: Path, pipeline: str) -> None:
    capture = records_capture(random_arrivals(seed=4, n=5_000, mean_gap_ns=80_000))
    first = replay(tmp_path / "a", capture, Bottleneck(), pipeline)
    second = replay(tmp_path / "b", capture, Bottleneck(), pipeline)
    for name in ("postcards.raw", "departures.pcap", "replay.json"):
        assert (first.folder / name).read_bytes() == (second.folder / name).read_bytes()
