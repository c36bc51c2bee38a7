"""Results as tables whose columns are declared once; pages, exports and Python are made of it."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Generic, Literal, TypeVar, get_args

import polars as pl
from nashbed.controlplane.contract.metrics import DISPLAY
from nashbed.controlplane.contract.model import ContractModel, JsonObject

from .metrics.statistics import Estimate
from .text import NONE, with_interval

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
        about: What it is; or the model whose docstring says so.
        title: Its head on a page; empty: only exports have it.
        shown: Factor and unit of numbers on a page; `unit`: as the row's `unit` is shown; None: it
            has words, and stands before the numbers.
        form: A word or a whole number as a page has it.
        parts: What is exported of an estimate beside its mean -> name of that column.
        kind: Its type in exported tables; None: words are strings, numbers are fractional.
        over: What it shares with the columns beside it, as a head above their titles.
        brief: Whether a terminal shows it after a run.
        more: Name of the row's words that stand behind the interval; empty: there are none.
    """

    name: str
    about: str | type[ContractModel]
    title: str = ""
    shown: tuple[float, str] | Literal["unit"] | None = None
    form: Callable[[Any], str] = str
    parts: Mapping[str, str] = field(default_factory=dict)
    kind: type[pl.DataType] | None = None
    over: str = ""
    brief: bool = False
    more: str = ""

    @property
    def head(self) -> str:
        """The title with the unit of its numbers."""
        return self._with_unit(f"{self.over}, {self.title}" if self.over else self.title)

    @property
    def above(self) -> str:
        """The head above the title, with the unit; empty: there is none."""
        return self._with_unit(self.over) if self.over else ""

    def _with_unit(self, head: str) -> str:
        unit = self.shown[1] if isinstance(self.shown, tuple) else ""
        return f"{head} ({unit})" if unit else head

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        """Name -> type of its columns in exported tables."""
        kind = self.kind or (pl.String if self.shown is None else pl.Float64)
        parts = {name: pl.Int64 if part == "n" else pl.Float64 for part, name in self.parts.items()}
        return {self.name: kind, **parts}

    def exported(self, row: JsonObject) -> JsonObject:
        """The cells of exported tables."""
        value = row[self.name]
        mean = value.mean if isinstance(value, Estimate) else value
        parts = {name: getattr(value, part, None) for part, name in self.parts.items()}
        return {self.name: mean} | parts

    def on_page(self, row: JsonObject) -> tuple[str, str]:
        """The cell on a page, and its interval."""
        value = row[self.name]
        if isinstance(value, float):
            value = Estimate(mean=value, n=1, ci95=None)
        if isinstance(value, Estimate):
            factor = DISPLAY[row["unit"]][0] if self.shown == "unit" else (self.shown or PLAIN)[0]
            mean, interval = with_interval(value.scaled(factor))
            return mean, f"{interval} {row.get(self.more, '')}".strip()
        return NONE if value is None else self.form(value), ""


_KINDS = {str: pl.String, bool: pl.Boolean, int: pl.Int64}


def columns_of(model: type[ContractModel], without: Collection[str] = ()) -> tuple[Column, ...]:
    """A column for each field of a flat model that is exported as it is."""
    return tuple(
        Column(name, model, kind=_KINDS.get((get_args(of) or (of,))[0], pl.Float64))
        for name, of in ((n, field.annotation) for n, field in model.model_fields.items())
        if name not in without
    )


@dataclass(frozen=True)
class Columns(Generic[Source]):
    """Columns that a result has as its run does: one for each strategy, one for each metric.

    Attributes:
        name: Their names in words, for a reader of the documentation.
        of: What is measured -> the columns.
    """

    name: str
    about: str
    of: Callable[[Source], Iterable[Column]]


@dataclass(frozen=True)
class Frame(Generic[Source]):
    """A kind of result.

    Attributes:
        name: Its name in exports, and in the page's address.
        each: What it has a row for each of.
        columns: Its columns; the first one is the setting.
        rows: What is measured -> the rows: column -> word, number, estimate or None.
        note: What a reader of the page should know.
        lacking: What to say where there is no row.
    """

    name: str
    title: str
    each: str
    columns: tuple[Column | Columns[Source], ...]
    rows: Callable[[Source], Iterable[JsonObject]]
    note: str = ""
    lacking: str = "there is none"

    def columns_of(self, source: Source) -> list[Column]:
        """Its columns for a run."""
        return [
            column
            for each in self.columns
            for column in (each.of(source) if isinstance(each, Columns) else (each,))
        ]

    def table(self, source: Source) -> pl.DataFrame:
        """The exported table, in base units; without rows it has its columns. NaN is null."""
        columns = self.columns_of(source)
        rows = [{k: v for c in columns for k, v in c.exported(row).items()}
                for row in self.rows(source)]  # fmt: skip
        schema = {name: kind for column in columns for name, kind in column.schema.items()}
        return pl.DataFrame(rows, schema).fill_nan(None)

    def heads(self, source: Source) -> list[tuple[str, list[str]]]:
        """The heads of numbers on a page: what is above (empty: nothing), and the titles below."""
        numbers = [c for c in self.columns_of(source) if c.title and c.shown is not None]
        return [
            (above, [column.title if above else column.head for column in those])
            for above, those in groupby(numbers, lambda column: column.above)
        ]

    def section(self, source: Source, brief: bool = False) -> JsonObject:
        """The section of a page.

        Args:
            brief: Only what a terminal shows after a run.
        """
        columns = self.columns_of(source)
        titled = [column for column in columns if column.title and (column.brief or not brief)]
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
