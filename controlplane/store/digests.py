"""Digests of a trial: SHA-256 over content, whatever a library made of it on the disk.

Neither Parquet's compression, its row groups, nor the library's version is part of a digest: of a
table it covers the names, the types and the values of the columns, of a fact its content. What
differs between two equal trials is left out: wall-clock times, how late a machine was, paths,
process ids.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..contract.trial import TrialDigests
from .checksums import file_digest
from .errors import TRIAL_REMEDY, check_links, damaged
from .parquet import BATCH_ROWS
from .tables import TABLES

CAPTURES = "*.pcap"


def digest_trial(folder: Path, facts: Mapping[str, Any]) -> TrialDigests:
    """Digest everything that a trial measured.

    Args:
        facts: What else it measured, as plain data by name.

    Raises:
        RunError: A table is damaged.
    """
    parts = {
        "tables": digest_tables(folder),
        "captures": digest_captures(folder),
        "facts": {name: _text_digest(fact) for name, fact in facts.items()},
    }
    return TrialDigests(**parts, trial=_text_digest(parts))


def digest_tables(folder: Path) -> dict[str, str]:
    """Digest the tables that a trial has, by name.

    Raises:
        RunError: A table is damaged, or stayed in a shared folder that is not seen here.
    """
    check_links(folder)
    paths = {name: folder / f"{name}.parquet" for name in TABLES}
    return {name: table_digest(path) for name, path in paths.items() if path.is_file()}


def digest_captures(folder: Path) -> dict[str, str]:
    """Digest the captures that a trial has, by file name."""
    return {path.name: file_digest(path) for path in sorted(folder.glob(CAPTURES))}


def table_digest(path: Path) -> str:
    """Digest a table of any size by its content; it is read in batches.

    Args:
        path: The Parquet file.

    Raises:
        RunError: The file is missing or damaged.
    """
    try:
        with pq.ParquetFile(path) as file:
            columns = {field.name: _ColumnDigest(field.type) for field in file.schema_arrow}
            for batch in file.iter_batches(BATCH_ROWS, use_threads=False):
                for name, column in columns.items():
                    column.feed(batch.column(name))
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, error, TRIAL_REMEDY) from error
    return _text_digest([[name, *column.parts()] for name, column in columns.items()])


def plain_values(column: pa.Array) -> NDArray[Any]:
    """The values of a column as numpy has them; a null is 0 or an empty text."""
    if column.null_count:
        column = column.fill_null("" if pa.types.is_string(column.type) else 0)
    return np.asarray(column.to_numpy(zero_copy_only=False))


class _ColumnDigest:
    """Digest of a column that comes in pieces; where it is cut does not matter."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._values = hashlib.sha256()
        self._nulls = hashlib.sha256()
        self._rows = 0

    def feed(self, column: pa.Array) -> None:
        """Take the next rows in."""
        if column.null_count:
            missing = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
            self._nulls.update((missing + self._rows).astype("<i8").tobytes())
        self._values.update(_bytes(plain_values(column)))
        self._rows += len(column)

    def parts(self) -> list[Any]:
        """What the table's digest is made of."""
        kind, rows = str(self._kind), self._rows
        return [kind, rows, self._values.hexdigest(), self._nulls.hexdigest()]


def _bytes(values: NDArray[Any]) -> bytes | memoryview:
    """The values as bytes, the same on every processor."""
    if values.dtype == object:
        texts = [text.encode() for text in values]
        return b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), np.nan, values)
    return np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data.cast("B")


def _text_digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
