"""Write tables of a run for other tools."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from nashbed.controlplane.store.errors import RunError, writing
from nashbed.controlplane.store.staging import whole_folder
from nashbed.controlplane.store.tables import TABLES

from ..measures import RunMeasures
from ..sharing.tables import MADE as MADE_OF_POSTCARDS
from .frames import FLAT, FRAMES, made_table
from .summary import RunSummary

FORMATS = ("csv", "parquet")
MADE = (*MADE_OF_POSTCARDS, *FRAMES)
"""Tables that are made when they are asked for."""


def export_run(
    summary: RunSummary, out: Path, suffix: str = "csv", raw: Sequence[str] = ()
) -> dict[str, int]:
    """Write a run's flat tables into a folder; the folder is whole or the one before.

    Args:
        out: The folder, which `check_export` has looked at.
        suffix: `csv` or `parquet`.
        raw: Raw tables to add, of all valid trials one below the other with a column `trial`, and
            those of MADE.

    Returns:
        Table -> number of rows.

    Raises:
        RunError: The folder cannot be written.
    """
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with whole_folder(out) as made:
            rows = {n: _write(t.lazy(), made, n, suffix) for n, t in flat_tables(summary).items()}
            return rows | {name: _write_asked(summary, made, name, suffix) for name in raw}


def flat_tables(summary: RunSummary) -> dict[str, pl.DataFrame]:
    """The tables `trials`, `flows`, `mixes` and, where the model holds, `ledger` of a run.

    Values are in base units.
    """
    tables = {frame.name: frame.table(summary) for frame in FLAT}
    return {name: table for name, table in tables.items() if table.height or name != "ledger"}


def check_export(out: Path, suffix: str, raw: Sequence[str]) -> None:
    """Refuse what `export_run` could not do, before anything is measured for it.

    Raises:
        RunError: A format or table is unknown, or the folder holds something else.
    """
    if suffix not in FORMATS:
        raise RunError(f"export format {suffix!r} is unknown; there are {', '.join(FORMATS)}")
    unknown = sorted(set(raw) - {*TABLES, *MADE})
    if unknown:
        known = ", ".join((*TABLES, *MADE))
        raise RunError(f"there is no table {unknown[0]!r}; there are {known}")
    if "flows" in raw:
        raise RunError("the table flows is exported with its metrics; leave it out of --table")
    foreign = [p for p in out.iterdir() if p.suffix[1:] not in FORMATS] if out.is_dir() else []
    if foreign or out.is_file():
        raise RunError(f"{out}: holds other files; name an empty folder with --out")


def _raw(measures: RunMeasures, name: str) -> pl.LazyFrame:
    """A raw table of every counted trial, one below the other."""
    trials = [t.trial for t in measures.trials if t.trial.has(name)]
    if not trials:
        raise RunError(f"{measures.run.path}: no valid trial has the table {name}")
    parts = [t.lazy(name).select(pl.lit(t.id).alias("trial"), pl.all()) for t in trials]
    return pl.concat(parts)


def _write_asked(summary: RunSummary, folder: Path, name: str, suffix: str) -> int:
    measures = summary.measures
    if name not in MADE:
        return _write(_raw(measures, name), folder, name, suffix)
    if not measures.trials:
        raise RunError(f"{measures.run.path}: no valid trial, of which {name} could be made")
    if name in FRAMES:
        return _write(made_table(summary, name).lazy(), folder, name, suffix)
    path = folder / f"{name}.parquet"
    MADE_OF_POSTCARDS[name](measures, path)
    if suffix == "parquet":
        return int(pl.scan_parquet(path).select(pl.len()).collect().item())
    rows = _write(pl.scan_parquet(path), folder, name, suffix)
    path.unlink()
    return rows


def _write(table: pl.LazyFrame, folder: Path, name: str, suffix: str) -> int:
    path = folder / f"{name}.{suffix}"
    if suffix == "csv":
        table.sink_csv(path)
        return int(pl.scan_csv(path).select(pl.len()).collect().item())
    table.sink_parquet(path, compression="zstd")
    return int(pl.scan_parquet(path).select(pl.len()).collect().item())
