"""The Parquet tables of a trial, and the tables that are made of a run: columns and meanings."""

from __future__ import annotations

from typing import Any

from markdown import code, table
from nashbed.analysis.frame import Column, Columns, Frame
from nashbed.analysis.results.frames import FLAT, FRAMES
from nashbed.controlplane.contract.model import attributes_of
from nashbed.controlplane.store.columns import MEANINGS, ROWS
from nashbed.controlplane.store.tables import TABLES


def all_tables() -> str:
    """A section for each table."""
    return "\n\n".join(_section(name) for name in TABLES)


def _section(name: str) -> str:
    rows = [
        (code(field.name), code(field.type), MEANINGS[name][field.name]) for field in TABLES[name]
    ]
    return f"## {name}\n\nOne row for each {ROWS[name]}.\n\n" + table(
        ("column", "type", "meaning"), rows
    )


def made_tables() -> str:
    """A section for each table that is made of a run."""
    return "\n\n".join(_made(frame) for frame in (*FLAT, *FRAMES.values()))


def _made(frame: Frame[Any]) -> str:
    rows = [row for column in frame.columns for row in _columns(column)]
    return f"### {frame.name}\n\nOne row for each {frame.each}.\n\n" + table(
        ("column", "meaning"), rows
    )


def _columns(column: Column | Columns[Any]) -> list[tuple[str, str]]:
    if isinstance(column, Columns):
        return [(column.name, column.about)]
    words = {"ci95": "half the width of its 95 % interval", "n": "of how many trials"}
    parts = [(code(name), words[part]) for part, name in column.parts.items()]
    about = column.about
    if not isinstance(about, str):
        said = attributes_of(about)[column.name].rstrip(".")
        about = said if said[1].isupper() else f"{said[0].lower()}{said[1:]}"
    return [(code(column.name), about), *parts]
