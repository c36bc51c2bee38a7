"""One trial as a trace of Perfetto: counters, states as slices, drops and marks as instants.

Written by Perfetto's own messages (PyPI's `perfetto`), some thousands at a time. A group of tracks
for each flow, and one for the bottleneck.
"""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl
from nashbed.controlplane.contract.records import KIND_DROPPED
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    CounterDescriptor,
    Trace,
    TracePacket,
    TrackEvent,
)

from ..metrics.queue import COLUMNS, TimeBins, occupancy_bins
from .arrivals import Retransmissions, by_arrival
from .marks import is_marked, reason_of
from .selection import Selection
from .states import changes, control_states, tcp_states

SUFFIX = "pftrace"
BIN_NS = 1_000_000
"""Length of the bins of the queue."""
SEQUENCE = 1
PACKETS_AT_ONCE = 4096
UNLIMITED = np.float64(1 << 63)
"""Above it, a pacing rate is none."""
NO_RTT_US = 2**32 - 1
BOTTLENECK = "bottleneck"
DROP, RETRANSMISSION, MARK = "drop", "retransmission", "mark"
Values = NDArray[np.float64]
_COUNTERS: tuple[tuple[str, str, Callable[[Arrays], Values]], ...] = (
    ("cwnd", "B", lambda s: s["cwnd_pkts"].astype(float) * s["mss"]),
    ("in flight", "B", lambda s: s["inflight_bytes"].astype(float)),
    ("pacing rate", "bit/s", lambda s: _unless(s["pacing_rate_bps"], UNLIMITED)),
    ("bandwidth estimate", "bit/s", lambda s: s["bbr_bw_bps"].astype(float)),
    ("delivery rate", "bit/s", lambda s: s["delivery_rate_bps"].astype(float)),
    ("smoothed RTT", "us", lambda s: s["srtt_us"].astype(float)),
    ("minimum RTT", "us", lambda s: _unless(s["min_rtt_us"], NO_RTT_US)),
    ("retransmitted segments", "", lambda s: s["total_retrans"].astype(float)),
    ("segments acknowledged with ECE", "", lambda s: s["delivered_ce"].astype(float)),
)
"""Name, unit and values of each track that is made from samples; NaN: not known."""


class TraceFile:
    """Writes the packets of a trace.

    Args:
        base_ns: The trial's t0.
    """

    def __init__(self, file: BinaryIO, base_ns: int) -> None:
        self._file, self._base, self._tracks, self._held = file, base_ns, 0, 0
        self._trace = Trace()
        first = self._packet()
        first.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        first.first_packet_on_sequence = True
        self.events = 0

    def track(self, name: str, parent: int = 0) -> int:
        """Describe a track; returns its number."""
        return int(self._describe(name, parent).track_descriptor.uuid)

    def counter(self, name: str, unit: str, parent: int) -> int:
        """Describe a track of values; returns its number."""
        packet = self._describe(name, parent)
        packet.track_descriptor.counter.unit = CounterDescriptor.UNIT_UNSPECIFIED
        packet.track_descriptor.counter.unit_name = unit
        return int(packet.track_descriptor.uuid)

    def values(self, track: int, t_ns: NDArray[np.int64], values: Values) -> None:
        """Add values to a counter; those that are NaN are left out."""
        known = np.isfinite(values)
        for at, value in zip(t_ns[known].tolist(), values[known].tolist(), strict=True):
            self._event(track, at, TrackEvent.TYPE_COUNTER).double_counter_value = value

    def slice(self, track: int, begin_ns: int, end_ns: int, name: str) -> None:
        """Add a stretch of time."""
        self._event(track, begin_ns, TrackEvent.TYPE_SLICE_BEGIN).name = name
        self._event(track, end_ns, TrackEvent.TYPE_SLICE_END)

    def instant(self, track: int, t_ns: int, name: str, **fields: int | str) -> None:
        """Add a moment, with what is known of it."""
        event = self._event(track, t_ns, TrackEvent.TYPE_INSTANT)
        event.name = name
        for key, value in fields.items():
            note = event.debug_annotations.add(name=key)
            if isinstance(value, str):
                note.string_value = value
            else:
                note.int_value = value

    def close(self) -> None:
        """Write what is held."""
        self._file.write(self._trace.SerializeToString())
        self._trace, self._held = Trace(), 0

    def _describe(self, name: str, parent: int) -> TracePacket:
        packet = self._packet()
        self._tracks += 1
        packet.track_descriptor.uuid = self._tracks
        packet.track_descriptor.name = name
        if parent:
            packet.track_descriptor.parent_uuid = parent
        return packet

    def _event(self, track: int, t_ns: int, kind: int) -> TrackEvent:
        packet = self._packet()
        packet.timestamp = self._base + t_ns
        event = packet.track_event
        event.type, event.track_uuid = kind, track
        self.events += 1
        return event

    def _packet(self) -> TracePacket:
        if self._held >= PACKETS_AT_ONCE:
            self.close()
        self._held += 1
        packet = self._trace.packet.add()
        packet.trusted_packet_sequence_id = SEQUENCE
        return packet


def write_perfetto(chosen: Selection, path: Path) -> dict[str, int]:
    """Write the trace.

    Returns:
        What -> how many.
    """
    with path.open("wb", buffering=1 << 20) as raw:
        trace = TraceFile(raw, chosen.base_ns)
        bottleneck = trace.track(BOTTLENECK)
        flows = {flow: trace.track(chosen.name(flow)) for flow in chosen.control}
        _write_samples(trace, chosen, flows)
        _write_goodput(trace, chosen, flows)
        found = _write_packets(trace, chosen, flows, bottleneck)
        trace.close()
        return {"events": trace.events, **found}


def _unless(column: NDArray[np.generic], none: float) -> Values:
    values = column.astype(float)
    return np.where(values >= none, np.nan, values)


def _per_flow(table: Arrays, flows: dict[int, int]) -> Iterator[tuple[int, int, Arrays]]:
    """Flow, its track, and its rows."""
    for flow, track in flows.items():
        mine = table["flow"] == flow
        if mine.any():
            yield flow, track, {name: column[mine] for name, column in table.items()}


def _write_samples(trace: TraceFile, chosen: Selection, flows: dict[int, int]) -> None:
    table = chosen.samples()
    if not table:
        return
    for flow, parent, samples in _per_flow(table, flows):
        for name, unit, values in _COUNTERS:
            if np.isfinite(found := values(samples)).any():
                trace.values(trace.counter(name, unit, parent), samples["t_ns"], found)
        control = chosen.control[flow]
        for name, states in (
            (control, control_states(control, samples)),
            ("TCP", tcp_states(samples)),
        ):
            track = trace.track(f"{name} state", parent)
            for begin, end, state in changes(samples["t_ns"], states):
                trace.slice(track, begin, end, state)


def _write_goodput(trace: TraceFile, chosen: Selection, flows: dict[int, int]) -> None:
    """The rate in each interval, at its beginning."""
    if not chosen.trial.has("goodput"):
        return
    table = chosen.trial.arrays("goodput")
    for _flow, parent, rows in _per_flow(table, flows):
        if len(rows["t_ns"]) < 2:
            continue
        ends = rows["t_ns"]
        begins = np.concatenate(([2 * ends[0] - ends[1]], ends[:-1]))
        wanted = chosen.within(begins)
        rate = rows["bytes"] * 8e9 / (ends - begins)
        trace.values(
            trace.counter("goodput", "bit/s", parent), begins[wanted], rate[wanted].astype(float)
        )


def _write_packets(
    trace: TraceFile, chosen: Selection, flows: dict[int, int], bottleneck: int
) -> dict[str, int]:
    queue = trace.counter("queue", "B", bottleneck)
    if chosen.trial.has("postcards"):
        (begin_ns, held), found = _queue(chosen), _write_postcards(trace, chosen, flows)
    elif chosen.trial.has("bins"):
        table = chosen.trial.arrays("bins", ["bin_start_ns", "occupancy_bytes_mean"])
        begin_ns, at = np.unique(table["bin_start_ns"], return_inverse=True)
        held = np.bincount(at, table["occupancy_bytes_mean"], len(begin_ns)).astype(np.float64)
        found = _write_drop_bins(trace, chosen, flows)
    else:
        return {}
    wanted = chosen.within(begin_ns)
    trace.values(queue, begin_ns[wanted], held[wanted])
    return found


def _queue(chosen: Selection) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Mean bytes in the queue, of all flows, in bins from the first arrival on."""
    first, last = pl.col("enqueue_ns").min(), pl.col("dequeue_ns").max()
    ends = chosen.trial.lazy("postcards").select(first, last).collect().row(0)
    if None in ends:
        return np.zeros(0, np.int64), np.zeros(0)
    bins = TimeBins.cover(ends[0] // BIN_NS * BIN_NS, ends[1] + 1, BIN_NS)
    chunks = (
        chunk | {"flow": np.zeros(len(chunk["flow"]), np.int64)}
        for chunk in chosen.trial.batches("postcards", COLUMNS)
    )
    return bins.starts_ns, occupancy_bins(chunks, 1, bins)[0]


def _write_postcards(trace: TraceFile, chosen: Selection, flows: dict[int, int]) -> dict[str, int]:
    tracks = {flow: trace.track("packets", parent) for flow, parent in flows.items()}
    again = Retransmissions(chosen.datagrams)
    counts = dict.fromkeys((DROP, RETRANSMISSION, MARK), 0)
    for cards in by_arrival(chosen, "drops, marks and retransmissions"):
        happened = {RETRANSMISSION: again.among(cards), DROP: cards["kind"] == KIND_DROPPED,
                    MARK: is_marked(cards)}  # fmt: skip
        wanted = np.any(list(happened.values()), axis=0) & chosen.holds(
            cards["enqueue_ns"], cards["flow"]
        )
        for n in np.flatnonzero(wanted).tolist():
            for name, which in happened.items():
                if which[n]:
                    counts[name] += 1
                    _instant(trace, tracks, cards, n, name, chosen.datagrams)
    return {f"{name}s": count for name, count in counts.items()}


def _instant(
    trace: TraceFile,
    tracks: dict[int, int],
    cards: Arrays,
    n: int,
    name: str,
    datagrams: Collection[int],
) -> None:
    """A drop and a mark were when the packet left, a retransmission when it arrived."""
    flow = int(cards["flow"][n])
    at = cards["enqueue_ns" if name == RETRANSMISSION else "dequeue_ns"]
    why = {"reason": reason_of(int(cards["marks"][n]))} if name == DROP else {}
    which = {} if flow in datagrams else {"tcp_seq": int(cards["tcp_seq"][n])}
    trace.instant(
        tracks[flow],
        int(at[n]),
        name,
        **which,
        packet_bytes=int(cards["packet_bytes"][n]),
        queue_bytes=int(cards["queue_bytes"][n]),
        **why,
    )


def _write_drop_bins(trace: TraceFile, chosen: Selection, flows: dict[int, int]) -> dict[str, int]:
    """Without postcards: how many packets each bin dropped, and marked where it can."""
    names = ["bin_start_ns", "flow", "dropped_packets", "marked_packets"]
    table = chosen.trial.arrays("bins", names)
    wanted = chosen.holds(table["bin_start_ns"], table["flow"])
    table = {name: column[wanted] for name, column in table.items()}
    for _flow, parent, rows in _per_flow(table, flows):
        track = trace.counter("dropped packets in the bin", "", parent)
        trace.values(track, rows["bin_start_ns"], rows["dropped_packets"].astype(float))
        if np.isfinite(marked := rows["marked_packets"].astype(float)).any():
            track = trace.counter("marked packets in the bin", "", parent)
            trace.values(track, rows["bin_start_ns"], marked)
    marks = np.nan_to_num(table["marked_packets"].astype(float)).sum()
    return {"drops": int(table["dropped_packets"].sum()), "marks": int(marks)}
