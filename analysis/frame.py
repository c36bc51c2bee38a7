"""Results as tables whose columns are declared once; pages, exports and Python are made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import polars as pl
from nashbed.controlplane.contract.metrics import DISPLAY
from nashbed.controlplane.contract.model import JsonObject

from .metrics.statistics import Estimate
from .text import NONE, number, with_interval

Source = TypeVar("Source")
PLAIN = (1.0, "")
SECONDS = (1.0, "s")
MILLISECONDS = (1e3, "ms")
PERCENT = (100.0, "%")


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        name: Its name in exported tables.
        about: What it is.
        title: Its head on a page; empty: only exports have it.
        shown: Factor and unit of numbers on a page; `unit`: as the row's `unit` is shown; None: it
            has words, and stands before the numbers.
        form: A word or a whole number as a page has it.
        parts: What is exported of an estimate beside its mean -> name of that column.
    """

    name: str
    about: str
    title: str = ""
    shown: tuple[float, str] | Literal["unit"] | None = None
    form: Callable[[Any], str] = str
    parts: Mapping[str, str] = field(default_factory=dict)

    @property
    def head(self) -> str:
        """The title with the unit of its numbers."""
        unit = self.shown[1] if isinstance(self.shown, tuple) else ""
        return f"{self.title} ({unit})" if unit else self.title

    def exported(self, row: JsonObject) -> JsonObject:
        """The cells of exported tables."""
        value = row[self.name]
        mean = value.mean if isinstance(value, Estimate) else value
        return {self.name: mean} | {
            to: getattr(value, part, None) for part, to in self.parts.items()
        }

    def on_page(self, row: JsonObject) -> tuple[str, str]:
        """The cell on a page, and its interval."""
        value = row[self.name]
        if isinstance(value, float | Estimate):
            factor = DISPLAY[row["unit"]][0] if self.shown == "unit" else (self.shown or PLAIN)[0]
            scaled = value.scaled(factor) if isinstance(value, Estimate) else value * factor
            return with_interval(scaled) if isinstance(scaled, Estimate) else (number(scaled), "")
        return NONE if value is None else self.form(value), ""


@dataclass(frozen=True)
class Frame(Generic[Source]):
    """A kind of result.

    Attributes:
        name: Its name in exports, and in the page's address.
        title: Its head on a page.
        each: What it has a row for each of.
        columns: Its columns; the first one is the setting.
        rows: What is measured -> the rows: column -> word, number, estimate or None.
        note: What a reader of the page should know.
        lacking: What to say where there is no row.
    """

    name: str
    title: str
    each: str
    columns: tuple[Column, ...]
    rows: Callable[[Source], Iterable[JsonObject]]
    note: str = ""
    lacking: str = "there is none"

    def table(self, source: Source) -> pl.DataFrame:
        """The exported table, in base units."""
        rows = [{k: v for c in self.columns for k, v in c.exported(row).items()}
                for row in self.rows(source)]  # fmt: skip
        return pl.DataFrame(rows, infer_schema_length=None)

    def section(self, source: Source) -> JsonObject:
        """The section of a page."""
        titled = [column for column in self.columns if column.title]
        words = [column for column in titled if column.shown is None]
        numbers = [column for column in titled if column.shown is not None]
        return {
            "id": self.name,
            "title": self.title,
            "words": [column.head for column in words],
            "columns": [column.head for column in numbers],
            "rows": [
                {
                    "setting": row["setting"],
                    "words": [column.on_page(row)[0] for column in words[1:]],
                    "values": [column.on_page(row) for column in numbers],
                }
                for row in self.rows(source)
            ],
            "note": self.note,
        }
