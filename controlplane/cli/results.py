"""`nashbed report`, `ne`, `compare` and `export`: working with finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..contract.errors import EXIT_OK
from ..contract.units import counted
from .comparison import MOST_ROWS, comparison_text
from .options import AsJson, RunFolder, answer, new_app
from .result_text import headline_lines, left_out_text

if TYPE_CHECKING:
    from nashbed.analysis.nash.of_run import SettingEquilibria

app = new_app()


@app.command(epilog="Example: nashbed report results/20260101T120000Z-quickstart --format html")
def report(
    run_dir: RunFolder,
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="html, png, pdf or svg; repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Build the report of a run again."""
    from nashbed.analysis.report import (  # noqa: PLC0415 - slow to import
        USUAL_FORMATS,
        check_formats,
        report_of,
    )
    from nashbed.analysis.results.summary import summarise  # noqa: PLC0415 - slow to import

    wanted = tuple(formats or USUAL_FORMATS)
    check_formats(wanted)
    summary = summarise(run_dir)
    path = report_of(summary, run_dir / "report", wanted)
    damaged = summary.measures.damaged
    left_out = [{"trial": each.id, "problem": each.problem} for each in damaged]
    said = {"ok": True, "report": str(path), "damaged": left_out}
    answer(said, as_json, f"{left_out_text(damaged)}report: {path}")
    return EXIT_OK


@app.command(epilog="Example: nashbed ne results/20260101T120000Z-quickstart --json")
def ne(run_dir: RunFolder, as_json: AsJson = False) -> int:
    """Show the Nash equilibria of a run."""
    from nashbed.analysis.nash.of_run import equilibria_of_run  # noqa: PLC0415 - slow to import

    settings = equilibria_of_run(run_dir)
    text = "\n".join(equilibria_text(each) for each in settings)
    answer([each.to_dict() for each in settings], as_json, text)
    return EXIT_OK


@app.command(
    epilog="Example: nashbed compare results/20260101T120000Z-a results/20260102T120000Z-a"
)
def compare(
    first: RunFolder,
    second: RunFolder,
    setting: Annotated[
        str | None, typer.Option("--setting", help="Only this setting of the first run.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option("--against", help="Compare it with this setting of the second run."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Every row of tables of more than {MOST_ROWS}.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Show what differs between two runs, and where by more than chance.

    Shares of the throughput come first: a summary for each setting, then those of both runs side
    by side. What repeated mixes have in both is tested.
    """
    from nashbed.analysis.results.compare import compare_runs  # noqa: PLC0415 - slow to import

    comparison = compare_runs(first, second, setting, against)
    text = "" if as_json else comparison_text(comparison, everything)
    answer(comparison.to_dict(), as_json, text)
    return EXIT_OK


@app.command(epilog="Example: nashbed export results/20260101T120000Z-quickstart --format parquet")
def export(
    run_dir: RunFolder,
    form: Annotated[str, typer.Option("--format", help="csv or parquet.")] = "csv",
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder.", show_default="RUN/export")
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option("--table", help="Also export this raw table of all trials; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Write flat tables of a run: trials, flows, mixes, ledger.

    The ledger is that of the assumptions of Mishra's model. analysis/README.md describes the
    columns.
    """
    from nashbed.analysis.results.export import export_run  # noqa: PLC0415 - slow to import

    folder = out or run_dir / "export"
    rows = export_run(run_dir, folder, form, tuple(tables or ()))
    lines = [f"{folder / name}.{form}: {count} rows" for name, count in rows.items()]
    data = {"ok": True, "out": str(folder), "format": form, "rows": rows}
    answer(data, as_json, "\n".join(lines))
    return EXIT_OK


def equilibria_text(setting: SettingEquilibria) -> str:
    """The equilibria of one setting."""
    lines = headline_lines(setting)
    lines += [f"  {line}" for line in _trials_text(setting)]
    kinds = {
        "equilibria of the means": setting.equilibria,
        "epsilon-equilibria": setting.epsilon_equilibria,
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
