"""`nashbed published`: what runs measured, beside what is published of the same settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK
from .api_command import Call, command
from .console import WIDE, rows_text
from .options import Answer, app

if TYPE_CHECKING:
    from nashbed.tables import Published

EXAMPLES = """Examples:

nashbed published results/20260101T120000Z-srivastava2023-experiment1

nashbed published build/blind/* --against configs/scenarios/blind/measured.csv

nashbed published configs/scenarios/blind/measured.csv --plate plate.png"""
NONE = "-"


@command(app, "tables.published", examples=EXAMPLES)
def published(call: Call) -> Answer:
    """Show what runs measured beside what is published, and how far off it is.

    What is published is what their scenarios have as `reference`. With --against the exit code is
    20 if a row is not as in that table. docs/reference/exported-tables.md describes the columns.
    """
    found = call()
    said = {
        "ok": not found.changed,
        "rows": found.rows.to_dicts(),
        "agreement": found.agreement.to_dicts(),
        "changed": found.changed,
        "files": [str(path) for path in found.files],
    }
    return Answer(said, lambda: _text(found), EXIT_ACCEPTANCE if found.changed else EXIT_OK)


def _text(found: Published) -> str:
    """A table for each source, how far off all are, what changed, and the files."""
    text = ""
    for rows in found.rows.partition_by("source", maintain_order=True):
        title = f"{rows['source'][0]}: published and measured (shares in %), with 95 % intervals"
        text += rows_text(title, [_row(each) for each in rows.iter_rows(named=True)], WIDE)
    off = [_agreement(each) for each in found.agreement.iter_rows(named=True)]
    text += rows_text("How far off (touch: of rows with both intervals, those that do)", off, WIDE)
    text += "".join(f"not as it was: {each}\n" for each in found.changed)
    return text + "\n".join(map(str, found.files))


def _row(row: dict[str, Any]) -> dict[str, str]:
    show = _shown(row["quantity"])
    return {
        "setting": row["setting"],
        "published as": row["label"],
        "mix": row["mix"] or NONE,
        "of": f"{row['quantity']} of {row['strategy']}",
        ">published": show(row["published"]),
        "> ": _interval(show, row["published_low"], row["published_high"]),
        ">measured": show(row["measured"]),
        ">  ": _interval(show, row["low"], row["high"]),
        ">trials": str(row["trials"]),
    }


def _agreement(row: dict[str, Any]) -> dict[str, str]:
    show = _shown(row["quantity"])
    return {
        "quantity": row["quantity"],
        "of": row["of"] or "all",
        ">rows": str(row["rows"]),
        ">median": show(row["median_off"]),
        ">mean": show(row["mean_off"]),
        ">largest": show(row["most_off"]),
        ">touch": f"{row['touch']}/{row['with_intervals']}",
    }


def _shown(quantity: str) -> Callable[[float], str]:
    """How a value of a quantity is shown: shares in per cent, the others as they are."""
    factor = 100.0 if quantity == "share" else 1.0
    return lambda value: f"{value * factor:.1f}"


def _interval(show: Callable[[float], str], low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{show(low)} to {show(high)}"
