"""`nashbed equilibria`: shown, as a table held against published ones, and on a plate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..contract.model import JsonObject
from ..contract.units import counted
from .api_command import Call, command
from .console import WIDE, rows_text
from .options import Answer, app
from .results import equilibria_text, mixes_answer

if TYPE_CHECKING:
    from nashbed.tables import Agreement, Equilibria, HeldIntervals

EXAMPLES = """Examples:

nashbed equilibria results/20260101T120000Z-quickstart --json

nashbed equilibria results/*-srivastava2023-experiment2 --fluid --out equilibria.csv

nashbed equilibria equilibria.csv results/*-settled --out equilibria.csv (adds or renews rows)

nashbed equilibria configs/scenarios/measured/equilibria.csv --plate plate.png

nashbed equilibria results/* --mixes mixes.csv (then nashbed model --measured mixes.csv)"""
NONE = "-"


@command(app, "tables.equilibria", examples=EXAMPLES)
def equilibria(
    table: Call,
    mixes: Path | None = None,
) -> Answer:
    """Show the Nash equilibria of runs; write them, or the mixes, as a table.

    With --out, --plate, --fluid or a table among the sources they are held against published ones.
    There each row is the equilibrium of one setting in CUBIC flows, with its 95 % interval, whether
    that is closed, and whether the mixes that decide had settled. Where a table and a run have the
    same setting of the same source, the later one counts. docs/reference/exported-tables.md
    describes the columns of both tables.

    Args:
        mixes: Write the measured mixes of the runs into this CSV file.
    """
    from nashbed.runs import Run, equilibria_answer, open_run  # noqa: PLC0415 - slow to import
    from nashbed.tables import mixes as measured_mixes  # noqa: PLC0415

    given = table.given
    sources = [each if each.suffix == ".csv" else open_run(each) for each in given["sources"]]
    runs = [each for each in sources if isinstance(each, Run)]
    said: JsonObject = {"ok": True, "runs": {}}
    lines = []
    for run in runs:
        settings = run.equilibria
        said["runs"][str(run.path)] = [equilibria_answer(each).model_dump() for each in settings]
        lines += [f"{run.path}:"] * (len(runs) > 1) + [equilibria_text(each) for each in settings]
    if len(runs) < len(sources) or any(given.get(each) for each in ("out", "plate", "fluid")):
        found = table(sources=sources)
        said |= found.answer().model_dump()
        lines.append(_text(found))
    if mixes is not None:
        written = mixes_answer(measured_mixes(runs, mixes), mixes)
        said["mixes"] = written.data
        lines.append(str(written.text))
    return Answer(said, "\n".join(lines))


def _text(found: Equilibria) -> str:
    """The sources against the published equilibria, what was left out, and the files."""
    title = (
        "Equilibria in CUBIC flows, and how far they are from the published ones\n"
        "(in brackets: undecided, and from mixes that had not settled; off: mean, median; near: "
        "within 3 and 5\nflows; intervals: how many hold the published value, of how many)"
    )
    text = rows_text(title, [_row(each) for each in found.agreement], WIDE)
    text += "".join(
        f"{counted(count, 'setting')} left out: {reason}\n"
        for reason, count in found.left_out.items()
    )
    return text + "\n".join(map(str, found.files))


def _row(each: Agreement) -> dict[str, str]:
    model = each.kind == "model"
    off = (each.mean_off, each.median_off)
    return {
        "|source": each.source,
        ">|settings": f"{each.settings} ({each.undecided}, {each.unsettled})",
        ">|compared": str(each.compared),
        ">|off": ", ".join(NONE if x is None else f"{x:.1f}" for x in off),
        ">|near": f"{each.within_3}, {each.within_5}",
        ">|closed": NONE if model else _held(each.closed),
        ">|open": NONE if model else _held(each.open),
        ">|no interval": NONE if model else str(each.without_interval),
    }


def _held(intervals: HeldIntervals) -> str:
    return f"{intervals.hold}/{intervals.count}"
