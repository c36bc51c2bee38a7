"""`nashbed equilibria`: tables of equilibria, held against published ones, and a plate of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ..contract.errors import EXIT_OK
from ..contract.units import counted
from ..store.errors import RunError, writing
from .console import as_text
from .options import PUBLISHED_EQUILIBRIA, AsJson, answer, new_app, write_table

if TYPE_CHECKING:
    from nashbed.analysis.models.agreement import (
        Agreement,
        EquilibriaTableAnswer,
        HeldIntervals,
    )
    from nashbed.analysis.models.equilibrium_files import (
        EquilibriumRow,
        EquilibriumTable,
        PublishedEquilibrium,
    )

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
    from nashbed.analysis.models.agreement import (  # noqa: PLC0415 - slow to import
        EquilibriaTableAnswer,
        agreement_by_source,
    )
    from nashbed.analysis.models.equilibrium_files import (  # noqa: PLC0415
        equilibria_csv,
        merge_rows,
        read_published,
    )

    tables = [table for source in sources for table in _tables(source, fluid)]
    rows = merge_rows(table.rows for table in tables)
    left_out = sum((Counter(table.left_out) for table in tables), Counter())
    if not rows:
        why = "; ".join(f"{count} left out: {reason}" for reason, count in left_out.items())
        raise RunError(
            f"{sources[0]}: no equilibrium of cubic and another ({why or 'it is empty'})"
        )
    published = read_published(PUBLISHED_EQUILIBRIA)
    if out is not None:
        write_table(out, equilibria_csv(rows))
    if plate is not None:
        _draw(rows, published, plate)
    written = tuple(str(path) for path in (out, plate) if path is not None)
    found = agreement_by_source(rows, published)
    said = EquilibriaTableAnswer(
        rows=len(rows), left_out=dict(left_out), agreement=tuple(found), files=written
    )
    answer(said, as_json, "" if as_json else _text(said))
    return EXIT_OK


def _tables(source: Path, fluid: bool) -> list[EquilibriumTable]:
    """The rows of a table, or of a run with those of the fluid model."""
    from nashbed.analysis.measures import measure_run  # noqa: PLC0415 - slow to import
    from nashbed.analysis.models.equilibrium_files import (  # noqa: PLC0415
        EquilibriumTable,
        equilibrium_table,
        read_equilibria,
    )

    if source.suffix == ".csv":
        return [EquilibriumTable(read_equilibria(source), {})]
    measures = measure_run(source)
    tables = [equilibrium_table(measures)]
    if fluid:
        from nashbed.analysis.models.equilibrium_predictions import (  # noqa: PLC0415
            fluid_rows,
        )

        from .console import question_display  # noqa: PLC0415

        with question_display() as show:
            rows = fluid_rows(measures.run.scenario, measures.run.settings, show)
        tables.append(EquilibriumTable(tuple(rows), {}))
    return tables


def _draw(
    rows: Sequence[EquilibriumRow], published: Sequence[PublishedEquilibrium], plate: Path
) -> None:
    from nashbed.analysis.figures.equilibrium_plate import (  # noqa: PLC0415 - slow to import
        write_plate,
    )

    with writing(plate):
        write_plate(rows, published, plate)


def _text(said: EquilibriaTableAnswer) -> str:
    """The sources against the published equilibria, what was left out, and the files."""
    table = Table(
        title="Equilibria in CUBIC flows, and how far they are from the published ones\n"
        "(in brackets: undecided, and from mixes that had not settled; off: mean, median; near: "
        "within 3 and 5\nflows; intervals: how many hold the published value, of how many)"
    )
    table.add_column("source", no_wrap=True)
    for name in ("settings", "compared", "off", "near", "closed", "open", "no interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in said.agreement:
        table.add_row(*_cells(each))
    text = as_text(table, WIDE)
    text += "".join(
        f"{counted(count, 'setting')} left out: {reason}\n"
        for reason, count in said.left_out.items()
    )
    return text + "\n".join(said.files)


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
