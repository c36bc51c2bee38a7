"""`nashbed equilibria`: tables of equilibria, held against published ones, and a plate of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..contract.errors import EXIT_OK
from ..contract.units import counted
from .api_command import Call, command
from .console import WIDE, as_text, new_table, question_display
from .options import AsJson, answer, app

if TYPE_CHECKING:
    from nashbed.tables import Agreement, Equilibria, HeldIntervals

EXAMPLES = """Examples:

nashbed equilibria results/*-srivastava2023-experiment2 --fluid --out equilibria.csv

nashbed equilibria equilibria.csv results/*-settled --out equilibria.csv (adds or renews rows)

nashbed equilibria configs/scenarios/measured/equilibria.csv --plate plate.png"""
NONE = "-"


@command(app, "tables.equilibria", examples=EXAMPLES, display=question_display)
def equilibria(equilibria: Call, as_json: AsJson = False) -> int:
    """Write the equilibria of runs as a table, and hold them against published ones."""
    found = equilibria()
    answer(found.answer(), as_json, "" if as_json else _text(found))
    return EXIT_OK


def _text(found: Equilibria) -> str:
    """The sources against the published equilibria, what was left out, and the files."""
    table = new_table(
        "Equilibria in CUBIC flows, and how far they are from the published ones\n"
        "(in brackets: undecided, and from mixes that had not settled; off: mean, median; near: "
        "within 3 and 5\nflows; intervals: how many hold the published value, of how many)",
        *("|source", ">|settings", ">|compared", ">|off", ">|near", ">|closed", ">|open"),
        ">|no interval",
    )
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
