"""`nashbed report`, `ne`, `compare`, `export` and `mixes`: working with finished runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from nashbed.files import quantity
from rich.table import Table

from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK, ConfigError
from ..contract.metrics import DISPLAY
from ..contract.units import Duration, Share, counted
from .api_command import Call, command
from .console import as_text, new_table
from .equivalence_text import equivalence_text
from .options import Answer, app
from .result_text import headline_lines, left_out_text

if TYPE_CHECKING:
    from nashbed.analysis.nash.of_run import SettingEquilibria
    from nashbed.analysis.results.compare import (
        Comparison,
        RunComparison,
        ShareComparison,
        ShareSummary,
        Spread,
    )
    from nashbed.tables import MixTable


MOST_ROWS = 40
"""Rows that a table shows unless all are asked for."""
MOST_NAMES = 10
UNTESTED = (
    "no mix has two valid trials in both, so a difference cannot be distinguished from chance; "
    "set `trials: 2` or more in the scenario and run again\n"
)
COMPARE_EXAMPLES = """Examples:

nashbed compare results/20260101T120000Z-a results/20260102T120000Z-a

nashbed compare results/20260101T120000Z-a results/20260102T120000Z-a --equivalence 2%"""
TABLE_FORMATS = ("csv", "parquet")
EXPORT_EXAMPLES = """Examples:

nashbed export results/20260101T120000Z-quickstart --format parquet

nashbed export results/20260101T120000Z-quickstart --format perfetto --trial b1bdp-k01-r0-a0

nashbed export results/20260101T120000Z-quickstart --format pcapng --trial b1bdp-k01-r0-a0
--flows 0,2-3 --from 5s --to 6s"""
UNVARIED = "no spread"
"""Stands for p where neither run varies."""
Row = TypeVar("Row", "Comparison", "ShareComparison")


@command(
    app,
    "runs.open_run",
    "runs.Run.report",
    examples="Example: nashbed report results/20260101T120000Z-quickstart --format pdf",
    formats=typer.Option("--format"),
    out=None,
)
def report(open_run: Call, build: Call) -> Answer:
    """Build the report of a run again."""
    run = open_run()
    path, damaged = build(run), run.damaged
    left_out = [{"trial": each.id, "problem": each.problem} for each in damaged]
    said = {"ok": True, "report": str(path), "damaged": left_out}
    return Answer(said, f"{left_out_text(damaged)}report: {path}")


@command(
    app,
    "runs.open_run",
    examples="Example: nashbed ne results/20260101T120000Z-quickstart --json",
    hidden=True,
)
def ne(open_run: Call) -> Answer:
    """Show the Nash equilibria of a run."""
    from nashbed.runs import equilibria_answer  # noqa: PLC0415 - slow to import

    settings = open_run().equilibria
    text = "\n".join(equilibria_text(each) for each in settings)
    return Answer([equilibria_answer(each).model_dump() for each in settings], text)


@command(app, "runs.compare", "runs.equivalence", examples=COMPARE_EXAMPLES, margin=None)
def compare(
    compare: Call,
    test: Call,
    equivalence: Annotated[
        str | None,
        typer.Option("--equivalence", help="Test whether shares differ by less than this: 2%."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Every row of tables of more than {MOST_ROWS}.")
    ] = False,
) -> Answer:
    """Show what differs between two runs, and where by more than chance.

    Shares of the throughput come first: a summary for each setting, then those of both runs side
    by side. What repeated mixes have in both is tested.

    With --equivalence the question is the opposite one: whether the runs measure the same. At every
    mix of several congestion controls two one-sided tests at 95 % say whether a share differs by
    less than the margin; exit code 20 if that is not shown of each.
    """
    if equivalence is None:
        comparison = compare()
        return Answer(comparison, lambda: comparison_text(comparison, everything))
    most = quantity(Share, "--equivalence", equivalence).fraction
    if not 0 < most < 1:
        raise ConfigError(f"--equivalence: {equivalence}; write more than 0% and less than 100%")
    found = test(margin=most)
    code = EXIT_OK if found.equivalent else EXIT_ACCEPTANCE
    return Answer(found, lambda: equivalence_text(found), code)


@command(
    app,
    "runs.open_run",
    "runs.Run.export",
    "runs.Run.export_trial",
    examples=EXPORT_EXAMPLES,
    form=typer.Option(
        "csv",
        "--format",
        help="Tables of a run: csv or parquet. One trial: perfetto, qlog, int-xd or pcapng.",
    ),
    suffix=None,
    out=typer.Option(
        None,
        help="Folder of tables; file of a trial (qlog: folder).",
        show_default="RUN/export, RUN/traces/TRIAL.*",
    ),
    raw=typer.Option("--table"),
    trial=typer.Option(None),
    begin_s=None,
    end_s=None,
)
def export(
    open_run: Call,
    export: Call,
    export_trial: Call,
    begin: Annotated[
        str | None, typer.Option("--from", help="Only from this time of the trial on: 10s.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", help="Only before this time of the trial: 12.5s.")
    ] = None,
) -> Answer:
    """Write tables of a run, or one trial for Perfetto, qlog or Wireshark.

    The tables are flat: trials, flows, mixes, and the ledger, which is that of the assumptions of
    Mishra's model. docs/reference/exported-tables.md describes their columns,
    docs/how-to/traces.md what a trial's files have.
    """
    form, out = export_trial.given["form"], export_trial.given.get("out")
    if form not in TABLE_FORMATS:
        if "raw" in export.given:
            raise ConfigError(f"--table: is for tables ({', '.join(TABLE_FORMATS)}), not {form}")
        made = export_trial(open_run(), **_times(begin, end))
        data = {"ok": True, "trial": made.trial, "form": form, "out": str(made.path)}
        counts = ", ".join(f"{count} {what}" for what, count in made.counts.items())
        return Answer(data | {"counts": dict(made.counts)}, f"{made.path}: {counts}")
    if begin or end or set(export_trial.typed) - {"--format", "--out"}:
        raise ConfigError(
            f"--format {form}: has the whole run; one trial, flows and times go with "
            "--format perfetto, qlog, int-xd or pcapng"
        )
    folder = out or open_run.given["path"] / "export"
    rows = export(open_run(), out=folder, suffix=form)
    lines = [f"{folder / name}.{form}: {count} rows" for name, count in rows.items()]
    return Answer({"ok": True, "out": str(folder), "format": form, "rows": rows}, "\n".join(lines))


def _times(begin: str | None, end: str | None) -> dict[str, float | None]:
    """The part of a trial, in seconds."""
    begin_s, end_s = (
        None if text is None else quantity(Duration, option, text).seconds
        for option, text in (("--from", begin), ("--to", end))
    )
    if begin_s is not None and end_s is not None and begin_s >= end_s:
        raise ConfigError(f"--to: {end} is not after --from {begin}")
    return {"begin_s": begin_s, "end_s": end_s}


def equilibria_text(setting: SettingEquilibria) -> str:
    """The equilibria of one setting."""
    lines = headline_lines(setting)
    lines += [f"  {line}" for line in _trials_text(setting)]
    kinds = {
        f"equilibria of the means{setting.over}": setting.equilibria,
        f"epsilon-equilibria{setting.over}": setting.epsilon_equilibria,
    }
    for kind, verdicts in kinds.items():
        states = ", ".join(setting.text(verdict.state) for verdict in verdicts) or "none"
        lines.append(f"  {kind}: {states}")
    if setting.missing_count:
        lines.append(f"  {setting.missing_count} of {setting.state_count} mixes not measured")
    return "\n".join(lines)


def _trials_text(setting: SettingEquilibria) -> list[str]:
    """A line for each repetition alone, where there are several."""
    return [
        f"equilibria of repetition {trial.repetition + 1} ({counted(trial.mixes, 'mix')}): "
        + (", ".join(map(setting.text, trial.states)) or "none decided")
        for trial in setting.by_trial
    ]


def comparison_text(runs: RunComparison, everything: bool) -> str:
    """The comparison: shares of the throughput, then what was tested.

    Args:
        everything: Show every row; otherwise only those that differ most, where there are many.
    """
    text = f"first:  {runs.first}\nsecond: {runs.second}\n"
    text += "".join(f"not applied alike: {each}\n" for each in runs.unlike)
    if runs.shares:
        text += "\n" + _summary_text(runs) + "\n" + _shares_text(runs, everything)
    return text + "\n" + _tests_text(runs, everything)


def _summary_text(runs: RunComparison) -> str:
    table = new_table(
        "Differences of shares, second minus first, in points",
        *("setting", "share of", ">mixes", ">mean", ">mean absolute", ">largest", "at"),
    )
    for each in runs.share_summary:
        table.add_row(
            _setting(each),
            each.strategy,
            str(each.mixes),
            _points(each.mean),
            _points(each.mean_absolute).lstrip("+"),
            _points(each.largest.difference),
            each.largest.mix,
        )
    return as_text(table)


def _shares_text(runs: RunComparison, everything: bool) -> str:
    shown = _most(runs.shares, lambda s: -abs(s.difference), everything)
    title = "Share of the throughput in per cent: mean (lowest to highest of n trials)"
    columns = ("setting", "mix", "share of", ">|first", ">|second", ">|difference")
    table = new_table(title + _few(shown, runs.shares), *columns)
    _add_sections(table, shown, _share_cells)
    repeated = [each for each in runs.shares if each.repeated]
    if not repeated:
        return as_text(table)
    apart = sum(not each.overlap for each in repeated)
    note = f"! {apart} of {len(repeated)} pairs of ranges have nothing in common\n"
    return as_text(table) + note


def _tests_text(runs: RunComparison, everything: bool) -> str:
    if not runs.comparisons:
        return UNTESTED
    shown = _most(runs.comparisons, _chance, everything)
    title = f"{runs.second} minus {runs.first}" + _few(shown, runs.comparisons)
    columns = ("setting", "mix", "metric", ">first", ">second", ">difference", ">p")
    table = new_table(title, *columns)
    _add_sections(table, shown, _test_cells)
    differing = sum(each.differs for each in runs.comparisons)
    tested = sum(each.p_adjusted is not None for each in runs.comparisons)
    text = as_text(table)
    text += f"* {differing} of {tested} differ by more than chance: Welch's test, "
    text += "p adjusted for their number (Holm), below 0.05; ± is half of the 95 % interval\n"
    return text + _left_out_text(runs.left_out)


def _left_out_text(mixes: Sequence[str]) -> str:
    if len(mixes) > MOST_NAMES:
        return f"not compared, no repetitions: {len(mixes)} mixes\n"
    return "".join(f"not compared, no repetitions: {mix}\n" for mix in mixes)


def _most(rows: Sequence[Row], order: Callable[[Row], float], everything: bool) -> Sequence[Row]:
    """The first rows by an order, in the order in which they were."""
    if everything or len(rows) <= MOST_ROWS:
        return rows
    chosen = sorted(range(len(rows)), key=lambda i: order(rows[i]))[:MOST_ROWS]
    return [rows[i] for i in sorted(chosen)]


def _few(shown: Sequence[object], rows: Sequence[object]) -> str:
    if len(shown) == len(rows):
        return ""
    return f"\nthe {len(shown)} of {len(rows)} that differ most; --all shows every one"


def _add_sections(table: Table, rows: Iterable[Row], cells: Callable[[Row], list[str]]) -> None:
    """A section for each setting, which is named once."""
    for setting, group in groupby(rows, key=_setting):
        table.add_section()
        for i, row in enumerate(group):
            table.add_row(setting if i == 0 else "", *cells(row))


def _share_cells(each: ShareComparison) -> list[str]:
    mark = " !" if each.repeated and not each.overlap else ""
    difference = f"{_points(each.difference)}{mark}"
    return [each.mix, each.strategy, _spread(each.first), _spread(each.second), difference]


def _points(share: float) -> str:
    return f"{share * 100:+.1f}"


def _spread(spread: Spread) -> str:
    """A share in per cent."""
    mean, low, high = (f"{x * 100:.1f}" for x in (spread.mean, spread.low, spread.high))
    return f"{mean} ({low} to {high}, n {spread.n})" if spread.n > 1 else f"{mean} (n 1)"


def _setting(each: Comparison | ShareComparison | ShareSummary) -> str:
    return each.setting if each.setting == each.against else f"{each.setting} | {each.against}"


def _test_cells(each: Comparison) -> list[str]:
    factor, unit = DISPLAY[each.unit]
    name = f"{each.metric.replace('_', ' ')} {each.strategy or ''}".strip()
    interval = "" if each.ci95 is None else f" ±{each.ci95 * factor:.2g}"
    return [
        each.mix,
        f"{name} ({unit})" if unit else name,
        f"{each.first.mean * factor:.4g} (n {each.first.n})",
        f"{each.second.mean * factor:.4g} (n {each.second.n})",
        f"{each.difference * factor:+.3g}{interval}",
        _p_text(each),
    ]


def _p_text(each: Comparison) -> str:
    if each.p_adjusted is None:
        return UNVARIED
    return f"{each.p_adjusted:.2g}{' *' if each.differs else ''}"


def _chance(each: Comparison) -> float:
    """Which rows come first: p; what does not vary by whether it differs at all."""
    if each.p is None:
        return 0.0 if each.difference else 1.0
    return each.p


@command(
    app,
    "tables.mixes",
    examples="Example: nashbed mixes results/* --out mixes.csv",
    hidden=True,
    out=typer.Option("mixes.csv"),
)
def mixes(mixes: Call) -> Answer:
    """Write the measured mixes of runs as a table for `nashbed model --measured`."""
    return mixes_answer(mixes(), mixes.given["out"])


def mixes_answer(table: MixTable, out: Path) -> Answer:
    """What is said of a table of mixes that was written."""
    lines = [f"{out}: {len(table.rows)} rows"]
    lines += [
        f"  {counted(count, 'mix')} left out: {reason}" for reason, count in table.left_out.items()
    ]
    data = {"ok": True, "out": str(out), "rows": len(table.rows), "left_out": dict(table.left_out)}
    return Answer(data, "\n".join(lines))
