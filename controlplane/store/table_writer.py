"""Write the Parquet tables of a trial, in pieces."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .tables import TABLES

_INCREASING = ("enqueue_ns", "dequeue_ns", "seq", "tcp_seq", "queue_bytes", "bin_start_ns")


def write_table(folder: Path, name: str, batches: Iterable[dict[str, Any]]) -> int:
    """Write a table; returns its number of rows.

    Args:
        folder: The trial's folder.
        name: A table of contract.tables.
        batches: Columns by name, all of one length; any number of times.
    """
    schema = TABLES[name]
    delta = {n: "DELTA_BINARY_PACKED" for n in schema.names if n in _INCREASING}
    dictionary = [n for n in schema.names if n not in delta]
    rows = 0
    with pq.ParquetWriter(
        folder / f"{name}.parquet",
        schema,
        compression="zstd",
        use_dictionary=dictionary,
        column_encoding=delta or None,
    ) as writer:
        for columns in batches:
            arrays = [_array(columns[field.name], field.type) for field in schema]
            batch = pa.record_batch(arrays, schema=schema)
            rows += batch.num_rows
            writer.write_batch(batch)
    return rows


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    """Values as an Arrow array of exactly this type; what does not fit is an error."""
    if isinstance(values, pa.Array):
        return values.cast(kind)
    return pa.array(values).cast(kind) if len(values) else pa.array([], kind)
