"""What was measured beside what is published of the same settings, and how far off it is."""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.scenario_keys import ReferenceSeries
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.store.errors import damaged

from ..frame import Column, Frame
from ..measures import Cell, RunMeasures, TrialMeasures
from ..metrics.statistics import estimate
from ..models.equilibrium_files import equilibrium_table
from ..models.starts import CUBIC
from ..state import state_text, strategy_totals
from .bounds import matches
from .summary import RunSummary
from .sweep import place_of

SAME = 0.01
"""Relative difference up to which a place on an axis is the published one: bytes are whole."""
DIGITS = 16
"""Hexadecimal digits of a digest that a table has."""
READ: dict[str, Callable[[TrialMeasures, str], float]] = {
    "per_flow": lambda trial, strategy: trial.value("per_flow_throughput", strategy) / 1e6,
    "aggregate": lambda trial, strategy: trial.total_of("per_flow_throughput", strategy) / 1e6,
    "share": lambda trial, strategy: trial.total_of("throughput_share", strategy),
}
"""Quantity of a published series, but for equilibria -> what it is in a trial."""


class _Measured(NamedTuple):
    """A value with the ends of its 95 % interval (NaN: none), of these trials in this mix."""

    value: float
    low: float
    high: float
    trials: Sequence[TrialMeasures]
    mix: str | None = None


def _rows(summary: RunSummary) -> Iterator[JsonObject]:
    measures = summary.measures
    reference = measures.run.scenario.reference
    asked = any(series.quantity == "equilibrium" for series in reference)
    equilibria = _equilibria(measures) if asked else {}
    for series in reference:
        settings = [each for each in measures.run.settings if matches(series, each)]
        for setting in settings:
            for x, values in _by_place(series).items():
                found = _measured(measures, setting, series, x, equilibria)
                if found is not None:
                    yield _row(measures, setting, series, values, found)


def _by_place(series: ReferenceSeries) -> dict[float, list[tuple[float, float]]]:
    """Place on the axis -> the values published there, each with half its interval."""
    halves = series.ci95 or (math.nan,) * len(series.x)
    places: dict[float, list[tuple[float, float]]] = {}
    for x, y, half in zip(series.x, series.y, halves, strict=True):
        places.setdefault(x, []).append((y, half))
    return places


def _measured(
    measures: RunMeasures,
    setting: Setting,
    series: ReferenceSeries,
    x: float,
    equilibria: dict[str, _Measured],
) -> _Measured | None:
    """What a run has of a published value; None: another setting is meant, or nothing is known."""
    if series.axis != "mix" and not math.isclose(place_of(setting, series.axis), x, rel_tol=SAME):
        return None
    if series.quantity == "equilibrium":
        found = equilibria.get(setting.label) if series.axis != "mix" else None
        return found and _of_strategy(found, series.strategy, measures.flows(setting))
    cell = _cell(measures, setting, series, x)
    return None if cell is None else _of_cell(measures, cell, series)


def _cell(
    measures: RunMeasures, setting: Setting, series: ReferenceSeries, x: float
) -> Cell | None:
    """The only mix that is meant; where none is named, that of the strategy's flows alone."""
    named = (series.mix or {}).items()
    found = []
    for cell in measures.cells(setting):
        counts = dict(zip(measures.strategies, strategy_totals(cell.state), strict=True))
        others = sum(counts.values()) - counts[measures.strategies[0]]
        meant = others == x if series.axis == "mix" else named <= counts.items()
        alone = counts[series.strategy] == sum(counts.values())
        if cell.trials and meant and (series.axis == "mix" or named or alone):
            found.append(cell)
    return found[0] if len(found) == 1 else None


def _of_cell(measures: RunMeasures, cell: Cell, series: ReferenceSeries) -> _Measured | None:
    read = READ[series.quantity]
    found = estimate([read(trial, series.strategy) for trial in cell.trials])
    if found is None:
        return None
    half = math.nan if found.ci95 is None else found.ci95
    mix = state_text(cell.state, measures.strategies, measures.group_names)
    return _Measured(found.mean, found.mean - half, found.mean + half, cell.trials, mix)


def _equilibria(measures: RunMeasures) -> dict[str, _Measured]:
    """Label of a setting -> CUBIC flows at its equilibrium."""
    settings = {each.label: each for each in measures.run.settings}
    found = {}
    for row in equilibrium_table(measures).rows:
        if row.n_cubic is not None:
            low, high = row.interval or (math.nan, math.nan)
            cells = measures.cells(settings[row.setting])
            trials = [trial for cell in cells for trial in cell.trials]
            found[row.setting] = _Measured(row.n_cubic, low, high, trials)
    return found


def _of_strategy(found: _Measured, strategy: str, flows: int) -> _Measured:
    """An equilibrium in flows of a strategy."""
    if strategy == CUBIC:
        return found
    value, low, high = (flows - each for each in (found.value, found.high, found.low))
    return found._replace(value=value, low=low, high=high)


def _row(
    measures: RunMeasures,
    setting: Setting,
    series: ReferenceSeries,
    values: list[tuple[float, float]],
    found: _Measured,
) -> JsonObject:
    published, half = min(values, key=lambda each: abs(each[0] - found.value))
    return {
        "source": measures.run.scenario.name,
        "setting": setting.label,
        "quantity": series.quantity,
        "label": series.label,
        "strategy": series.strategy,
        "mix": found.mix,
        "published": published,
        "published_low": published - half,
        "published_high": published + half,
        "measured": found.value,
        "low": found.low,
        "high": found.high,
        "trials": len(found.trials),
        "digest": _digest(found.trials),
    }


def _digest(trials: Iterable[TrialMeasures]) -> str:
    """Of what was measured: equal only if every trial is, to the bit."""
    records = sorted((trial.trial.id, trial.trial.record.digests.trial) for trial in trials)
    return hashlib.sha256(repr(records).encode()).hexdigest()[:DIGITS]


def _number(name: str, about: str) -> Column:
    return Column(name, about, kind=pl.Float64)


COLUMNS = (
    Column("setting", "label of the setting"),
    Column("source", "name of the scenario"),
    Column("quantity", "what is published, as in the scenario: `per_flow`, `aggregate` (both "
           "Mbit/s), `share` (0 to 1) or `equilibrium` (flows)"),
    Column("label", "label of the published series"),
    Column("strategy", "whose value it is"),
    Column("mix", "the mix, in words; null: an equilibrium"),
    _number("published", "the published value; of several the one nearest to ours"),
    _number("published_low", "lower end of its 95 % interval; null: none is published"),
    _number("published_high", "upper end"),
    _number("measured", "what was measured"),
    _number("low", "lower end of its 95 % interval; null: it has none"),
    _number("high", "upper end"),
    Column("trials", "trials that it is of", kind=pl.Int64),
    Column("digest", "of what these trials measured, their first 16 digits: equal only if all "
           "are, to the bit"),
)  # fmt: skip
PUBLISHED = Frame(
    "published",
    "Beside published values",
    "setting and value that the scenario's `reference` has",
    COLUMNS,
    _rows,
    lacking="nothing is published of what was measured; write `reference` into the scenario",
)
KEY = ("source", "setting", "quantity", "label", "strategy", "mix")
"""What a row is of."""


def read_published_table(path: Path) -> pl.DataFrame:
    """Read a table of PUBLISHED.

    Raises:
        RunError: It is missing, or another file.
    """
    schema = {column.name: column.kind or pl.String for column in COLUMNS}
    try:
        return pl.read_csv(path, schema_overrides=schema).select(list(schema))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise damaged(path, error, "give a table that `nashbed published` has written") from error


def agreement_with_published(table: pl.DataFrame) -> pl.DataFrame:
    """How far a table of PUBLISHED is off, by quantity: all, by label, and by strategy.

    Returns:
        `quantity`, `of` (a label or a strategy; empty: all), `rows`, `median_off`, `mean_off` and
        `most_off` of the absolute differences, `with_intervals` (rows that have both), and how many
        of these `touch`.
    """
    off = (pl.col("measured") - pl.col("published")).abs()
    touch = (pl.col("low") <= pl.col("published_high")) & (
        pl.col("published_low") <= pl.col("high")
    )
    measured = [
        pl.len().alias("rows"),
        off.median().alias("median_off"),
        off.mean().alias("mean_off"),
        off.max().alias("most_off"),
        touch.is_not_null().sum().alias("with_intervals"),
        touch.sum().alias("touch"),
    ]
    parts = []
    for of in (pl.lit(""), pl.col("label"), pl.col("strategy")):
        keys = [pl.col("quantity"), of.alias("of")]
        parts.append(table.group_by(keys, maintain_order=True).agg(measured))
    is_part = pl.col("rows") < pl.col("rows").max().over("quantity")
    found = pl.concat(parts).filter(is_part | (pl.col("of") == ""))
    return found.sort("quantity", maintain_order=True)


def changed_rows(table: pl.DataFrame, known: pl.DataFrame) -> list[str]:
    """What differs between two tables of PUBLISHED, a line for each row.

    A row differs if it is in one alone, or if any trial of it does, by its digest.
    """
    before, now = (dict(_keyed(each)) for each in (known, table))
    lines = []
    for row in {**before, **now}:
        old, new = before.get(row), now.get(row)
        if old != new:
            lines.append(f"{', '.join(filter(None, row))}: {_told(new)}, was {_told(old)}")
    return lines


def _keyed(table: pl.DataFrame) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    for row in table.iter_rows(named=True):
        yield tuple(row[each] or "" for each in KEY), row


def _told(row: dict[str, Any] | None) -> str:
    return "not there" if row is None else f"{row['measured']:.6g} ({row['digest']})"
