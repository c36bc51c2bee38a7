"""Traces of Perfetto, parsed by Perfetto's own descriptors, against the tables.

trace_processor, which would judge a trace as a whole, is in no package; PyPI's downloads it. What
it asks of a trace is checked here instead: tracks described before they are used, slices that end,
times on one sequence.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.unknown_fields import UnknownFieldSet
from nashbed.analysis.traces import Selection
from nashbed.analysis.traces.arrivals import Retransmissions, by_arrival
from nashbed.analysis.traces.perfetto import BIN_NS, write_perfetto
from nashbed.controlplane.contract.records import KIND_DROPPED, MARK_CE
from nashbed.controlplane.contract.shared import DROP_REASONS
from nashbed.controlplane.store.finished_run import open_run
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent
from tests.support.synthetic_run import SCENARIO, RunWriter, bins_of, write_table

Key = tuple[str, str]


@dataclass
class Read:
    """A trace: (group, track) -> what is on it; times after t0."""

    units: dict[Key, str] = field(default_factory=dict)
    counters: dict[Key, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    slices: dict[Key, list[tuple[int, int, str]]] = field(default_factory=lambda: defaultdict(list))
    instants: dict[Key, list[tuple[int, str, dict[str, Any]]]] = field(
        default_factory=lambda: defaultdict(list)
    )


def read(path: Path, base_ns: int) -> Read:
    trace = Trace.FromString(path.read_bytes())
    found, names, counters = Read(), {}, set()
    began: dict[Key, tuple[int, str]] = {}
    assert trace.packet[0].sequence_flags == TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    for packet in trace.packet:
        assert len(UnknownFieldSet(packet)) == 0
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("track_descriptor"):
            about = packet.track_descriptor
            assert about.uuid not in names
            parent = names[about.parent_uuid][1] if about.parent_uuid else ""
            names[about.uuid] = (parent, about.name)
            if about.HasField("counter"):
                counters.add(about.uuid)
                found.units[names[about.uuid]] = about.counter.unit_name
        elif packet.HasField("track_event"):
            event, at = packet.track_event, packet.timestamp - base_ns
            key = names[event.track_uuid]
            assert (event.type == TrackEvent.TYPE_COUNTER) == (event.track_uuid in counters)
            _event(found, began, key, at, event)
    assert began == {}
    return found


def _event(found: Read, began: dict[Key, Any], key: Key, at: int, event: Any) -> None:
    if event.type == TrackEvent.TYPE_COUNTER:
        found.counters[key].append((at, event.double_counter_value))
    elif event.type == TrackEvent.TYPE_SLICE_BEGIN:
        assert key not in began
        began[key] = (at, event.name)
    elif event.type == TrackEvent.TYPE_SLICE_END:
        begin, name = began.pop(key)
        assert begin <= at
        found.slices[key].append((begin, at, name))
    else:
        assert event.type == TrackEvent.TYPE_INSTANT
        fields = {
            each.name: getattr(each, str(each.WhichOneof("value")))
            for each in event.debug_annotations
        }
        found.instants[key].append((at, event.name, fields))


@pytest.fixture(scope="module", params=["whole", "with_bins"])
def exported(request, tmp_path_factory) -> tuple[Selection, Read]:
    chosen = request.getfixturevalue(request.param)
    path = tmp_path_factory.mktemp("perfetto") / "trial.pftrace"
    counts = write_perfetto(chosen, path)
    found = read(path, chosen.base_ns)
    points = sum(map(len, [*found.counters.values(), *found.instants.values()]))
    assert counts["events"] == points + 2 * sum(map(len, found.slices.values()))
    return chosen, found


def per_flow(chosen: Selection, table: str) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    columns = chosen.trial.arrays(table)
    for flow in chosen.control:
        mine = columns["flow"] == flow
        yield chosen.name(flow), {name: column[mine] for name, column in columns.items()}


def test_counters_are_the_samples(exported: tuple[Selection, Read]) -> None:
    chosen, found = exported
    for group, samples in per_flow(chosen, "flow_samples"):
        at = samples["t_ns"].tolist()
        for name, unit, values in (
            ("cwnd", "B", samples["cwnd_pkts"].astype(int) * samples["mss"]),
            ("in flight", "B", samples["inflight_bytes"]),
            ("smoothed RTT", "us", samples["srtt_us"]),
            ("delivery rate", "bit/s", samples["delivery_rate_bps"]),
            ("bandwidth estimate", "bit/s", samples["bbr_bw_bps"]),
        ):
            known = np.isfinite(np.asarray(values, float))
            expected = [(t, float(v)) for t, v, k in zip(at, values, known, strict=True) if k]
            assert found.counters.get((group, name), []) == expected
            if expected:
                assert found.units[group, name] == unit


def test_goodput_is_a_rate_from_the_beginning_of_its_interval(exported) -> None:
    chosen, found = exported
    for group, rows in per_flow(chosen, "goodput"):
        course = found.counters[group, "goodput"]
        step = int(rows["t_ns"][1] - rows["t_ns"][0])
        assert [at for at, _ in course] == (rows["t_ns"] - step).tolist()
        assert sum(v for _, v in course) * step / 8e9 == pytest.approx(int(rows["bytes"].sum()))


def test_states_cover_the_samples_without_a_gap(exported: tuple[Selection, Read]) -> None:
    chosen, found = exported
    for flow, (group, samples) in zip(
        chosen.control, per_flow(chosen, "flow_samples"), strict=True
    ):
        for name in (f"{chosen.control[flow]} state", "TCP state"):
            slices = found.slices[group, name]
            assert slices[0][0] == samples["t_ns"][0]
            assert slices[-1][1] == samples["t_ns"][-1]
            for one, other in pairwise(slices):
                assert one[1] == other[0]
                assert one[2] != other[2]


def test_a_bbr_flow_probes(with_bins: Selection, tmp_path: Path) -> None:
    write_perfetto(with_bins, tmp_path / "t")
    slices = read(tmp_path / "t", with_bins.base_ns).slices
    names = {name for _, _, name in slices["flow 1 (bbr)", "bbr state"]}
    assert {"ProbeBW up", "ProbeBW down", "ProbeBW cruise"} <= names


def test_drops_and_the_queue_are_those_of_the_postcards(whole: Selection, tmp_path: Path) -> None:
    counts = write_perfetto(whole, tmp_path / "t")
    found = read(tmp_path / "t", whole.base_ns)
    cards = whole.trial.arrays("postcards")
    lost = cards["kind"] == KIND_DROPPED
    assert counts["drops"] == lost.sum() > 0
    for flow in whole.control:
        rows = np.flatnonzero(lost & (cards["flow"] == flow))
        drops = [e for e in found.instants[whole.name(flow), "packets"] if e[1] == "drop"]
        assert [at for at, _, _ in drops] == cards["dequeue_ns"][rows].tolist()
        for (_, _, fields), n in zip(drops, rows, strict=True):
            assert fields.pop("reason") == DROP_REASONS[cards["marks"][n] & 15]
            assert fields == {name: cards[name][n] for name in fields}
            assert set(fields) == {"tcp_seq", "packet_bytes", "queue_bytes"}
    # The synthetic run's own sums in bins are made packet by packet, in another way.
    table = bins_of(cards, BIN_NS)
    expected: dict[int, float] = defaultdict(float)
    for at, mean in zip(table["bin_start_ns"].tolist(), table["occupancy_bytes_mean"], strict=True):
        expected[at] += mean
    course = dict(found.counters["bottleneck", "queue"])
    assert list(course) == list(range(min(expected), max(expected) + 1, BIN_NS))
    for at, mean in course.items():
        assert mean == pytest.approx(expected.get(at, 0.0), abs=1e-6)


def test_marks_are_those_of_the_postcards(
    whole: Selection, unmarked: Selection, tmp_path: Path
) -> None:
    counts = write_perfetto(whole, tmp_path / "t")
    found = read(tmp_path / "t", whole.base_ns)
    cards = whole.trial.arrays("postcards")
    marked = cards["marks"] & MARK_CE != 0
    assert counts["marks"] == marked.sum() > 0
    for flow in whole.control:
        rows = np.flatnonzero(marked & (cards["flow"] == flow))
        marks = [e for e in found.instants.get((whole.name(flow), "packets"), []) if e[1] == "mark"]
        assert sorted(at for at, _, _ in marks) == cards["dequeue_ns"][rows].tolist()
        numbers = {fields["tcp_seq"] for _, _, fields in marks}
        assert numbers == set(cards["tcp_seq"][rows].tolist())
    assert write_perfetto(unmarked, tmp_path / "u")["marks"] == 0


def test_bins_that_count_marks_are_a_counter(tmp_path: Path) -> None:
    """Version 0.1.0 counted none; a trial whose packets can be marked does."""
    raw = {**SCENARIO, "duration": "3s"}
    writer = RunWriter(tmp_path / "run", raw)
    trial = writer.add(writer.settings()[0], (2,), tables=("bins", "flow_samples"))
    run = writer.finish()
    bins = open_run(run).trials[0].arrays("bins")
    marked = bins["departed_packets"].astype(int) // 2
    write_table(trial, "bins", bins | {"marked_packets": marked, "capable_packets": marked})
    chosen = Selection(open_run(run).trials[0])
    assert write_perfetto(chosen, tmp_path / "t")["marks"] == marked.sum() > 0
    found = read(tmp_path / "t", chosen.base_ns)
    for flow in chosen.control:
        course = found.counters[chosen.name(flow), "marked packets in the bin"]
        assert sum(value for _, value in course) == marked[bins["flow"] == flow].sum()


def test_a_trial_with_bins_has_its_queue_and_drops_as_counters(with_bins, tmp_path) -> None:
    counts = write_perfetto(with_bins, tmp_path / "t")
    found = read(tmp_path / "t", with_bins.base_ns)
    table = with_bins.trial.arrays("bins")
    assert counts["drops"] == table["dropped_packets"].sum() > 0
    assert found.instants == {}
    begins = np.unique(table["bin_start_ns"])
    course = found.counters["bottleneck", "queue"]
    assert [at for at, _ in course] == begins.tolist()
    first = table["bin_start_ns"] == begins[0]
    assert course[0][1] == pytest.approx(table["occupancy_bytes_mean"][first].sum())
    dropped = sum(v for key, c in found.counters.items() if "dropped" in key[1] for _, v in c)
    assert dropped == counts["drops"]


def test_flows_and_time_are_chosen(whole: Selection, tmp_path: Path) -> None:
    chosen = replace(whole, flows=(1, 3), begin_ns=10**9, end_ns=2 * 10**9)
    write_perfetto(chosen, tmp_path / "t")
    found, everything = read(tmp_path / "t", whole.base_ns), tmp_path / "all"
    write_perfetto(whole, everything)
    complete = read(everything, whole.base_ns)
    groups = {key[0] for key in [*found.counters, *found.slices, *found.instants]}
    assert groups == {"bottleneck", whole.name(1), whole.name(3)}
    for key, course in found.counters.items():
        assert course == [(t, v) for t, v in complete.counters[key] if 10**9 <= t < 2 * 10**9]
    for key, events in found.instants.items():
        # A mark is when the packet leaves, and what is chosen is what arrived in that time.
        others = [e for e in complete.instants[key] if e[1] != "mark"]
        assert [e for e in events if e[1] != "mark"] == [
            e for e in others if 10**9 <= e[0] < 2 * 10**9
        ]
    cards = whole.trial.arrays("postcards")
    mine = (cards["flow"] == 3) & (cards["enqueue_ns"] >= 10**9) & (cards["enqueue_ns"] < 2 * 10**9)
    marked = np.flatnonzero(mine & (cards["marks"] & MARK_CE != 0))
    marks = [e[0] for e in found.instants[whole.name(3), "packets"] if e[1] == "mark"]
    assert sorted(marks) == cards["dequeue_ns"][marked].tolist() != []


def cards_of(*rows: tuple[int, int, int, int, int]) -> dict[str, np.ndarray]:
    names = ("enqueue_ns", "flow", "tcp_seq", "payload_bytes", "seq")
    return {n: np.array(c) for n, c in zip(names, zip(*rows, strict=True), strict=True)}


def test_a_retransmission_brings_bytes_again() -> None:
    again = Retransmissions()
    near = 2**32 - 100
    first = cards_of((0, 0, near, 0, 0), (1, 0, near, 100, 1), (2, 0, 0, 100, 2), (2, 1, 0, 100, 3))
    assert again.among(first).tolist() == [False] * 4
    second = cards_of((3, 0, near, 100, 4), (4, 0, 100, 50, 5), (5, 0, 120, 50, 6), (6, 0, 0, 0, 7))
    assert again.among(second).tolist() == [True, False, True, False]


def test_packets_of_one_train_are_in_the_order_of_their_bytes() -> None:
    """The second of three is dropped, so its postcard is the first."""
    again = Retransmissions()
    train = cards_of((5, 0, 200, 100, 0), (5, 0, 100, 100, 1), (5, 0, 300, 100, 2))
    assert again.among(train).tolist() == [False] * 3
    assert again.among(cards_of((6, 0, 200, 100, 3))).tolist() == [True]


def test_arrivals_are_in_order_whatever_the_batches(
    whole: Selection, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = type(whole.trial).batches
    monkeypatch.setattr(
        type(whole.trial), "batches", lambda self, table, columns: batches(self, table, columns, 7)
    )
    parts = [part["seq"] for part in by_arrival(whole, "")]
    cards = whole.trial.arrays("postcards")
    order = np.lexsort((cards["seq"], cards["enqueue_ns"]))
    assert np.array_equal(np.concatenate(parts), cards["seq"][order])
