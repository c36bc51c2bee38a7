"""`nashbed report`, `ne`, `compare`, `export` and `mixes`: working with finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK, ConfigError
from ..contract.units import Duration, Share, counted
from .api_command import Call, command
from .comparison_text import MOST_ROWS, comparison_text, equivalence_text
from .console import section_text
from .options import Answer, app

if TYPE_CHECKING:
    from nashbed.analysis.nash.of_run import SettingEquilibria
    from nashbed.runs import Run
    from nashbed.tables import MixTable


COMPARE_EXAMPLES = """Examples:

nashbed compare results/20260101T120000Z-a results/20260102T120000Z-a

nashbed compare results/20260101T120000Z-a results/20260102T120000Z-a --equivalence 2%

nashbed compare results/20260101T120000Z-a results/20260101T120000Z-a --as bbr=bbr3"""
TABLE_FORMATS = ("csv", "parquet")
EXPORT_EXAMPLES = """Examples:

nashbed export results/20260101T120000Z-quickstart --format parquet

nashbed export results/20260101T120000Z-quickstart --format text --table gates

nashbed export results/20260101T120000Z-quickstart --format perfetto --trial b1bdp-k01-r0-a0

nashbed export results/20260101T120000Z-quickstart --format pcapng --trial b1bdp-k01-r0-a0
--flows 0,2-3 --from 5s --to 6s"""


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
    from .result_text import left_out_text  # noqa: PLC0415 - slow to import

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


@command(
    app,
    "runs.compare",
    "runs.equivalence",
    examples=COMPARE_EXAMPLES,
    margin=None,
    counterparts=None,
)
def compare(
    compare: Call,
    test: Call,
    equivalence: Annotated[
        str | None,
        typer.Option("--equivalence", help="Test whether shares differ by less than this: 2%."),
    ] = None,
    named: Annotated[
        list[str] | None,
        typer.Option(
            "--as",
            metavar="FIRST=SECOND",
            help="Hold a strategy of the first run against another one of the second, in the mixes "
            "that have it: bbr=bbr3; repeatable.",
        ),
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

    Folders of two evaluations (`nashbed cc evaluate`) are compared reading by reading.
    """
    from nashbed.evaluation import (  # noqa: PLC0415 - slow to import
        compare_evaluations,
        is_evaluation,
    )

    folders = compare.given["first"], compare.given["second"]
    if all(is_evaluation(folder) for folder in folders):
        found = compare_evaluations(*folders)
        text = section_text(found.section(everything)) + found.summary
        return Answer(found.answer, text)
    counterparts = _counterparts(named or ())
    if equivalence is None:
        comparison = compare(counterparts=counterparts)
        return Answer(comparison, lambda: comparison_text(comparison, everything))
    from nashbed.files import quantity  # noqa: PLC0415 - slow to import

    most = quantity(Share, "--equivalence", equivalence).fraction
    if not 0 < most < 1:
        raise ConfigError(f"--equivalence: {equivalence}; write more than 0% and less than 100%")
    found = test(margin=most, counterparts=counterparts)
    code = EXIT_OK if found.equivalent else EXIT_ACCEPTANCE
    return Answer(found, lambda: equivalence_text(found), code)


def _counterparts(named: Sequence[str]) -> dict[str, str]:
    """What `--as FIRST=SECOND` says."""
    pairs = {first: second for first, _, second in (each.partition("=") for each in named)}
    if not all(pairs.values()):
        raise ConfigError("--as: write FIRST=SECOND, as in bbr=bbr3")
    return pairs


@command(
    app,
    "runs.open_run",
    "runs.Run.export",
    "runs.Run.export_trial",
    examples=EXPORT_EXAMPLES,
    form=typer.Option(
        "csv",
        "--format",
        help="Tables of a run: csv, parquet, or text for those of --table on the terminal. "
        "One trial: perfetto, qlog, int-xd or pcapng.",
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
    if form == "text":
        return _show(open_run(), export.given.get("raw", ()))
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


def _show(run: Run, names: Sequence[str]) -> Answer:
    """Tables on the terminal, as the report shows them."""
    if not names:
        raise ConfigError("--format text: shows tables that are asked for; add --table harm")
    sections = {name: run.section(name) for name in names}
    data = {"ok": True, "tables": sections}
    return Answer(data, lambda: "\n".join(map(section_text, sections.values())))


def _times(begin: str | None, end: str | None) -> dict[str, float | None]:
    """The part of a trial, in seconds."""
    from nashbed.files import quantity  # noqa: PLC0415 - slow to import

    begin_s, end_s = (
        None if text is None else quantity(Duration, option, text).seconds
        for option, text in (("--from", begin), ("--to", end))
    )
    if begin_s is not None and end_s is not None and begin_s >= end_s:
        raise ConfigError(f"--to: {end} is not after --from {begin}")
    return {"begin_s": begin_s, "end_s": end_s}


def equilibria_text(setting: SettingEquilibria) -> str:
    """The equilibria of one setting."""
    from .result_text import headline_lines  # noqa: PLC0415 - slow to import

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
