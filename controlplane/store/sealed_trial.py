"""One sealed trial: its record, and its tables read lazily and checked against the contract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..contract.trial import TRIAL_FORMAT, Setting, TrialRecord
from .documents import read_json
from .errors import damaged
from .tables import TABLES

REMEDY = "the trial is left out; delete its directory and run `nashbed resume`"
REQUIRED = ("flows",)
BATCH_ROWS = 1 << 18
"""Rows read at a time: a few MB for each column, whatever the size of the table."""

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class SealedTrial:
    """A sealed trial. Tables are read when asked for and not kept.

    Attributes:
        path: The trial's directory.
        record: What its trial.json says.
    """

    path: Path
    record: TrialRecord

    @property
    def id(self) -> str:
        """The trial's id."""
        return self.record.id

    @property
    def setting(self) -> Setting:
        """The setting that was asked for."""
        return self.record.setting

    @property
    def mix_key(self) -> tuple[tuple[tuple[str, int], ...], ...]:
        """The mix as a hashable value: for each group, its sorted (strategy, flows)."""
        return tuple(tuple(sorted(group.counts.items())) for group in self.record.mix)

    def has(self, table: str) -> bool:
        """Say whether the trial kept a table."""
        return self._file(table).is_file()

    def arrays(self, table: str, columns: Sequence[str] | None = None) -> Arrays:
        """Read whole columns of a table that fits in memory, as numpy arrays.

        Args:
            table: A name of contract.tables.TABLES.
            columns: Which columns; None for all.

        Returns:
            Column -> array of shape (rows,). Nulls become NaN.

        Raises:
            RunError: The file is missing, damaged or lacks a column.
        """
        try:
            read = pq.read_table(self._file(table), columns=_names(table, columns))
        except (OSError, pa.ArrowException) as error:
            raise damaged(self._file(table), _plain(error), REMEDY) from error
        return {name: _numpy(read.column(name)) for name in read.column_names}

    def batches(
        self, table: str, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Arrays]:
        """Stream a table of any size in chunks of at most `rows` rows.

        Args:
            table: A name of contract.tables.TABLES.
            columns: Which columns; None for all.
            rows: Largest number of rows of a chunk.

        Yields:
            Column -> array of shape (rows of this chunk,).

        Raises:
            RunError: The file is missing, damaged or lacks a column.
        """
        path, names = self._file(table), _names(table, columns)
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(batch_size=rows, columns=names, use_threads=False):
                    yield {name: _numpy(batch.column(name)) for name in names}
        except (OSError, pa.ArrowException) as error:
            raise damaged(path, _plain(error), REMEDY) from error

    def lazy(self, table: str) -> pl.LazyFrame:
        """Scan a table lazily with polars, for questions that no metric answers yet."""
        return pl.scan_parquet(self._file(table))

    def _file(self, table: str) -> Path:
        return self.path / f"{table}.parquet"


def open_trial(path: Path) -> SealedTrial:
    """Open a sealed trial: read its record and check the head of each of its tables.

    Args:
        path: A directory of `trials/`.

    Raises:
        RunError: The record or a table is damaged, or a table lacks columns.
    """
    trial = SealedTrial(path, read_json(path / "trial.json", TrialRecord, TRIAL_FORMAT, REMEDY))
    for name in REQUIRED:
        if not trial.has(name):
            raise damaged(path / f"{name}.parquet", "is missing", REMEDY)
    for name, schema in TABLES.items():
        if trial.has(name):
            _check_table(path / f"{name}.parquet", schema)
    _check_flows(trial)
    return trial


def _check_table(path: Path, schema: pa.Schema) -> None:
    """Check a table's columns and types against the contract; only its footer is read."""
    try:
        found = pq.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, _plain(error), REMEDY) from error
    missing = [name for name in schema.names if name not in found.names]
    if missing:
        raise damaged(path, f"has no column {', '.join(missing)}", REMEDY)
    for field in schema:
        if found.field(field.name).type != field.type:
            kind = found.field(field.name).type
            raise damaged(path, f"column {field.name} is {kind}, not {field.type}", REMEDY)


def _check_flows(trial: SealedTrial) -> None:
    """Check that the flows are numbered 0.. and are as many as the mix says."""
    flows = trial.arrays("flows", ["flow"])["flow"]
    expected = sum(sum(group.counts.values()) for group in trial.record.mix)
    if sorted(flows.tolist()) != list(range(expected)):
        problem = f"does not hold the flows 0 to {expected - 1} of the mix"
        raise damaged(trial.path / "flows.parquet", problem, REMEDY)


def _names(table: str, columns: Sequence[str] | None) -> list[str]:
    return list(columns) if columns is not None else list(TABLES[table].names)


def _numpy(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    if isinstance(column, pa.ChunkedArray):
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _plain(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "is missing"
    return f"is damaged ({str(error).splitlines()[0]})" if str(error) else "is damaged"
