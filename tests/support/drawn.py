"""What is drawn in matplotlib axes, as plain numbers and texts for assertions."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

Points = tuple[list[float], list[float]]


def points(line: Line2D) -> Points:
    """A line's data: x and y."""
    return [float(x) for x in line.get_xdata()], [float(y) for y in line.get_ydata()]


def containers(ax: Axes) -> dict[str, ErrorbarContainer]:
    """Error bars by label."""
    return {str(c.get_label()): c for c in ax.containers if isinstance(c, ErrorbarContainer)}


def lines_of(ax: Axes) -> dict[str, Line2D]:
    """Labelled lines, those of error bars included."""
    found = {str(line.get_label()): line for line in ax.lines}
    found |= {label: c.lines[0] for label, c in containers(ax).items()}
    return {label: line for label, line in found.items() if not label.startswith("_")}


def unlabelled_lines(ax: Axes) -> list[Line2D]:
    """Lines that have no label of their own and belong to no error bar."""
    parts = {id(part) for c in containers(ax).values() for part in (c.lines[0], *c.lines[1])}
    return [x for x in ax.lines if str(x.get_label()).startswith("_") and id(x) not in parts]


def half_widths(ax: Axes, label: str) -> list[float] | None:
    """Half of each error bar's length; None where none are drawn."""
    container = containers(ax)[label]
    if not container.has_yerr:
        return None
    segments = container.lines[2][0].get_segments()
    return [float(s[1][1] - s[0][1]) / 2 for s in segments]


def colour(line: Line2D) -> str:
    """A line's colour as #rrggbb."""
    return to_hex(line.get_color())


def filled(ax: Axes) -> list[NDArray[Any]]:
    """The outline of every filled area, shape (n, 2)."""
    return [path.vertices for c in ax.collections for path in c.get_paths()]


def band(ax: Axes, index: int, x: float) -> tuple[float, float]:
    """The lowest and the highest corner of a filled area at x."""
    outline = filled(ax)[index]
    y = outline[np.isclose(outline[:, 0], x), 1]
    return float(y.min()), float(y.max())


def spans(ax: Axes) -> list[tuple[float, float, str]]:
    """Vertical stripes: from, to, label ('' without one)."""
    found = []
    for patch in ax.patches:
        if not hasattr(patch, "get_width"):
            continue
        label = str(patch.get_label())
        left = float(patch.get_x())
        found.append(
            (left, left + float(patch.get_width()), "" if label.startswith("_") else label)
        )
    return found


def bars(ax: Axes) -> list[tuple[float, float]]:
    """The middle and the height of each bar."""
    found = []
    for container in ax.containers:
        if isinstance(container, BarContainer):
            found += [(b.get_x() + b.get_width() / 2, b.get_height()) for b in container]
    return found


def texts(ax: Axes) -> list[str]:
    """Texts and annotations in the axes."""
    return [text.get_text() for text in ax.texts]


def legend_of(figure: Figure) -> list[str]:
    """The entries of the figure's legend."""
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]
