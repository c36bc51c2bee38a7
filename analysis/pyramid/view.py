"""The queue of a trial in any part of its time: bins as wide as a pixel, and exact sums.

Views that are wide are read from the pyramid, and narrow ones from the packets themselves. A trial
that kept bins instead of packets is shown in those.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.store.errors import damaged
from nashbed.controlplane.store.parquet import Arrays
from nashbed.controlplane.store.sealed_trial import SealedTrial
from nashbed.controlplane.store.tables import OPTIONAL, TABLES
from numpy.typing import NDArray

from ..align.data import QueueTotals
from ..align.load import bin_length_ns
from ..align.totals import Link, sum_bins, sum_postcards
from ..metrics.queue import TimeBins, occupancy_bins
from .levels import (
    COLUMNS,
    LONGEST,
    READ_COLUMNS,
    SUMS,
    Cells,
    PyramidRecord,
    RowGroups,
    cells_of,
    level_path,
    make_pyramid,
    open_pyramid,
    postcards_of,
)

MOST_PACKETS = 4000
"""Packets that a view shows one by one; it shows bins where there are more."""
KEPT_GROUPS = 4
"""Row groups of postcards, each of some 10 MB, that stay in memory."""
KEPT_OF_LEVEL = 6
"""Row groups of a level, each of some 1 MB, that stay in memory."""
PACKET_COLUMNS = tuple(TABLES["postcards"].names)


@dataclass(frozen=True)
class QueueView:
    """The queue over a part of a trial. B bins, F flows.

    Attributes:
        bins: The bins; they begin at a multiple of their length.
        cells: Column, those of `levels.COLUMNS` that were asked for -> values, shape (B, F).
    """

    bins: TimeBins
    cells: dict[str, NDArray[Any]]
    source: Literal["packets", "pyramid", "bins"]


class TrialQueue(Protocol):
    """What the page asks of a trial's queue. Times are ns after t0."""

    def view(
        self, start_ns: int, end_ns: int, pixels: int, columns: Sequence[str] = COLUMNS
    ) -> QueueView:
        """The queue over [start, end), in bins of one pixel to two."""

    def totals(self, start_ns: int, end_ns: int) -> QueueTotals:
        """Exact sums over [start, end), as the metrics sum up the measured window."""

    def packets(self, start_ns: int, end_ns: int) -> Arrays | None:
        """The packets that were in the queue, or dropped, in [start, end); None: too many."""


class PostcardQueue:
    """The queue of a trial with postcards and a pyramid."""

    def __init__(self, trial: SealedTrial, folder: Path, record: PyramidRecord) -> None:
        self._path = trial.file("postcards.parquet")
        self._record = record
        self._groups = RowGroups.read(self._path)
        self._can_mark = "marks" in pq.read_schema(self._path).names
        self._kept: OrderedDict[tuple[int, tuple[str, ...]], Arrays] = OrderedDict()
        self._lock = threading.Lock()
        self._levels = {width: LevelFile(level_path(folder, width)) for width in record.widths_ns}
        applied = trial.record.applied
        self._rate_bps, self._overhead = applied.rate_bps, applied.overhead_bytes

    def view(
        self, start_ns: int, end_ns: int, pixels: int, columns: Sequence[str] = COLUMNS
    ) -> QueueView:
        """See TrialQueue; from the widest level whose bins are no wider than two pixels."""
        pixel_ns = max(1, (end_ns - start_ns) // pixels)
        fitting = [width for width in self._levels if width <= 2 * pixel_ns]
        if not fitting:
            return self._of_packets(aligned(start_ns, end_ns, pixel_ns), columns)
        level = fitting[-1]
        bins = aligned(start_ns, end_ns, -(-pixel_ns // level) * level)
        cells = self._levels[level].cells(bins, level, self._record.flows, columns)
        return QueueView(bins, cells, "pyramid")

    def _of_packets(self, bins: TimeBins, columns: Sequence[str]) -> QueueView:
        flows = self._record.flows
        cells = {name: np.zeros((bins.count, flows), np.int64) for name in columns}
        chunks = list(self._chunks(bins.start_ns, bins.end_ns, READ_COLUMNS))
        for chunk in chunks:
            for name, values in cells_of(chunk, flows, bins, columns).items():
                into = np.maximum if name == LONGEST else np.add
                into(cells[name], values, out=cells[name])
        if "occupancy_byte_ns" in columns:
            held = occupancy_bins(chunks, flows, bins).T * bins.length_ns
            cells["occupancy_byte_ns"] = np.rint(held).astype(np.int64)
        return QueueView(bins, cells, "packets")

    def _chunks(
        self, start_ns: int, end_ns: int, columns: tuple[str, ...] = PACKET_COLUMNS
    ) -> Iterator[Arrays]:
        """Only the packets that were here at any time of [start, end)."""
        for group in self._groups.of(start_ns, end_ns):
            chunk = self._group(group, columns)
            here = (chunk["enqueue_ns"] < end_ns) & (chunk["dequeue_ns"] >= start_ns)
            yield {name: values[here] for name, values in chunk.items()}

    def _group(self, number: int, columns: tuple[str, ...]) -> Arrays:
        """Columns of a row group; those of the last views stay in memory."""
        with self._lock:
            if (number, columns) not in self._kept:
                read = postcards_of(self._path, self._record.flows, [number], columns)
                self._kept[number, columns] = next(iter(read))
            self._kept.move_to_end((number, columns))
            while len(self._kept) > KEPT_GROUPS:
                self._kept.popitem(last=False)
            return self._kept[number, columns]

    def totals(self, start_ns: int, end_ns: int) -> QueueTotals:
        """See TrialQueue; whole bins from the widest level on, and packets at both ends."""
        flows = self._record.flows
        sums = {name: np.zeros(flows, np.int64) for name in SUMS}
        edges = self._add_whole(sums, start_ns, end_ns, list(self._levels))
        busy = backlog = 0.0
        for low, high in edges:
            link = Link((low, high), self._rate_bps, self._overhead)
            part = sum_postcards(self._chunks(low, high, READ_COLUMNS), flows, link)
            for name in SUMS:
                if (values := getattr(part, name)) is not None:
                    sums[name] += values.astype(np.int64)
        per_flow = {name: values.astype(np.float64) for name, values in sums.items()}
        marked = per_flow.pop("marked_packets")
        return QueueTotals(
            backlog_byte_ns=backlog, busy_ns=busy, delay_counts=None,
            marked_packets=marked if self._can_mark else None, **per_flow,
        )  # fmt: skip

    def _add_whole(
        self, sums: dict[str, NDArray[np.int64]], start_ns: int, end_ns: int, widths: list[int]
    ) -> list[tuple[int, int]]:
        """Add the whole bins inside [start, end); returns what of it they do not cover."""
        if start_ns >= end_ns:
            return []
        if not widths:
            return [(start_ns, end_ns)]
        *narrower, width = widths
        first, last = -(-start_ns // width), end_ns // width
        if first >= last:
            return self._add_whole(sums, start_ns, end_ns, narrower)
        rows = self._levels[width].rows(first, last, SUMS, keep=False)
        for name in SUMS:
            np.add.at(sums[name], rows["flow"], rows[name])
        return [
            *self._add_whole(sums, start_ns, first * width, narrower),
            *self._add_whole(sums, last * width, end_ns, narrower),
        ]

    def packets(self, start_ns: int, end_ns: int) -> Arrays | None:
        """See TrialQueue."""
        if len(self._groups.of(start_ns, end_ns)) > KEPT_GROUPS:
            return None
        chunks = list(self._chunks(start_ns, end_ns))
        if sum(len(chunk["flow"]) for chunk in chunks) > MOST_PACKETS:
            return None
        found = {
            name: np.concatenate([np.empty(0, np.int64), *(chunk[name] for chunk in chunks)])
            for name in PACKET_COLUMNS
        }
        marks = {
            name: np.nan_to_num(found[name]).astype(np.int64) for name in OPTIONAL["postcards"]
        }
        return found | marks


class LevelFile:
    """One level of a pyramid, of which parts are read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._opened(None) as file:
            self._metadata = file.metadata
            ends = [
                file.metadata.row_group(i).column(0).statistics for i in range(file.num_row_groups)
            ]
        self._first = np.array([end.min for end in ends if end is not None], np.int64)
        self._last = np.array([end.max for end in ends if end is not None], np.int64)
        self._kept: OrderedDict[tuple[int, tuple[str, ...]], Arrays] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, first: int, end: int, columns: Sequence[str], *, keep: bool = True) -> Arrays:
        """The rows of the bins from number `first` to before `end`: bin, flow and some columns.

        Args:
            first: Number of the first bin.
            end: Number of the bin after the last.
            keep: Keep what is read, for the next view.
        """
        groups = np.flatnonzero((self._first < end) & (self._last >= first)).tolist()
        wanted = ("bin", "flow", *columns)
        read = self._group if keep else self._read
        parts = [_between(read(group, wanted), first, end) for group in groups]
        if len(parts) == 1:
            return parts[0]
        empty = np.empty(0, np.int64)
        return {name: np.concatenate([empty, *(part[name] for part in parts)]) for name in wanted}

    def cells(
        self, bins: TimeBins, width_ns: int, flows: int, columns: Sequence[str] = COLUMNS
    ) -> Cells:
        """Bins that are some widths long, each; shape (B, F)."""
        merged = bins.length_ns // width_ns
        first = bins.start_ns // width_ns
        rows = self.rows(first, first + merged * bins.count, columns)
        cell = (rows["bin"] - first) // merged * flows + rows["flow"]
        cells = {}
        for name in columns:
            values = np.zeros(bins.count * flows, np.int64)
            if merged == 1:  # a row for each cell
                values[cell] = rows[name]
            else:
                (np.maximum if name == LONGEST else np.add).at(values, cell, rows[name])
            cells[name] = values.reshape(bins.count, flows)
        return cells

    def _group(self, number: int, columns: tuple[str, ...]) -> Arrays:
        """Columns of a row group; those of the last views stay in memory."""
        with self._lock:
            if (number, columns) not in self._kept:
                self._kept[number, columns] = self._read(number, columns)
            self._kept.move_to_end((number, columns))
            while len(self._kept) > KEPT_OF_LEVEL:
                self._kept.popitem(last=False)
            return self._kept[number, columns]

    def _read(self, number: int, columns: tuple[str, ...]) -> Arrays:
        with self._opened(self._metadata) as file:
            table = file.read_row_group(number, columns=list(columns), use_threads=False)
        read: Arrays = {name: table.column(name).to_numpy() for name in columns}
        return read | {"flow": read["flow"].astype(np.int64)}

    def _opened(self, metadata: pq.FileMetaData | None) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(self._path, metadata=metadata)
        except (OSError, pa.ArrowException) as error:
            raise damaged(self._path, error, "remove it; it is made again") from error


def _between(rows: Arrays, first: int, end: int) -> Arrays:
    """The rows of the bins from number `first` to before `end`."""
    low, high = np.searchsorted(rows["bin"], [first, end])
    return {name: values[low:high] for name, values in rows.items()}


class BinnedQueue:
    """The queue of a trial that kept bins instead of postcards."""

    def __init__(self, trial: SealedTrial, bin_ns: int) -> None:
        self._rows = trial.arrays("bins")
        self._bin_ns = bin_ns
        self._flows = len(trial.arrays("flows", ["flow"])["flow"])
        applied = trial.record.applied
        self._rate_bps, self._overhead = applied.rate_bps, applied.overhead_bytes

    def view(
        self, start_ns: int, end_ns: int, pixels: int, columns: Sequence[str] = COLUMNS
    ) -> QueueView:
        """See TrialQueue; no bin is narrower than the recorded ones, which begin anywhere."""
        merged = -(-(end_ns - start_ns) // (pixels * self._bin_ns))
        bins = aligned(start_ns, end_ns, merged * self._bin_ns)
        rows = self._rows
        row = (rows["bin_start_ns"] - bins.start_ns) // bins.length_ns
        inside = (row >= 0) & (row < bins.count)
        cell = row[inside] * self._flows + rows["flow"][inside]

        def total(values: NDArray[Any]) -> NDArray[Any]:
            sums = np.bincount(cell, values[inside], minlength=bins.count * self._flows)
            return sums.reshape(bins.count, self._flows)

        left, lost = rows["departed_packets"], rows["dropped_packets"]
        delay = np.nan_to_num(rows["qdelay_mean_ns"])
        cells = {
            "marked_packets": total(np.nan_to_num(rows["marked_packets"])),
            "arrived_packets": total(left + lost),
            "arrived_bytes": total(rows["departed_bytes"] + rows["dropped_bytes"]),
            "departed_packets": total(left),
            "departed_bytes": total(rows["departed_bytes"]),
            "dropped_packets": total(lost),
            "dropped_bytes": total(rows["dropped_bytes"]),
            "occupancy_byte_ns": total(rows["occupancy_bytes_mean"] * self._bin_ns),
            "delay_sum_ns": total(delay * left),
            LONGEST: np.zeros((bins.count, self._flows)),
        }
        return QueueView(bins, {name: cells[name] for name in columns}, "bins")

    def totals(self, start_ns: int, end_ns: int) -> QueueTotals:
        """See TrialQueue."""
        link = Link((start_ns, end_ns), self._rate_bps, self._overhead)
        return sum_bins([self._rows], self._flows, link, self._bin_ns)

    def packets(self, start_ns: int, end_ns: int) -> Arrays | None:
        """There are none."""
        return None


def queue_of(trial: SealedTrial, scenario: Scenario, cache: Path) -> TrialQueue | None:
    """A trial's queue, from postcards or bins; its pyramid is made if it has none.

    Args:
        cache: Where the pyramid is kept if the run directory cannot be written to.

    Returns:
        The queue; None if neither was kept.

    Raises:
        RunError: The postcards are damaged, or the pyramid cannot be written anywhere.
    """
    if trial.has("postcards"):
        made = open_pyramid(trial, cache) or make_pyramid(trial, cache)
        return PostcardQueue(trial, *made)
    return BinnedQueue(trial, bin_length_ns(scenario)) if trial.has("bins") else None


def aligned(start_ns: int, end_ns: int, length_ns: int) -> TimeBins:
    """Bins that begin at multiples of their length and cover [start, end)."""
    return TimeBins.cover(start_ns // length_ns * length_ns, end_ns, length_ns)
