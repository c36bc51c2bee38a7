"""One sealed trial: its record, and its tables read lazily and checked against the contract."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ..contract.trial import Setting, TrialRecord
from .documents import read_document
from .errors import TRIAL_REMEDY, check_links, damaged
from .integrity import check_files, checked
from .parquet import BATCH_ROWS, Arrays, check_table, read_columns, stream_columns
from .tables import OPTIONAL, TABLES

REQUIRED = ("flows",)


@dataclass(frozen=True)
class SealedTrial:
    """A sealed trial. Tables are read when they are asked for, and every time."""

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
        """Say whether the trial has a table."""
        return (self.path / f"{table}.parquet").is_file()

    def file(self, name: str) -> Path:
        """A file of the trial, once it is seen to be as it was sealed.

        Raises:
            RunError: It is damaged.
        """
        return checked(self.path / name)

    def check(self) -> None:
        """See that all files are as they were sealed; raises RunError for the first that is not."""
        check_files(self.path)

    def arrays(self, table: str, columns: Sequence[str] | None = None) -> Arrays:
        """Read whole columns of a table that fits in memory, as numpy arrays.

        Args:
            table: A name of TABLES.
            columns: Which columns; None for all.

        Returns:
            Column -> array of shape (rows,). Nulls become NaN.

        Raises:
            RunError: The file is missing, damaged or lacks a column.
        """
        return read_columns(self._file(table), _names(table, columns), OPTIONAL[table])

    def batches(
        self, table: str, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS
    ) -> Iterator[Arrays]:
        """Stream a table of any size in chunks of at most `rows` rows.

        Args:
            table: A name of TABLES.
            columns: Which columns; None for all.
            rows: Largest number of rows of a chunk.

        Yields:
            Column -> array of shape (rows of this chunk,).

        Raises:
            RunError: The file is missing, damaged or lacks a column.
        """
        return stream_columns(self._file(table), _names(table, columns), rows, OPTIONAL[table])

    def lazy(self, table: str) -> pl.LazyFrame:
        """Scan a table lazily with polars, for questions that no metric answers yet."""
        return pl.scan_parquet(self._file(table))

    def _file(self, table: str) -> Path:
        return self.file(f"{table}.parquet")


def open_trial(path: Path) -> SealedTrial:
    """Open a sealed trial: read its record and check the head of each of its tables.

    Args:
        path: A directory of `trials/`.

    Raises:
        RunError: The record or a table is damaged, a table lacks columns, or stayed in a shared
            folder that is not seen here.
    """
    check_links(path)
    record = read_document(checked(path / "trial.json"), TrialRecord, TRIAL_REMEDY)
    trial = SealedTrial(path, record)
    for name in REQUIRED:
        if not trial.has(name):
            raise damaged(path / f"{name}.parquet", "is missing", TRIAL_REMEDY)
    for name, schema in TABLES.items():
        if trial.has(name):
            check_table(path / f"{name}.parquet", schema, OPTIONAL[name])
    _check_flows(trial)
    return trial


def _check_flows(trial: SealedTrial) -> None:
    """Check that the flows are numbered 0.., the mix's as many as it says, then background."""
    flows = trial.arrays("flows", ["flow", "group"])
    expected = sum(sum(group.counts.values()) for group in trial.record.mix)
    mixed = flows["flow"][flows["group"] < len(trial.record.mix)]
    known = sorted(flows["flow"].tolist()) == list(range(len(flows["flow"])))
    if not known or sorted(mixed.tolist()) != list(range(expected)):
        problem = f"does not hold the flows 0 to {expected - 1} of the mix"
        raise damaged(trial.path / "flows.parquet", problem, TRIAL_REMEDY)


def _names(table: str, columns: Sequence[str] | None) -> list[str]:
    return list(columns) if columns is not None else list(TABLES[table].names)
