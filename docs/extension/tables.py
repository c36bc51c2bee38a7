"""The Parquet tables of a trial: columns, types, meanings."""

from __future__ import annotations

from markdown import code, table
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
