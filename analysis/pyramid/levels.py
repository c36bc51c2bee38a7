"""A trial's packets as sums in time bins of several widths: a pyramid, written once.

Each level has bins four times as wide as those of the level below. All sums are whole numbers, so
the bins of any level add up to exactly what the packets do. A run's pyramids are in its folder
`pyramids`, beside the trials, which stay sealed; or in a cache folder, where the run cannot be
written to.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from nashbed.controlplane.contract.model import ContractModel
from nashbed.controlplane.contract.records import KIND_DROPPED, MARK_CE
from nashbed.controlplane.store.checksums import is_whole, write_sums
from nashbed.controlplane.store.errors import TRIAL_REMEDY, RunError, damaged
from nashbed.controlplane.store.parquet import Arrays
from nashbed.controlplane.store.sealed_trial import SealedTrial
from nashbed.controlplane.store.staging import whole_folder
from nashbed.controlplane.store.tables import OPTIONAL
from numpy.typing import NDArray
from pydantic import ValidationError

from ..metrics.queue import TimeBins, add_steps, was_queued

FOLDER = "pyramids"
"""The folder of a run directory with the pyramids of its trials."""
FORMAT: Final = 2
"""Version of the layout; a pyramid of another one is built again."""
FACTOR = 4
"""How much wider the bins of each level are than those below."""
FINEST_NS = 1_000_000
"""Width of the narrowest bins that there are."""
PIXELS = 1200
"""A level is of use as long as it has as many bins as a wide view has pixels."""
ROW_GROUP = 1 << 14
"""Rows read at once of a level: what a view of ten flows needs, in a millisecond or two."""
WRITTEN = 1 << 16
"""Rows written at once."""
SUMS = (
    "arrived_packets",
    "arrived_bytes",
    "departed_packets",
    "departed_bytes",
    "dropped_packets",
    "dropped_bytes",
    "occupancy_byte_ns",
    "delay_sum_ns",
    "marked_packets",
)
"""What the bins add up: arrivals and drops by their arrival, departures and marks by the departure,
and the sums of bytes in the queue x time, and of sojourn times."""
LONGEST = "delay_max_ns"
"""The longest sojourn time of the packets that left in the bin."""
COLUMNS = (*SUMS, LONGEST)
READ_COLUMNS = ("kind", "flow", "packet_bytes", "enqueue_ns", "dequeue_ns", "marks")
"""What the bins are made of."""
SCHEMA = pa.schema(
    [("bin", pa.int64()), ("flow", pa.uint32()), *((name, pa.int64()) for name in COLUMNS)]
)
"""One row for each flow and bin with any content; bin n is of [n, n + 1) widths after t0."""

Show = Callable[[int, int], None]
"""Told rows done and rows in all."""
Cells = dict[str, NDArray[np.int64]]
"""Column -> values of consecutive bins, shape (bins, F)."""


class PyramidRecord(ContractModel):
    """pyramid.json: what a pyramid was made of, and its levels.

    Attributes:
        source: What tells the postcards from others; see `source_of`.
        postcards: Number of packets.
        first_ns: When the first one arrived.
        last_ns: When the last one left.
        widths_ns: Widths of the levels, ascending.
    """

    format: Literal[2] = FORMAT
    source: str
    flows: int
    postcards: int
    first_ns: int
    last_ns: int
    widths_ns: tuple[int, ...]


@dataclass(frozen=True)
class RowGroups:
    """The row groups of a trial's postcards, each with the times it covers. G groups.

    Attributes:
        numbers: Their numbers in the file; empty ones are left out, shape (G,).
        rows: Rows of each, shape (G,).
        first_ns: When the first packet of each arrived, shape (G,).
        last_ns: When the last packet of each left, shape (G,).
    """

    numbers: NDArray[np.int64]
    rows: NDArray[np.int64]
    first_ns: NDArray[np.int64]
    last_ns: NDArray[np.int64]

    @property
    def later_from_ns(self) -> NDArray[np.int64]:
        """When the first packet of all later groups arrived; very late after the last group."""
        ends = np.append(self.first_ns, np.iinfo(np.int64).max)[1:]
        return np.minimum.accumulate(ends[::-1])[::-1]

    def of(self, start_ns: int, end_ns: int) -> list[int]:
        """The groups with a packet that was here at any time of [start, end)."""
        here = (self.first_ns < end_ns) & (self.last_ns >= start_ns)
        return [int(number) for number in self.numbers[here]]

    @classmethod
    def read(cls, path: Path) -> RowGroups:
        """Read them from a file's footer, which has the least and largest value of each column."""
        with pq.ParquetFile(path) as file:
            columns = {name: index for index, name in enumerate(file.schema_arrow.names)}
            every = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
        groups = [group for group in every if group.num_rows]
        numbers = [number for number, group in enumerate(every) if group.num_rows]
        ends = [
            (
                group.column(columns["enqueue_ns"]).statistics.min,
                group.column(columns["dequeue_ns"]).statistics.max,
            )
            for group in groups
        ]
        rows = np.array([group.num_rows for group in groups], np.int64)
        first, last = np.array(ends, np.int64).reshape(-1, 2).T
        return cls(np.array(numbers, np.int64), rows, first, last)


def cells_of(
    chunk: Arrays, flows: int, bins: TimeBins, columns: Collection[str] = COLUMNS
) -> Cells:
    """Sum postcards in bins, but for the occupancy, which needs those before.

    Args:
        chunk: The arrays of READ_COLUMNS.
        bins: The bins; what lies outside is left out.
    """
    dropped = chunk["kind"] == KIND_DROPPED
    flow, size = chunk["flow"].astype(np.int64), chunk["packet_bytes"].astype(np.float64)
    arrived = _cell(chunk["enqueue_ns"], flow, flows, bins)
    left = np.where(dropped, -1, _cell(chunk["dequeue_ns"], flow, flows, bins))
    delay = chunk["dequeue_ns"] - chunk["enqueue_ns"]
    shape = (bins.count, flows)

    def count(cell: NDArray[np.int64], weights: NDArray[Any] | None = None) -> NDArray[np.int64]:
        inside = cell >= 0
        held = None if weights is None else weights[inside]
        sums = np.bincount(cell[inside], weights=held, minlength=shape[0] * shape[1])
        return sums.reshape(shape).astype(np.int64)

    lost = np.where(dropped, arrived, -1)
    marks = np.nan_to_num(chunk["marks"]).astype(np.int64)  # NaN: nothing can be marked
    marked = np.where((marks & MARK_CE) != 0, left, -1)

    def longest() -> NDArray[np.int64]:
        most = np.zeros(shape[0] * shape[1], np.int64)
        np.maximum.at(most, left[left >= 0], delay[left >= 0])
        return most.reshape(shape)

    sums: dict[str, Callable[[], NDArray[np.int64]]] = {
        "arrived_packets": lambda: count(arrived),
        "arrived_bytes": lambda: count(arrived, size),
        "departed_packets": lambda: count(left),
        "departed_bytes": lambda: count(left, size),
        "dropped_packets": lambda: count(lost),
        "dropped_bytes": lambda: count(lost, size),
        "delay_sum_ns": lambda: count(left, delay),
        "marked_packets": lambda: count(marked),
        LONGEST: longest,
    }
    return {name: sum_up() for name, sum_up in sums.items() if name in columns}


def _cell(
    t_ns: NDArray[np.int64], flow: NDArray[np.int64], flows: int, bins: TimeBins
) -> NDArray[np.int64]:
    """The cell of each packet in an array of shape (bins, F); -1 outside the bins."""
    row = (t_ns - bins.start_ns) // bins.length_ns
    cell: NDArray[np.int64] = np.where((row >= 0) & (row < bins.count), row * flows + flow, -1)
    return cell


class OpenBins:
    """Bins that packets yet to come may still change; the others are taken away.

    Args:
        first: Number of the first bin.
    """

    def __init__(self, flows: int, width_ns: int, first: int) -> None:
        self.first = first
        self.flows, self.width_ns = flows, width_ns
        self._queued = np.zeros(flows, np.int64)
        self._steps = np.zeros((1, flows), np.int64)
        self._cells: Cells = {name: np.zeros((0, flows), np.int64) for name in COLUMNS}

    def add(self, chunk: Arrays) -> None:
        """Add postcards, none of which arrived before the first bin."""
        last = int(max(chunk["enqueue_ns"].max(), chunk["dequeue_ns"].max())) // self.width_ns
        self._grow(last + 1 - self.first)
        count = len(self._steps) - 1
        bins = TimeBins(self.first * self.width_ns, self.width_ns, count)
        for name, sums in cells_of(chunk, self.flows, bins).items():
            held = self._cells[name]
            np.maximum(held, sums, out=held) if name == LONGEST else np.add(held, sums, out=held)
        part = np.zeros((count + 1, self.flows), np.int64)
        stayed = was_queued(chunk)
        flow = chunk["flow"][stayed].astype(np.int64)
        size = chunk["packet_bytes"][stayed].astype(np.float64)
        add_steps(part, self._steps, bins, flow, chunk["enqueue_ns"][stayed], size)
        add_steps(part, self._steps, bins, flow, chunk["dequeue_ns"][stayed], -size)
        self._cells["occupancy_byte_ns"] += part[:-1]

    def take(self, end: int) -> Cells:
        """Take the bins before number `end` away, whole."""
        count = min(max(end - self.first, 0), len(self._steps) - 1)
        at_start = self._queued + np.cumsum(self._steps[:count], axis=0) - self._steps[:count]
        taken = {name: values[:count] for name, values in self._cells.items()}
        taken["occupancy_byte_ns"] = taken["occupancy_byte_ns"] + at_start * self.width_ns
        self._queued = self._queued + self._steps[:count].sum(axis=0)
        self._cells = {name: values[count:].copy() for name, values in self._cells.items()}
        self._steps = self._steps[count:].copy()
        self.first += count
        return taken

    def _grow(self, count: int) -> None:
        more = count - (len(self._steps) - 1)
        if more > 0:
            empty = np.zeros((more, self.flows), np.int64)
            self._steps = np.concatenate((self._steps, empty))
            self._cells = {n: np.concatenate((v, empty)) for n, v in self._cells.items()}


class Level:
    """Writes one level, and hands the bins of the next one on."""

    def __init__(self, writer: pq.ParquetWriter, above: Level | None) -> None:
        self._writer, self._above = writer, above
        self._rows: list[pa.Table] = []
        self._waiting: Cells | None = None
        self._next = 0

    def add(self, first: int, cells: Cells) -> None:
        """Add consecutive bins from number `first` on, which follow those before."""
        count = len(cells[LONGEST])
        if not count:
            return
        self._rows.append(_rows(first, cells))
        if sum(len(rows) for rows in self._rows) >= WRITTEN:
            self._write()
        if self._above is not None:
            self._hand_on(first, cells, self._above)

    def close(self) -> None:
        """Write what is left, here and above."""
        if self._above is not None:
            if self._waiting is not None:
                missing = -len(self._waiting[LONGEST]) % FACTOR
                self._above.add(self._next // FACTOR, merged(_padded(self._waiting, 0, missing)))
            self._above.close()
        self._write()

    def _hand_on(self, first: int, cells: Cells, above: Level) -> None:
        if self._waiting is None:
            self._next = first - first % FACTOR
            cells = _padded(cells, first % FACTOR, 0)
        else:
            cells = {n: np.concatenate((self._waiting[n], v)) for n, v in cells.items()}
        whole = len(cells[LONGEST]) // FACTOR * FACTOR
        above.add(self._next // FACTOR, merged({n: v[:whole] for n, v in cells.items()}))
        self._next += whole
        self._waiting = {n: v[whole:] for n, v in cells.items()}

    def _write(self) -> None:
        if self._rows:
            self._writer.write_table(pa.concat_tables(self._rows), row_group_size=ROW_GROUP)
            self._rows = []


def merged(cells: Cells, factor: int = FACTOR) -> Cells:
    """Bins of so many times the width; their number is a multiple of it."""
    flows = cells[LONGEST].shape[1]
    result = {}
    for name, values in cells.items():
        grouped = values.reshape(-1, factor, flows)
        result[name] = grouped.max(axis=1) if name == LONGEST else grouped.sum(axis=1)
    return result


def _padded(cells: Cells, before: int, after: int) -> Cells:
    return {name: np.pad(values, ((before, after), (0, 0))) for name, values in cells.items()}


def _rows(first: int, cells: Cells) -> pa.Table:
    """The rows of all bins with any content."""
    held = np.any([values != 0 for values in cells.values()], axis=0)
    bins, flow = np.nonzero(held)
    columns = [bins + first, flow, *(cells[name][held] for name in COLUMNS)]
    arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return pa.table(arrays, schema=SCHEMA)


def level_widths_ns(postcards: int, flows: int, length_ns: int) -> tuple[int, ...]:
    """The levels' widths, from bins that hold packets of each flow to those of a whole view.

    A bin of the lowest level holds 64 packets and four of each flow at least, so that the level is
    much smaller than the postcards; views that need narrower bins are made from the packets.
    """
    width = FINEST_NS
    while postcards * width < max(64, 4 * flows) * length_ns and width * PIXELS < length_ns:
        width *= FACTOR
    widths = [width]
    while widths[-1] * FACTOR * PIXELS <= length_ns:
        widths.append(widths[-1] * FACTOR)
    return tuple(widths)


def build_pyramid(trial: SealedTrial, folder: Path, show: Show = lambda *_: None) -> PyramidRecord:
    """Build a trial's pyramid; the folder is whole or the one before.

    The postcards are read once; memory depends on how long packets stay in the queue, not on
    how many there are.

    Args:
        trial: A trial with postcards.
        folder: The pyramid's folder; the one that it is in is there.

    Raises:
        RunError: The postcards are damaged.
        OSError: The folder cannot be written.
    """
    flows = len(trial.arrays("flows", ["flow"])["flow"])
    path = trial.file("postcards.parquet")
    groups = RowGroups.read(path)
    total = int(groups.rows.sum())
    first = int(groups.first_ns.min()) if total else 0
    last = int(groups.last_ns.max()) if total else 0
    widths = level_widths_ns(total, flows, last - first)
    record = PyramidRecord(
        source=source_of(trial), flows=flows, postcards=total, first_ns=first, last_ns=last,
        widths_ns=widths,
    )  # fmt: skip
    with whole_folder(folder) as made:
        with ExitStack() as files:
            level: Level | None = None
            for width in reversed(widths):
                level = Level(files.enter_context(_writer(level_path(made, width))), level)
            assert level is not None
            _fill(level, OpenBins(flows, widths[0], first // widths[0]), path, groups, show)
        (made / "pyramid.json").write_text(record.model_dump_json(indent=1) + "\n")
        write_sums(made)
    return record


def _fill(level: Level, bins: OpenBins, path: Path, groups: RowGroups, show: Show) -> None:
    done = 0
    chunks = postcards_of(path, bins.flows, groups.numbers.tolist())
    for chunk, later_ns in zip(chunks, groups.later_from_ns, strict=True):
        bins.add(chunk)
        done += len(chunk["flow"])
        start = bins.first
        level.add(start, bins.take(int(later_ns) // bins.width_ns))
        show(done, int(groups.rows.sum()))
    level.close()


def postcards_of(
    path: Path, flows: int, groups: Sequence[int], columns: Sequence[str] = READ_COLUMNS
) -> Iterator[Arrays]:
    """Read postcards row group by row group.

    Args:
        groups: The row groups.
        columns: Which columns; those of marks are NaN where the trial has none.

    Raises:
        RunError: The file is damaged, or holds flows that the trial does not have.
    """
    try:
        with pq.ParquetFile(path) as file:
            lacking = set(columns) & set(OPTIONAL["postcards"]) - set(file.schema_arrow.names)
            held = [name for name in columns if name not in lacking]
            for group in groups:
                table = file.read_row_group(group, columns=held)
                chunk = {name: table.column(name).to_numpy() for name in held}
                chunk |= {name: np.full(table.num_rows, np.nan) for name in lacking}
                if len(chunk["flow"]) and int(chunk["flow"].max()) >= flows:
                    problem = f"holds flow {int(chunk['flow'].max())} of {flows}"
                    raise damaged(path, problem, TRIAL_REMEDY)
                yield chunk
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error, TRIAL_REMEDY) from error


def _writer(path: Path) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, SCHEMA, compression="zstd", use_dictionary=["flow"])


def level_path(folder: Path, width_ns: int) -> Path:
    """The file of a level."""
    return folder / f"bins-{width_ns}ns.parquet"


def source_of(trial: SealedTrial) -> str:
    """What tells a trial's postcards from others: their size, and the footer's statistics."""
    path = trial.path / "postcards.parquet"
    with path.open("rb") as file:
        size = path.stat().st_size
        file.seek(max(0, size - 8))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(0, size - 8 - length))
        footer = file.read()
    return hashlib.sha256(json.dumps([trial.id, size]).encode() + footer).hexdigest()


def read_record(folder: Path, trial: SealedTrial) -> PyramidRecord | None:
    """The record of a trial's pyramid; None where there is none, or a stale one."""
    try:
        record = PyramidRecord.model_validate_json((folder / "pyramid.json").read_bytes())
    except (OSError, ValidationError):
        return None
    return record if is_whole(folder) and record.source == source_of(trial) else None


def user_cache() -> Path:
    """The folder of the user's with the pyramids of runs that cannot be written to."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "nashbed" / FOLDER


def open_pyramid(trial: SealedTrial, cache: Path) -> tuple[Path, PyramidRecord] | None:
    """The folder and the record of a trial's pyramid; None where it is still to be built.

    Args:
        cache: The folder of pyramids of runs that cannot be written to.
    """
    for folder in _places(trial, cache):
        if (record := read_record(folder, trial)) is not None:
            return folder, record
    return None


def make_pyramid(
    trial: SealedTrial, cache: Path, show: Show = lambda *_: None
) -> tuple[Path, PyramidRecord]:
    """Build a trial's pyramid in its run directory, or in the cache if that cannot be written to.

    Args:
        cache: A folder of the user's for what can be made again.

    Raises:
        RunError: The postcards are damaged, or neither folder can be written to.
    """
    refused = None
    for folder in _places(trial, cache):
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            return folder, build_pyramid(trial, folder, show)
        except OSError as error:
            refused = error
    raise RunError(f"{cache}: cannot be written to: {refused}; make room there") from refused


def _places(trial: SealedTrial, cache: Path) -> tuple[Path, Path]:
    """The pyramid's folder in the run directory, and in the cache."""
    run = trial.path.parent.parent
    named = hashlib.sha256(str(run.resolve()).encode()).hexdigest()[:16]
    return run / FOLDER / trial.id, cache / named / trial.id
