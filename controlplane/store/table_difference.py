"""Where two tables differ first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from .digests import plain_values
from .errors import TRIAL_REMEDY, damaged
from .parquet import BATCH_ROWS

NOTHING = "nothing"
"""Stands for a column or a row that one of the tables does not have."""


@dataclass(frozen=True)
class TableDifference:
    """The first difference of two tables: in the first row that differs, its first column.

    Attributes:
        row: The row, from 0; None: the tables' columns differ.
        column: The column.
        first: What the first table has there: a value, or the type of the column.
        second: What the second one has.
    """

    row: int | None
    column: str
    first: Any
    second: Any


def first_difference(first: Path, second: Path) -> TableDifference | None:
    """Find the first difference of two tables; both are read in batches.

    Args:
        first: A Parquet file.
        second: Another one.

    Returns:
        The difference; None: the contents are equal.

    Raises:
        RunError: A file is missing or damaged.
    """
    with _opened(first) as one, _opened(second) as other:
        difference = _of_columns(one.schema_arrow, other.schema_arrow)
        if difference is not None:
            return difference
        row = 0
        for left, right in _aligned(_batches(one, first), _batches(other, second)):
            difference = _of_rows(left, right, row)
            if difference is not None:
                return difference
            row += left.num_rows if left is not None else 0
    return None


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error, TRIAL_REMEDY) from error


def _batches(file: pq.ParquetFile, path: Path) -> Iterator[pa.RecordBatch]:
    try:
        yield from (b for b in file.iter_batches(BATCH_ROWS, use_threads=False) if b.num_rows)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error, TRIAL_REMEDY) from error


def _aligned(
    first: Iterator[pa.RecordBatch], second: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch | None, pa.RecordBatch | None]]:
    """Batches of one length, however the files are cut; at the end of the shorter one, None."""
    left, right = next(first, None), next(second, None)
    while left is not None and right is not None:
        rows = min(left.num_rows, right.num_rows)
        yield left.slice(0, rows), right.slice(0, rows)
        left = left.slice(rows) if rows < left.num_rows else next(first, None)
        right = right.slice(rows) if rows < right.num_rows else next(second, None)
    yield left, right


def _of_columns(first: pa.Schema, second: pa.Schema) -> TableDifference | None:
    kinds = [{field.name: str(field.type) for field in schema} for schema in (first, second)]
    for name in dict.fromkeys([*kinds[0], *kinds[1]]):
        left, right = (kind.get(name, NOTHING) for kind in kinds)
        if left != right:
            return TableDifference(None, name, left, right)
    for left, right in zip(*kinds, strict=True):
        if left != right:
            return TableDifference(None, left, "here", f"column {right}")
    return None


def _of_rows(
    left: pa.RecordBatch | None, right: pa.RecordBatch | None, row: int
) -> TableDifference | None:
    """The first difference of two batches of one length, of which the first row is `row`."""
    longer = left if left is not None else right
    if longer is None:
        return None
    if left is None or right is None:
        name = longer.schema.names[0]
        values = [
            NOTHING if batch is None else batch.column(0)[0].as_py() for batch in (left, right)
        ]
        return TableDifference(row, name, *values)
    places = [
        _first_place(one, other) for one, other in zip(left.columns, right.columns, strict=True)
    ]
    known = [place for place in places if place is not None]
    if not known:
        return None
    column = places.index(min(known))
    one, other = (batch.column(column)[min(known)].as_py() for batch in (left, right))
    return TableDifference(row + min(known), left.schema.names[column], one, other)


def _first_place(first: pa.Array, second: pa.Array) -> int | None:
    """The first place at which two columns of one length differ."""
    differ = _nulls(first) != _nulls(second)
    one, other = plain_values(first), plain_values(second)
    differ |= (one != other) & ~((one != one) & (other != other))  # noqa: PLR0124 - a NaN is like a NaN
    return int(np.argmax(differ)) if differ.any() else None


def _nulls(column: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))
