"""Window sums from postcards, streamed: one pass, memory independent of their number.

Durations go into a histogram of bounded memory and a relative resolution of 2^-10: held as a 32-bit
float, one is binned by the float's upper 19 bits, sign, exponent and 10 bits of the mantissa. So
every octave has 1024 bins, and the whole range of float32 fits into 2^18 of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from nashbed.controlplane.contract.records import KIND_DROPPED, MARK_CE, MARK_REASON
from nashbed.controlplane.contract.shared import DROP_REASONS
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from .arrived import has_queues
from .data import FloatArray, QueueTotals

POSTCARD_COLUMNS = ("kind", "flow", "packet_bytes", "enqueue_ns", "dequeue_ns", "marks")
BIN_COLUMNS = (
    "bin_start_ns",
    "flow",
    "departed_bytes",
    "departed_packets",
    "dropped_packets",
    "dropped_bytes",
    "occupancy_bytes_mean",
    "qdelay_mean_ns",
    "marked_packets",
)
Arrays = dict[str, NDArray[Any]]
_KINDS = ("arrived", "dropped", "departed")
_OWN = ("own_share_bytes", "met_bytes")
DEPARTED_BIN_NS = 10_000_000
"""Resolution of what left the queue over time."""
BINS = 1 << 18
_SHIFT = np.uint32(13)


@dataclass(frozen=True)
class Link:
    """What the sums need to know of the bottleneck.

    Attributes:
        window_ns: The measured window (from, to).
        rate_bps: Applied rate.
        over_time: Whether what leaves is summed over time, too.
    """

    window_ns: tuple[int, int]
    rate_bps: int
    overhead_bytes: int
    over_time: bool = False

    def serialisation_ns(self, packet_bytes: NDArray[Any]) -> FloatArray:
        """Time that packets of these sizes take on the wire."""
        wire: FloatArray = packet_bytes.astype(np.float64) + self.overhead_bytes
        duration: FloatArray = wire * (8 * NS_PER_S / self.rate_bps)
        return duration

    def overlap_ns(self, start_ns: NDArray[Any], end_ns: NDArray[Any]) -> FloatArray:
        """Part of the intervals [start, end) that lies in the window."""
        low, high = self.window_ns
        inside: FloatArray = np.clip(end_ns, low, high) - np.clip(start_ns, low, high)
        return inside.astype(np.float64)

    def inside(self, t_ns: NDArray[Any]) -> NDArray[np.bool_]:
        """Which times lie in the window [from, to)."""
        result: NDArray[np.bool_] = (t_ns >= self.window_ns[0]) & (t_ns < self.window_ns[1])
        return result


def sum_postcards(chunks: Iterable[Arrays], flows: int, link: Link) -> QueueTotals:
    """Sum postcards over the measured window.

    Args:
        chunks: Postcards in any order and chunking: the arrays of POSTCARD_COLUMNS, and with
            several queues `queue`, `queue_bytes` and `own_queue_bytes`.
    """
    sums = _Sums.empty(flows)
    for chunk in chunks:
        _add_chunk(sums, chunk, link)
    return sums.totals()


@dataclass
class _Sums:
    """The running sums; `per_flow` has one array of shape (F,) for each name."""

    flows: int
    per_flow: dict[str, FloatArray]
    by_reason: FloatArray
    can_mark: bool = False
    has_queues: bool = False
    backlog_byte_ns: float = 0.0
    busy_ns: float = 0.0
    delay_counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(BINS, np.int64))
    departed_bits: FloatArray | None = None

    @classmethod
    def empty(cls, flows: int) -> _Sums:
        names = [f"{what}_{unit}" for what in _KINDS for unit in ("packets", "bytes")]
        names += ["occupancy_byte_ns", "delay_sum_ns", "marked_packets", *_OWN]
        reasons = np.zeros((len(DROP_REASONS), flows))
        return cls(flows, {name: np.zeros(flows) for name in names}, reasons)

    def add(self, name: str, flow: NDArray[Any], weights: NDArray[Any] | None = None) -> None:
        self.per_flow[name] += np.bincount(flow, weights=weights, minlength=self.flows)

    def add_departed(self, t_ns: NDArray[Any], wire_bytes: NDArray[Any], until_ns: int) -> None:
        """Add what left at some times, up to an end, to the sums over time."""
        bins = -(-until_ns // DEPARTED_BIN_NS)
        inside = (t_ns >= 0) & (t_ns < until_ns)
        place = t_ns[inside] // DEPARTED_BIN_NS
        bits = np.bincount(place, weights=8.0 * wire_bytes[inside], minlength=bins)
        before = np.zeros(bins) if self.departed_bits is None else self.departed_bits
        self.departed_bits = before + bits

    def totals(self) -> QueueTotals:
        sums = dict(self.per_flow)
        marked = sums.pop("marked_packets")
        own = {name: sums.pop(name) for name in _OWN}
        return QueueTotals(
            backlog_byte_ns=self.backlog_byte_ns,
            busy_ns=self.busy_ns,
            delay_counts=self.delay_counts,
            marked_packets=marked if self.can_mark else None,
            dropped_by_reason=self.by_reason if self.can_mark else None,
            departed_bits=self.departed_bits,
            **(own if self.has_queues else {}),
            **sums,
        )


def _add_chunk(sums: _Sums, chunk: Arrays, link: Link) -> None:
    dropped = chunk["kind"] == KIND_DROPPED
    arrived = link.inside(chunk["enqueue_ns"])
    _add_counts(sums, "arrived", chunk, arrived)
    if dropped.any():
        _add_counts(sums, "dropped", chunk, arrived & dropped)
        lost = {name: values[arrived & dropped] for name, values in chunk.items()}
        _add_reasons(sums, lost)
        _add_own_share(sums, lost)
        _add_occupancy(sums, {name: chunk[name][dropped] for name in POSTCARD_COLUMNS}, link)
        chunk = {name: chunk[name][~dropped] for name in POSTCARD_COLUMNS}
    _add_counts(sums, "departed", chunk, link.inside(chunk["dequeue_ns"]))
    _add_sojourns(sums, chunk, link)
    _add_marks(sums, chunk, link)


def _add_marks(sums: _Sums, chunk: Arrays, link: Link) -> None:
    """Marks of packets that left; nulls of a trial in which nothing can be marked are NaN."""
    if np.issubdtype(chunk["marks"].dtype, np.integer):
        sums.can_mark = True
        marked = ((chunk["marks"] & MARK_CE) != 0) & link.inside(chunk["dequeue_ns"])
        sums.add("marked_packets", chunk["flow"][marked])


def _add_reasons(sums: _Sums, lost: Arrays) -> None:
    """Dropped packets by their reason, where postcards say it."""
    if np.issubdtype(lost["marks"].dtype, np.integer):
        cell = (lost["marks"] & MARK_REASON).astype(np.int64) * sums.flows + lost["flow"]
        counted = np.bincount(cell, minlength=sums.by_reason.size)
        sums.by_reason += counted.reshape(sums.by_reason.shape)


def _add_own_share(sums: _Sums, lost: Arrays) -> None:
    """What share of the memory the own queue of each refused packet held."""
    if not has_queues(lost):
        return
    sums.has_queues = True
    met = (lost["dequeue_ns"] == lost["enqueue_ns"]) & (lost["queue_bytes"] > 0)
    flow, size = lost["flow"][met], lost["packet_bytes"][met].astype(np.float64)
    share = lost["own_queue_bytes"][met] / lost["queue_bytes"][met]
    sums.add("own_share_bytes", flow, size * share)
    sums.add("met_bytes", flow, size)


def _add_counts(sums: _Sums, what: str, chunk: Arrays, which: NDArray[np.bool_]) -> None:
    flow = chunk["flow"][which]
    sums.add(f"{what}_packets", flow)
    sums.add(f"{what}_bytes", flow, chunk["packet_bytes"][which])


def _add_occupancy(sums: _Sums, chunk: Arrays, link: Link) -> NDArray[np.float64]:
    """What packets held of the queue; those that were dropped at their arrival, nothing.

    Returns:
        How long each was in it within the window, shape (n,).
    """
    sojourn_ns = link.overlap_ns(chunk["enqueue_ns"], chunk["dequeue_ns"])
    size = chunk["packet_bytes"].astype(np.float64)
    sums.add("occupancy_byte_ns", chunk["flow"], size * sojourn_ns)
    return sojourn_ns


def _add_sojourns(sums: _Sums, chunk: Arrays, link: Link) -> None:
    flow, size = chunk["flow"], chunk["packet_bytes"].astype(np.float64)
    enqueue, dequeue = chunk["enqueue_ns"], chunk["dequeue_ns"]
    sojourn_ns = _add_occupancy(sums, chunk, link)
    sums.backlog_byte_ns += float((size + link.overhead_bytes) @ sojourn_ns)
    on_wire = link.serialisation_ns(size)
    sums.busy_ns += float(link.overlap_ns(dequeue - on_wire, dequeue).sum())
    if link.over_time:
        sums.add_departed(dequeue, size + link.overhead_bytes, link.window_ns[1])
    left = link.inside(dequeue)
    delay = (dequeue - enqueue)[left]
    sums.add("delay_sum_ns", flow[left], delay)
    sums.delay_counts += count_durations(delay)


def sum_bins(chunks: Iterable[Arrays], flows: int, link: Link, bin_ns: int) -> QueueTotals:
    """Sum the data plane's own bins over the measured window.

    A bin that the window cuts counts in proportion. Arrivals are taken as departures plus
    drops (they differ by what the queue gained or lost over the window), and the overhead's
    part of the backlog from the mean packet size.

    Args:
        chunks: Bins in any order: the arrays of BIN_COLUMNS.
    """
    sums = _Sums.empty(flows)
    for chunk in chunks:
        _add_bins(sums, chunk, link, bin_ns)
    per_flow = sums.per_flow
    for unit in ("packets", "bytes"):
        per_flow[f"arrived_{unit}"] = per_flow[f"departed_{unit}"] + per_flow[f"dropped_{unit}"]
    packets, size = per_flow["departed_packets"].sum(), per_flow["departed_bytes"].sum()
    wire = size + link.overhead_bytes * packets
    occupancy = float(per_flow["occupancy_byte_ns"].sum())
    marked = per_flow.pop("marked_packets")
    for name in _OWN:
        per_flow.pop(name)
    return QueueTotals(
        backlog_byte_ns=occupancy * (wire / size if size else 1.0),
        busy_ns=wire * 8 * NS_PER_S / link.rate_bps,
        delay_counts=None,
        marked_packets=marked if sums.can_mark else None,
        departed_bits=sums.departed_bits,
        **per_flow,
    )


def _add_bins(sums: _Sums, chunk: Arrays, link: Link, bin_ns: int) -> None:
    start = chunk["bin_start_ns"]
    inside_ns = link.overlap_ns(start, start + bin_ns)
    share, flow = inside_ns / bin_ns, chunk["flow"]
    for name in ("departed_bytes", "departed_packets", "dropped_packets", "dropped_bytes"):
        sums.add(name, flow, chunk[name] * share)
    if link.over_time:
        wire = chunk["departed_bytes"] + link.overhead_bytes * chunk["departed_packets"]
        sums.add_departed(start, wire, link.window_ns[1])
    sums.add("occupancy_byte_ns", flow, chunk["occupancy_bytes_mean"] * inside_ns)
    delay = np.nan_to_num(chunk["qdelay_mean_ns"]) * chunk["departed_packets"]
    sums.add("delay_sum_ns", flow, delay * share)
    if np.issubdtype(chunk["marked_packets"].dtype, np.integer):
        sums.can_mark = True
        sums.add("marked_packets", flow, chunk["marked_packets"] * share)


def count_durations(durations: NDArray[Any]) -> NDArray[np.int64]:
    """Count durations by bin.

    Args:
        durations: Non-negative durations, any unit, shape (n,).

    Returns:
        Counts, shape (2^18,).
    """
    bits = durations.astype(np.float32).view(np.uint32) >> _SHIFT
    return np.bincount(bits, minlength=BINS).astype(np.int64, copy=False)


def duration_percentile(counts: NDArray[np.int64], share: float) -> float:
    """The smallest duration that at least `share` of the counted ones do not exceed.

    Args:
        counts: From count_durations, shape (2^18,).
        share: In (0, 1].

    Returns:
        The middle of the bin it falls into (within 0.05 %), NaN without any count.
    """
    total = int(counts.sum())
    if total == 0:
        return float("nan")
    rank = max(1, int(np.ceil(share * total)))
    index = int(np.searchsorted(np.cumsum(counts), rank))
    edges = np.array([index, index + 1], dtype=np.uint32) << _SHIFT
    low, high = edges.view(np.float32).astype(float)
    return float(low if index == 0 else (low + high) / 2)
