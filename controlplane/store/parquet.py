"""Write and read the Parquet file of one table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from .errors import TRIAL_REMEDY, damaged

BATCH_ROWS = 1 << 18
"""Rows read at a time: a few MB for each column, whatever the size of the table."""

Arrays = dict[str, NDArray[Any]]
"""Column -> array of shape (rows,). Nulls are NaN."""


@dataclass(frozen=True)
class TableLayout:
    """How a table of a trial is laid out.

    Attributes:
        name: Its name; the file is `<name>.parquet`.
        increasing: Columns that mostly increase; they are stored as differences.
        marks: Columns that only trials have in which packets can be marked.
        queues: Columns that only trials of several queues have.
    """

    name: str
    schema: pa.Schema
    increasing: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()

    def without_marks(self) -> TableLayout:
        """The table of a trial in which nothing can be marked."""
        return replace(self._without(self.marks), marks=())

    def without_queues(self) -> TableLayout:
        """The table of a trial of one queue."""
        return replace(self._without(self.queues), queues=())

    def _without(self, columns: Collection[str]) -> TableLayout:
        kept = [field for field in self.schema if field.name not in columns]
        return replace(self, schema=pa.schema(kept))

    def path(self, folder: Path) -> Path:
        """Where the table is in a trial's folder."""
        return folder / f"{self.name}.parquet"


def write_table(folder: Path, table: TableLayout, batches: Iterable[Mapping[str, Any]]) -> int:
    """Write a table; returns its number of rows.

    Args:
        batches: Columns by name, all of one length; any number of times.
    """
    schema = table.schema
    rows = 0
    with pq.ParquetWriter(
        table.path(folder),
        schema,
        compression="zstd",
        use_dictionary=[name for name in schema.names if name not in table.increasing],
        column_encoding=dict.fromkeys(table.increasing, "DELTA_BINARY_PACKED") or None,
    ) as writer:
        for columns in batches:
            arrays = [_arrow(columns[field.name], field.type) for field in schema]
            batch = pa.record_batch(arrays, schema=schema)
            rows += batch.num_rows
            writer.write_batch(batch)
    return rows


def read_columns(path: Path, names: Sequence[str], optional: Collection[str] = ()) -> Arrays:
    """Read whole columns of a table that fits in memory.

    Args:
        optional: Columns that a file may lack; their values are nulls there.

    Raises:
        RunError: The file is missing, damaged or lacks a column.
    """
    try:
        read = pq.read_table(path, columns=_present(path, names, optional))
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error, TRIAL_REMEDY) from error
    found = {name: _numpy(read.column(name)) for name in read.column_names}
    return _completed(found, names, optional, read.num_rows)


def stream_columns(
    path: Path, names: Sequence[str], rows: int = BATCH_ROWS, optional: Collection[str] = ()
) -> Iterator[Arrays]:
    """Read columns of a table of any size, at most `rows` rows at a time, on one thread.

    Args:
        rows: Largest number of rows of a batch.
        optional: Columns that a file may lack; their values are nulls there.

    Raises:
        RunError: The file is missing, damaged or lacks a column.
    """
    try:
        present = _present(path, names, optional)
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(rows, columns=present, use_threads=False):
                found = {name: _numpy(batch.column(name)) for name in present}
                yield _completed(found, names, optional, batch.num_rows)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error, TRIAL_REMEDY) from error


def check_table(path: Path, schema: pa.Schema, optional: Collection[str] = ()) -> None:
    """Check a file's columns and types against a schema; only its footer is read.

    Args:
        optional: Columns that a file may lack.

    Raises:
        RunError: The file is damaged, lacks a column or has one of another type.
    """
    try:
        in_file = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error, TRIAL_REMEDY) from error
    missing = [name for name in schema.names if name not in in_file.names]
    if lacking := [name for name in missing if name not in optional]:
        raise damaged(path, f"has no column {', '.join(lacking)}", TRIAL_REMEDY)
    for field in schema:
        if field.name in missing:
            continue
        kind = in_file.field(field.name).type
        if kind != field.type:
            problem = f"column {field.name} is {kind}, not {field.type}"
            raise damaged(path, problem, TRIAL_REMEDY)


def _present(path: Path, names: Sequence[str], optional: Collection[str]) -> list[str]:
    """The columns to ask a file for: without optional ones that it lacks."""
    if not set(names) & set(optional):
        return list(names)
    in_file = pq.read_schema(path).names
    return [name for name in names if name in in_file or name not in optional]


def _completed(found: Arrays, names: Sequence[str], optional: Collection[str], rows: int) -> Arrays:
    nulls = {
        name: np.full(rows, np.nan) for name in names if name in optional and name not in found
    }
    return found | nulls


def _arrow(values: Any, kind: pa.DataType) -> pa.Array:
    """Values as an Arrow array of exactly this type; a value that does not fit is an error."""
    if isinstance(values, pa.Array):
        return values.cast(kind)
    return pa.array(values).cast(kind) if len(values) else pa.array([], kind)


def _numpy(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    if isinstance(column, pa.ChunkedArray):
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_numpy(zero_copy_only=False))
