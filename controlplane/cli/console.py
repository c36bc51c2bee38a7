"""Tables as plain text, and the display of a measurement's steps."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import fill

from nashbed.steps import ShowStep, show_nothing
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from ..contract.model import JsonObject

WIDTH = 110
WIDE = 120


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


def section_text(section: JsonObject) -> str:
    """A section of a report as plain text: its table and its note."""
    heads = (f">{head}" for head in section["columns"])
    table = new_table(section["title"], *section["words"], *heads)
    for row in section["rows"]:
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
    """A bar on a terminal, plain lines elsewhere; on standard error."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda title, done, total: console.print(f"{done}/{total} {title}", highlight=False)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("preparing", total=None)
        yield lambda title, done, total: progress.update(
            task, description=title, completed=done, total=total
        )


@contextmanager
def question_display() -> Iterator[ShowStep]:
    """A bar for each thing that is counted, on a terminal and standard error; else nothing.

    For many quick steps: a line for each would be thousands.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield show_nothing
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def show(title: str, done: int, total: int) -> None:
            if title not in tasks:
                tasks[title] = progress.add_task(title, total=total)
            progress.update(tasks[title], completed=done)

        yield show
