"""`nashbed equilibria`: tables of equilibria, held against published ones, and a plate of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ..contract.errors import EXIT_OK
from ..contract.units import counted
from .console import as_text, question_display
from .options import AsJson, answer, new_app

if TYPE_CHECKING:
    from nashbed.tables import Agreement, Equilibria, HeldIntervals

EXAMPLES = """Examples:

nashbed equilibria results/*-srivastava2023-experiment2 --fluid --out equilibria.csv

nashbed equilibria equilibria.csv results/*-settled --out equilibria.csv (adds or renews rows)

nashbed equilibria configs/scenarios/measured/equilibria.csv --plate plate.png"""
NONE = "-"
WIDE = 120
Sources = Annotated[
    list[Path],
    typer.Argument(help="Run directories, finished or not, and tables of this command (.csv)."),
]
app = new_app()


@app.command(epilog=EXAMPLES)
def equilibria(
    sources: Sources,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write all rows into this file; it is replaced.")
    ] = None,
    fluid: Annotated[
        bool,
        typer.Option("--fluid", help="Add the fluid model's rows for every setting of the runs."),
    ] = False,
    plate: Annotated[
        Path | None,
        typer.Option("--plate", help="Draw a panel for each rate and base RTT: .png, .pdf, .svg."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Write the equilibria of runs as a table, and hold them against published ones.

    Each row is the equilibrium of one setting in CUBIC flows, with its 95 % interval, whether that
    is closed, and whether the mixes that decide had settled. Where a table and a run have the same
    setting of the same source, the later one counts. docs/reference/exported-tables.md
    describes the columns.
    """
    from nashbed import tables  # noqa: PLC0415 - slow to import

    with question_display() as show:
        found = tables.equilibria(sources, fluid=fluid, out=out, plate=plate, on_step=show)
    answer(found.answer(), as_json, "" if as_json else _text(found))
    return EXIT_OK


def _text(found: Equilibria) -> str:
    """The sources against the published equilibria, what was left out, and the files."""
    table = Table(
        title="Equilibria in CUBIC flows, and how far they are from the published ones\n"
        "(in brackets: undecided, and from mixes that had not settled; off: mean, median; near: "
        "within 3 and 5\nflows; intervals: how many hold the published value, of how many)"
    )
    table.add_column("source", no_wrap=True)
    for name in ("settings", "compared", "off", "near", "closed", "open", "no interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found.agreement:
        table.add_row(*_cells(each))
    text = as_text(table, WIDE)
    text += "".join(
        f"{counted(count, 'setting')} left out: {reason}\n"
        for reason, count in found.left_out.items()
    )
    return text + "\n".join(map(str, found.files))


def _cells(each: Agreement) -> list[str]:
    model = each.kind == "model"
    held = [_held(each.closed), _held(each.open), str(each.without_interval)]
    off = (each.mean_off, each.median_off)
    return [
        each.source,
        f"{each.settings} ({each.undecided}, {each.unsettled})",
        str(each.compared),
        ", ".join(NONE if x is None else f"{x:.1f}" for x in off),
        f"{each.within_3}, {each.within_5}",
        *([NONE] * 3 if model else held),
    ]


def _held(intervals: HeldIntervals) -> str:
    return f"{intervals.hold}/{intervals.count}"
