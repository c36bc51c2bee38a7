"""Figures as data: what stands on which axes, and the table of it; `drawing` draws them.

A `Plot` has panels, a panel has items. Each item takes the look of what it becomes as further
arguments, by matplotlib's names.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
from matplotlib.ticker import Locator
from numpy.typing import NDArray

from ..metrics.statistics import Estimate
from ..text import trials_text
from .style import MUTED, WIDE

Numbers = Sequence[float] | NDArray[Any]
Where = Literal["data", "axes fraction"]
COLUMNS = ("panel", "series", "x", "y", "low", "high")
"""Of the table; the last two are the ends of an interval, a band or a stripe. Of a heat map, the
row is the series, the column is x, and the value y."""
UNSETTLED = "~"
"""Marks trials that had not settled."""
EXPLAINED = f"{UNSETTLED}  trials that had not settled"


class Item:
    """Something on the axes, its numbers and its look."""

    x: Numbers = ()
    y: Numbers = ()
    low: Numbers = ()
    high: Numbers = ()
    label: str | None = None
    look: dict[str, Any]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Its numbers: series, x, y, low, high; empty where it has none."""
        for numbers in zip_longest(self.x, self.y, self.low, self.high, fillvalue=""):
            yield self.label or "", *numbers


class Line(Item):
    """A line, marks, or both, moved by some points to the right; without x only in the legend."""

    def __init__(
        self, x: Numbers, y: Numbers, label: str | None = None, *, right: float = 0.0, **look: Any
    ) -> None:
        self.x, self.y, self.label, self.right, self.look = list(x), list(y), label, right, look


def through(points: Sequence[tuple[float, float]], label: str | None = None, **look: Any) -> Line:
    """A line through points, or marks at them."""
    return Line([x for x, _ in points], [y for _, y in points], label, **look)


def in_legend(label: str, **look: Any) -> Line:
    """An entry of the legend, and nothing on the axes."""
    return Line((), (), label, **look)


class Means(Item):
    """Marks with error bars; small dots where observations stand in an interval's place.

    Attributes:
        half: Half widths of the intervals, shape (n,), or (2, n) below and above; None: no bars.
        points: (place, observation).
        across: Whether places are on the y axis.
        right: Points to the right, so that marks at the same place do not hide each other.
    """

    def __init__(
        self, x: Numbers, y: Numbers, half: Any = None, label: str | None = None, *,
        points: Sequence[tuple[float, float]] = (), across: bool = False, right: float = 0.0,
        **look: Any,
    ) -> None:  # fmt: skip
        self.x, self.y, self.half, self.label, self.look = list(x), list(y), half, label, look
        self.points, self.across, self.right = points, across, right
        if half is not None:
            below, above = np.broadcast_to(half, (2, len(self.x)))
            self.low, self.high = np.array(self.y) - below, np.array(self.y) + above


def means(
    found: Iterable[tuple[float, Estimate | None]], label: str | None = None, *,
    factor: float = 1.0, **look: Any,
) -> Means:  # fmt: skip
    """Means that are known, at their places.

    Args:
        found: Places and means.
        label: Where it says `{n}`, it gets the number of trials.
        factor: From the unit of the means to that of the axis.
        look: Of the marks and bars.
    """
    known = [(x, e.scaled(factor)) for x, e in found if e is not None]
    bars = [e.ci95 or 0.0 for _, e in known]
    if label is not None and known:
        label = label.replace("{n}", trials_text([e.n for _, e in known]))
    return Means(
        [x for x, _ in known], [e.mean for _, e in known], bars if any(bars) else None, label,
        points=[(x, point) for x, e in known for point in e.points], **look,
    )  # fmt: skip


class Band(Item):
    """An area between two values; `of_height`: they are parts of the axes' height."""

    def __init__(
        self, x: Numbers, low: Any, high: Any, label: str | None = None, *,
        of_height: bool = False, **look: Any,
    ) -> None:  # fmt: skip
        self.x, self.label, self.of_height, self.look = x, label, of_height, look
        self.low, self.high = (np.broadcast_to(end, len(x)) for end in (low, high))


class Stack(Item):
    """Layers on top of each other, values of shape (layers, places)."""

    def __init__(
        self, x: Numbers, layers: NDArray[Any], colours: Sequence[Any], labels: Sequence[str] = ()
    ) -> None:
        self.layers, self.colours, self.labels = layers, colours, labels
        self.x, self.y, self.look = np.tile(x, len(layers)), np.ravel(layers), {}


class Bars(Item):
    """Bars from zero, with the half widths of their intervals."""

    def __init__(
        self, x: Numbers, y: Numbers, half: Any = None, label: str | None = None, **look: Any
    ) -> None:
        self.x, self.y, self.half, self.label, self.look = x, y, half, label, look


class Rule(Item):
    """A line through the whole panel: across at a value, or upright at a place."""

    def __init__(
        self, at: float, label: str | None = None, *, upright: bool = False, **look: Any
    ) -> None:
        self.at, self.label, self.upright, self.look = at, label, upright, look
        self.x, self.y = ([at], ()) if upright else ((), [at])


class Span(Item):
    """A stripe through the whole panel, upright or across."""

    def __init__(
        self, low: float, high: float, label: str | None = None, *, upright: bool = True,
        **look: Any,
    ) -> None:  # fmt: skip
        self.ends, self.low, self.high = (low, high), [low], [high]
        self.label, self.upright, self.look = label, upright, look


class Note(Item):
    """A text at a place; both coordinates are of the data, or parts of the axes."""

    def __init__(
        self, text: str, x: float, y: float, at: tuple[Where, Where] = ("data", "data"),
        **look: Any,
    ) -> None:  # fmt: skip
        self.text, self.place, self.at, self.look = text, (x, y), at, look


class Cells(Item):
    """A heat map; the names of rows and columns are ticks of the axes, at 0, 1, 2 ...

    Attributes:
        values: Shape (rows, columns); NaN: not known.
        texts: A text for each cell, and a small one to stand below it; empty: none.
        bar: Title of a bar of the colours beside all panels; empty: there is none.
        hatched: Rows and columns of cells that are hatched.
        size: Points, of the letters.
    """

    def __init__(
        self, rows: Sequence[str], columns: Sequence[str], values: NDArray[np.float64],
        texts: Sequence[Sequence[tuple[str, str]]] = (), *, bar: str = "",
        hatched: Sequence[tuple[int, int]] = (), size: float = 9.5, **look: Any,
    ) -> None:  # fmt: skip
        self.names, self.values, self.texts = (rows, columns), values, texts
        self.bar, self.hatched, self.size, self.look = bar, hatched, size, look

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """A row of the table for each cell whose value is known."""
        rows, columns = self.names
        for row, column in np.argwhere(np.isfinite(self.values)).tolist():
            yield rows[row], columns[column], float(self.values[row, column]), "", ""


def unsettled(places: Iterable[float]) -> list[Item]:
    """The mark along the foot of the axes, where the means of such trials are, and its meaning."""
    marked = sorted(set(places))
    notes: list[Item] = [
        Note(UNSETTLED, x, 0.0, ("data", "axes fraction"), ha="center", va="bottom", color=MUTED,
             fontsize=8, clip_on=False)
        for x in marked
    ]  # fmt: skip
    return [*notes, in_legend(EXPLAINED, linestyle="none")] if marked else []


@dataclass(frozen=True)
class Axis:
    """An axis; what is not said is as matplotlib has it.

    Attributes:
        room: Without an upper end: what is drawn, times this.
        scale: Of matplotlib's; `swept`: logarithmic where `places` span more than a factor of 20.
        places: What is on a swept axis.
        ticks: Places that are named, or place -> name.
        locator: Makes what places ticks.
        form: Value -> its text.
        turned: Degrees by which the names of `ticks` are turned.
    size: Points, of their letters.
    above: Whether they are above the panel.
    """

    title: str = ""
    low: float | None = None
    high: float | None = None
    room: float | None = None
    scale: str = "linear"
    places: Sequence[float] = ()
    ticks: dict[float, str] | dict[int, str] | Sequence[float] = ()
    locator: Callable[[], Locator] | None = None
    form: Callable[[float], str] | None = None
    turned: float = 0.0
    size: float | None = None
    above: bool = False
    grid: bool = True


@dataclass(frozen=True)
class Panel:
    """Axes and what is on them.

    Attributes:
        items: In the order in which they are drawn.
        beyond: Items that may leave the frame which the others fill.
        right: Title of a second y axis on the right, and its unit by that of the first.
    """

    items: Sequence[Item]
    x: Axis = Axis()
    y: Axis = Axis()
    title: str = ""
    beyond: Sequence[Item] = ()
    right: tuple[str, float] | None = None

    @property
    def all(self) -> list[Item]:
        """Every item."""
        return [*self.items, *self.beyond]

    @property
    def name(self) -> str:
        """What it is in a table."""
        return self.title or self.y.title.replace("\n", " ")


@dataclass(frozen=True)
class Plot:
    """A figure before it is drawn.

    Attributes:
        size: Width and height in inches; `grid` has its own.
        columns: Of its legend, which is below; 0: it has none.
        layout: `rows` share the x axis; `columns` share nothing; `grid` is of small panels that
            share both.
        ratios: Heights or widths of the panels by each other.
        same_y: Whether columns share the y axis.
        inside: Where in the panels the legend is instead, by matplotlib's names.
        bars_first: Whether what has error bars is first in the legend.
    """

    panels: Sequence[Panel]
    size: tuple[float, float] = (WIDE, 4.2)
    columns: int = 2
    layout: Literal["rows", "columns", "grid"] = "rows"
    ratios: Sequence[float] | None = None
    same_y: bool = False
    inside: Any = None
    bars_first: bool = False

    def table(self) -> str:
        """What it shows as CSV: a row for each number, by panel and series."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for panel in self.panels:
            for item in panel.all:
                writer.writerows([panel.name, *row] for row in item.rows())
        return text.getvalue()
