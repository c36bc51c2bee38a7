"""`nashbed compare` and `nashbed export`: working with finished runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from ..contract.errors import EXIT_OK
from .overview import as_text

if TYPE_CHECKING:
    from nashbed.analysis.results.compare import Comparison, RunComparison

RunFolder = Annotated[Path, typer.Argument(help="Run directory (results/...).")]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON on standard output.")]
DISPLAY = {"bit/s": (1e-6, "Mbit/s"), "s": (1e3, "ms"), "B": (1e-3, "kB"), "1": (1.0, "")}


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(
        epilog="Example: nashbed compare results/20260101T120000Z-a results/20260102T120000Z-a"
    )(compare)
    app.command(
        epilog="Example: nashbed export results/20260101T120000Z-quickstart --format parquet"
    )(export)
    app.command(epilog="Example: nashbed rtt cubic.pcap bbr.pcap --out rtt.png --until 21")(rtt)


def compare(
    first: RunFolder,
    second: RunFolder,
    setting: Annotated[
        str | None, typer.Option("--setting", help="Only this setting of the first run.")
    ] = None,
    against: Annotated[
        str | None, typer.Option("--against", help="Hold it against this one of the second run.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Say which means of two runs differ by more than chance; needs repetitions."""
    from nashbed.analysis.results.compare import compare_runs  # noqa: PLC0415 - slow to import

    found = compare_runs(first, second, setting, against)
    _answer(found.to_dict(), as_json, comparison_text(found))
    return EXIT_OK


def export(
    run_dir: RunFolder,
    form: Annotated[str, typer.Option("--format", help="csv or parquet.")] = "csv",
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder.", show_default="RUN/export")
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option("--table", help="Add this raw table of all trials; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Write flat tables of a run: trials, flows and mixes (analysis/README.md has columns)."""
    from nashbed.analysis.results.export import export_run  # noqa: PLC0415 - slow to import

    folder = out or run_dir / "export"
    rows = export_run(run_dir, folder, form, tuple(tables or ()))
    lines = [f"{folder / name}.{form}: {count} rows" for name, count in rows.items()]
    answer = {"ok": True, "out": str(folder), "format": form, "rows": rows}
    _answer(answer, as_json, "\n".join(lines))
    return EXIT_OK


def rtt(
    captures: Annotated[
        list[Path], typer.Argument(help="Captures made beside the senders (pcap).")
    ],
    out: Annotated[Path, typer.Option("--out", help="Figure: png, pdf or svg.")],
    until: Annotated[
        float | None, typer.Option("--until", help="Only the first seconds.", min=0.001)
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Draw RTT over time from captures, by TCP time stamps."""
    from nashbed.analysis.figures.rtt_of_captures import draw_rtt  # noqa: PLC0415 - slow to import

    flows = draw_rtt(captures, out, until)
    lines = [f"{f['capture']} port {f['port']}: n {f['samples']}, RTT {f['min_ms']:.1f} to "
             f"{f['max_ms']:.1f} ms, median {f['median_ms']:.1f} ms" for f in flows]  # fmt: skip
    answer = {"ok": True, "figure": str(out), "flows": flows}
    _answer(answer, as_json, "\n".join([*lines, f"figure: {out}"]))
    return EXIT_OK


def comparison_text(found: RunComparison) -> str:
    """The comparison as a person reads it."""
    table = Table(title=f"{found.second} less {found.first}")
    for name in ("setting", "mix", "metric"):
        table.add_column(name)
    for name in ("first", "second", "difference", "p"):
        table.add_column(name, justify="right")
    for each in found.comparisons:
        table.add_row(*_cells(each))
    differing = sum(each.differs for each in found.comparisons)
    text = as_text(table)
    text += f"* {differing} of {len(found.comparisons)} differ by more than chance: Welch's test, "
    text += "p adjusted for their number (Holm), below 0.05; ± is half of the 95 % interval\n"
    return text + "".join(f"not compared, no repetitions: {mix}\n" for mix in found.left_out)


def _cells(each: Comparison) -> list[str]:
    factor, unit = DISPLAY[each.unit]
    name = f"{each.metric.replace('_', ' ')} {each.strategy or ''}".strip()
    setting = each.setting if each.setting == each.against else f"{each.setting} | {each.against}"
    half = each.change.half_width * factor
    return [
        setting,
        each.mix,
        f"{name} ({unit})" if unit else name,
        f"{each.first.mean * factor:.4g} (n {each.first.n})",
        f"{each.second.mean * factor:.4g} (n {each.second.n})",
        f"{each.change.difference * factor:+.3g} ±{half:.2g}",
        f"{each.p_adjusted:.2g}{' *' if each.differs else ''}",
    ]


def _answer(data: Any, as_json: bool, text: str) -> None:
    sys.stdout.write((json.dumps(data, indent=1) if as_json else text.rstrip()) + "\n")
