"""Flat tables of a run for other tools: trials, flows, mixes, ledger. README.md has the columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.store.errors import RunError, writing
from nashbed.controlplane.store.sealed_trial import SealedTrial
from nashbed.controlplane.store.staging import whole_folder
from nashbed.controlplane.store.tables import TABLES

from ..correlation import correlate_run, correlation_answer
from ..measures import RunMeasures, TrialMeasures
from ..metrics import METRICS
from ..models.starts import BBR, CUBIC
from ..sharing.tables import MADE as MADE_OF_POSTCARDS
from ..state import mix_state, state_text, strategy_totals
from .frames import FRAMES, made_table
from .summary import RunSummary, SummaryRow

FORMATS = ("csv", "parquet")
MADE = (*MADE_OF_POSTCARDS, *FRAMES)
"""Tables that are made when they are asked for."""
_TRIAL_COLUMNS = {
    "trial": pl.String, "setting": pl.String, "rate_bps": pl.Int64, "buffer_bytes": pl.Int64,
    "buffer_bdp": pl.Float64, "base_rtt_ns": pl.Int64, "discipline": pl.String,
    "kernel": pl.String, "testbed": pl.String, "host": pl.String, "mix": pl.String,
    "duration_ns": pl.Int64,
}  # fmt: skip
_TRIAL_STATE = {
    "repetition": pl.Int64, "attempt": pl.Int64, "valid": pl.Boolean, "counted": pl.Boolean,
    "settled": pl.Boolean,
}  # fmt: skip
_FLOW_COLUMNS = {
    "trial": pl.String, "setting": pl.String, "flow": pl.Int64, "group": pl.String,
    "strategy": pl.String, "base_rtt_ns": pl.Int64,
}  # fmt: skip


def export_run(
    summary: RunSummary, out: Path, suffix: str = "csv", raw: Sequence[str] = ()
) -> dict[str, int]:
    """Write a run's flat tables into a folder; the folder is whole or the one before.

    Args:
        summary: What was measured.
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

    Values are in base units, NaN is null. A table without rows has its columns.
    """
    measures = summary.measures
    flows_of = {f"flows_{name}": pl.Int64 for name in measures.strategies}
    tables = {
        "trials": pl.DataFrame(
            [_trial_row(measures, trial) for trial in measures.run.trials],
            _TRIAL_COLUMNS | flows_of | _TRIAL_STATE | _metric_columns(measures, "trial"),
        ),
        "flows": pl.DataFrame(
            [row for trial in measures.trials for row in _flow_rows(measures, trial)],
            _FLOW_COLUMNS | _metric_columns(measures, "flow"),
        ),
        "mixes": _inferred([row for each in summary.rows for row in _mix_rows(each)]),
    }
    ledger = _ledger_rows(measures)
    if ledger:
        tables["ledger"] = _inferred(ledger)
    return {name: table.fill_nan(None) for name, table in tables.items()}


def _inferred(rows: list[JsonObject]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)


def _metric_columns(measures: RunMeasures, scope: str) -> dict[str, type[pl.DataType]]:
    names = (name for name in measures.metrics if METRICS[name].scope == scope)
    return dict.fromkeys(names, pl.Float64)


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


def _trial_row(measures: RunMeasures, trial: SealedTrial) -> JsonObject:
    record, setting = trial.record, trial.setting
    state = mix_state(record.mix, measures.strategies)
    measured = next((t for t in measures.trials if t.trial.id == trial.id), None)
    row: JsonObject = {
        "trial": trial.id,
        "setting": setting.label,
        "rate_bps": record.applied.rate_bps,
        "buffer_bytes": record.applied.buffer_bytes,
        "buffer_bdp": setting.buffer_bdp,
        "base_rtt_ns": min(setting.base_rtt_ns),
        "discipline": setting.queue_label,
        "kernel": setting.kernel,
        "testbed": record.ran_on and record.ran_on.testbed,
        "host": record.ran_on and record.ran_on.host,
        "mix": state_text(state, measures.strategies, measures.group_names),
        "duration_ns": record.duration_ns,
    }
    totals = zip(measures.strategies, strategy_totals(state), strict=True)
    row |= {f"flows_{name}": count for name, count in totals}
    row |= {"repetition": record.repetition, "attempt": record.attempt, "valid": record.valid}
    row |= {
        "counted": measured is not None,
        "settled": None if measured is None else measured.settled,
    }
    return row | {
        name: None if measured is None else measured.total.get(name)
        for name in measures.metrics
        if METRICS[name].scope == "trial"
    }


def _flow_rows(measures: RunMeasures, trial: TrialMeasures) -> list[JsonObject]:
    rtts = trial.trial.setting.base_rtt_ns
    groups = [group.name for group in measures.run.scenario.flows]
    names = [name for name in measures.metrics if METRICS[name].scope == "flow"]
    return [
        {
            "trial": trial.trial.id,
            "setting": trial.trial.setting.label,
            "flow": flow,
            "group": groups[trial.group[flow]],
            "strategy": strategy,
            "base_rtt_ns": rtts[trial.group[flow]],
        }
        | {n: float(trial.per_flow[n][flow]) if n in trial.per_flow else None for n in names}
        for flow, strategy in enumerate(trial.strategy)
    ]


def _mix_rows(row: SummaryRow) -> list[JsonObject]:
    """One row for each CCA of a mix, and one for the whole (strategy null)."""
    common = row.model_dump(exclude={*METRICS, "base_rtt_ns", "counts", "groups"})
    rows = []
    for metric, value in row:
        if metric not in METRICS:
            continue
        by_strategy = METRICS[metric].scope == "flow"
        each = value if by_strategy else {None: value}
        for strategy, estimate in each.items():
            numbers = {"mean": None, "n": 0, "ci95": None}
            if estimate is not None:
                numbers = estimate.model_dump(include=set(numbers))
            whose = {"strategy": strategy, "metric": metric, "unit": METRICS[metric].unit}
            rows.append(common | whose | numbers)
    return rows


def _ledger_rows(measures: RunMeasures) -> list[JsonObject]:
    """One row for each assumption of Mishra's model, setting and mix; nothing of other runs."""
    if not {CUBIC, BBR} <= set(measures.strategies):
        return []
    return [
        {
            "setting": each.setting,
            "mix": ledger.mix,
            "bbr_share": ledger.bbr_share,
            "bbr_share_all_measured": ledger.replaced,
            "bbr_share_synchronised": ledger.predicted.synchronised,
            "bbr_share_desynchronised": ledger.predicted.desynchronised,
            **entry.model_dump(),
        }
        for each in correlation_answer(correlate_run(measures)).settings
        for ledger in each.ledgers
        for entry in ledger.entries
    ]


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
