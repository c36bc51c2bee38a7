"""Tables as plain text, and the display of a measurement's steps."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from textwrap import fill
from typing import TYPE_CHECKING

from nashbed.steps import ShowStep
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

if TYPE_CHECKING:
    from ..contract.model import JsonObject

WIDTH = 110
LINE_EVERY_S = 15.0
WIDE = 120
HEAD_WIDTH = 14


def as_text(what: RenderableType, width: int = WIDTH) -> str:
    """What rich would draw on a terminal, as plain text."""
    target = io.StringIO()
    Console(file=target, width=width, force_terminal=False).print(what)
    return target.getvalue()


def new_table(title: str, *columns: str) -> Table:
    """A table.

    Args:
        columns: Names of columns; `>` before one: set to the right; `|`: never broken into lines.
    """
    table = Table(title=title)
    for each in columns:
        name = each.lstrip(">|")
        marks = each.removesuffix(name)
        right, whole = ">" in marks, "|" in marks
        table.add_column(name, justify="right" if right else "left", no_wrap=whole, overflow="fold")
    return table


def rows_text(
    title: str, rows: Sequence[Mapping[str, str]], width: int = WIDTH, sections: bool = False
) -> str:
    """Rows as a table: column, as `new_table` has it, -> cell; all rows have the same columns.

    Args:
        sections: Whether there is a section for each value of the first column, told once.
    """
    table = new_table(title, *(rows[0] if rows else ()))
    cells = [list(row.values()) for row in rows]
    for _, alike in groupby(cells, lambda row: row[0] if sections else ""):
        table.add_section()
        for i, (first, *others) in enumerate(alike):
            table.add_row("" if sections and i else first, *others)
    return as_text(table, width)


def section_text(section: JsonObject) -> str:
    """A section of a report as plain text: its table and its note."""
    heads = (f">{fill(head, HEAD_WIDTH)}" for head in section["columns"])
    table = new_table(section["title"], *section["words"], *heads)
    for _, rows in groupby(section["rows"], lambda row: row["setting"]):
        table.add_section()
        for row in rows:
            values = (" ".join(filter(None, value)) for value in row["values"])
            table.add_row(row["setting"], *row["words"], *values)
    return as_text(table, WIDE) + (f"{fill(section['note'], WIDE)}\n" if section["note"] else "")


def say(line: str) -> None:
    """Tell the user something on standard error."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - this is the command line


def duration_text(seconds: float) -> str:
    """A duration for a person: `45 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


@contextmanager
def step_display() -> Iterator[ShowStep]:
    """A bar on a terminal; elsewhere a line for each step, and while one takes long."""
    console = Console(stderr=True)
    if not console.is_terminal:
        lines = Lines()
        yield lambda title, done, total: lines.tell(
            title, f"{done}/{total} {title}" if total else title
        )
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("preparing", total=None)
        yield lambda title, done, total: progress.update(
            task, description=title, completed=done, total=total or None
        )


class Lines:
    """Lines on standard error, one for each thing that is told, and while it takes long."""

    def __init__(self) -> None:
        self._last: object = None
        self._said_s = 0.0

    def tell(self, what: object, line: str) -> None:
        """Say a line when something else is told, or when it has been quiet for long."""
        now = time.monotonic()
        if what != self._last or now - self._said_s >= LINE_EVERY_S:
            self._last, self._said_s = what, now
            say(line)
