"""`nashbed mixes`: measured mixes of runs as one table that models are held against."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..contract.errors import EXIT_OK
from ..contract.units import counted
from ..store.errors import RunError
from .options import AsJson, answer, new_app

app = new_app()

RunFolders = Annotated[list[Path], typer.Argument(help="Run directories (results/...).")]


@app.command(epilog="Example: nashbed mixes results/* --out mixes.csv")
def mixes(
    runs: RunFolders,
    out: Annotated[Path, typer.Option("--out", help="The file; it is replaced.")] = Path(
        "mixes.csv"
    ),
    as_json: AsJson = False,
) -> int:
    """Write the measured mixes of runs as a table for `nashbed model --against`.

    Each row is a mix of cubic and one other congestion control, the mean over its valid trials,
    with its starts. analysis/README.md describes the columns.
    """
    from nashbed.analysis.measures import measure_run  # noqa: PLC0415 - slow to import
    from nashbed.analysis.models.mix_table import mix_table  # noqa: PLC0415 - slow to import

    table = mix_table(measure_run(run) for run in runs)
    if not table.rows:
        why = "; ".join(f"{count} left out: {reason}" for reason, count in table.left_out.items())
        raise RunError(f"{runs[0]}: no mix of cubic and another control ({why or 'it is empty'})")
    try:
        out.write_text(table.text(), encoding="utf-8")
    except OSError as error:
        raise RunError(f"{out}: cannot be written ({error.strerror or error})") from error
    lines = [f"{out}: {len(table.rows)} rows"]
    lines += [
        f"  {counted(count, 'mix')} left out: {reason}" for reason, count in table.left_out.items()
    ]
    data = {"ok": True, "out": str(out), "rows": len(table.rows), "left_out": dict(table.left_out)}
    answer(data, as_json, "\n".join(lines))
    return EXIT_OK
