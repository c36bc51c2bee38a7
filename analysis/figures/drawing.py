"""Figures that are data as matplotlib's: each kind of item, axes, panels and their legend."""

import math
from collections.abc import Sequence
from functools import singledispatch
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.ticker import NullLocator
from matplotlib.transforms import ScaledTranslation
from nashbed.controlplane.contract.errors import ConfigError

from .cells import draw_cells
from .plot import Axis, Band, Bars, Cells, Item, Line, Means, Note, Panel, Plot, Rule, Span, Stack
from .saving import save
from .style import PAPER, STYLE, WIDE, house_style

LETTER, KEY = 4.8, 30.0
"""Points: the mean width of a letter of 8 pt, and of what stands beside a text in a legend."""
BESIDE_AXIS = 22
"""Letters in a line of a vertical axis's name in print, where axes are about 1.5 inches high."""
PANEL, COLUMN = 1.6, 0.35
"""Inches that a panel needs beside another one, and a column of a heat map."""
TALLEST = 9.0
FORMATS = ("png", "pdf", "svg")
"""What a figure of its own may be written as."""
LOG_FROM = 20
"""Largest by smallest place from which on the axis is logarithmic."""
MOST_TICKS = 8
"""Measured places that a logarithmic axis names one by one."""
IN_A_ROW = 4
ROW_HEIGHT, MARGIN = 1.8, 0.8
"""Inches: of a row of small panels, and of the scale and the legend below the last."""


@singledispatch
def draw_item(item: Item, ax: Axes) -> None:
    """Draw an item into axes."""
    raise TypeError(type(item))


@draw_item.register
def _(item: Line, ax: Axes) -> None:
    ax.plot(item.x, item.y, label=item.label, **_moved(ax, item.right), **item.look)


@draw_item.register
def _(item: Means, ax: Axes) -> None:
    if not item.x:
        return
    x, y, bars = (item.y, item.x, "xerr") if item.across else (item.x, item.y, "yerr")
    look: dict[str, Any] = {bars: item.half, **_moved(ax, item.right), **item.look}
    ax.errorbar(x, y, label=item.label, **look)
    if item.points:
        places, values = zip(*item.points, strict=True)
        x, y = (values, places) if item.across else (places, values)
        ax.scatter(x, y, s=6, color=item.look["color"], alpha=0.6, linewidths=0, zorder=3)


@draw_item.register
def _(item: Band, ax: Axes) -> None:
    where = {"transform": ax.get_xaxis_transform()} if item.of_height else {}
    look = {"linewidth": 0, **where, **item.look}
    ax.fill_between(item.x, item.low, item.high, label=item.label, **look)


@draw_item.register
def _(item: Stack, ax: Axes) -> None:
    ax.stackplot(item.x[: item.layers.shape[1]], item.layers, colors=item.colours,
                 labels=item.labels, linewidth=0, rasterized=True)  # fmt: skip


@draw_item.register
def _(item: Bars, ax: Axes) -> None:
    ax.bar(item.x, item.y, yerr=item.half, label=item.label, **item.look)


@draw_item.register
def _(item: Rule, ax: Axes) -> None:
    line = ax.axvline if item.upright else ax.axhline
    line(item.at, label=item.label, **item.look)


@draw_item.register
def _(item: Span, ax: Axes) -> None:
    stripe = ax.axvspan if item.upright else ax.axhspan
    stripe(*item.ends, label=item.label, linewidth=0, **item.look)


@draw_item.register
def _(item: Note, ax: Axes) -> None:
    ax.annotate(item.text, item.place, xycoords=item.at, **item.look)


@draw_item.register
def _(item: Cells, ax: Axes) -> None:
    draw_cells(ax, item.values, item.texts, item.size, **item.look)
    for row, column in item.hatched:
        ax.add_patch(Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, fill=False, linewidth=0,
                               edgecolor="white", hatch="////"))  # fmt: skip


def _moved(ax: Axes, points: float) -> dict[str, Any]:
    """Some points to the right of where the data are, so that marks do not hide each other."""
    if not points:
        return {}
    scale = ax.get_figure(root=True).dpi_scale_trans  # type: ignore[union-attr]
    return {"transform": ax.transData + ScaledTranslation(points / 72, 0, scale)}


def write_plot(plot: Plot, path: Path) -> Path:
    """Draw a figure in the house's style into a file.

    Args:
        path: The file; its ending says in which format.

    Raises:
        ConfigError: The format is not known.
        OSError: The file cannot be written.
    """
    suffix = path.suffix.lstrip(".")
    if suffix not in FORMATS:
        raise ConfigError(f"{path}: write a name that ends in .{', .'.join(FORMATS)}")
    with house_style():
        (written,) = save(draw(plot), path.with_suffix(""), (suffix,))
    return written


def draw(plot: Plot, width: float | None = None) -> Figure:
    """Draw a figure in the style that is set.

    Args:
        width: Inches, of a figure in print; None: it is as wide as `plot` says.
    """
    figure, axes = _axes(plot, width)
    title: dict[str, Any] = {"fontsize": "medium", "pad": 3} if plot.layout == "grid" else {}
    beside = len({ax.get_position().x0 for ax in axes})
    for ax, panel in zip(axes, plot.panels, strict=True):
        _draw_panel(ax, panel)
        if panel.title:
            ax.set_title(_of_width(panel.title, width and width / beside), **title)
        if width is not None:
            ax.set_ylabel(fill(ax.get_ylabel(), BESIDE_AXIS))
    if plot.layout == "grid":
        _edges_only(axes, _in_a_row(width))
    for item in plot.panels[-1].items:
        if isinstance(item, Cells) and item.bar:
            figure.colorbar(axes[-1].images[0], ax=axes, label=item.bar, shrink=0.9, pad=0.02)
    if plot.inside:
        for ax in axes:
            ax.legend(loc=plot.inside)
    else:
        _legend(figure, axes, plot, width)
    return figure if width is None else _letters_of_print(figure)


def resized(figure: Figure, width: float) -> Figure:
    """A figure in print: its letters stay as large, so its height shrinks less than its width.

    Args:
        width: Inches.
    """
    figure.set_size_inches(*_size_in_print(tuple(figure.get_size_inches()), width))
    return _letters_of_print(figure)


def _size_in_print(size: tuple[float, float], width: float) -> tuple[float, float]:
    return width, min(TALLEST, size[1] * math.sqrt(width / size[0]))


def _letters_of_print(figure: Figure) -> Figure:
    """No letter is larger than the style's."""
    for text in figure.findobj(Text):
        text.set_fontsize(min(text.get_fontsize(), PAPER["font.size"]))
    return figure


def _in_a_row(width: float | None) -> int:
    """Small panels that stand beside each other."""
    return IN_A_ROW if width is None else max(1, int(width / PANEL))


def _axes(plot: Plot, width: float | None) -> tuple[Figure, list[Axes]]:
    count = len(plot.panels)
    if plot.layout == "grid":
        columns = min(count, _in_a_row(width))
        rows = -(-count // columns)
        size = (width or WIDE, MARGIN + rows * ROW_HEIGHT)
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        for spare in list(grid.flat)[count:]:
            spare.remove()
        return figure, list(grid.flat)[:count]
    size = plot.size if width is None else _size_in_print(plot.size, width)
    maps = [item for panel in plot.panels for item in panel.items if isinstance(item, Cells)]
    needed = max([PANEL, *(COLUMN * len(each.names[1]) for each in maps)])
    below = plot.layout == "columns" and width is not None and width / count < needed
    if below:  # each other, for beside each other they have no room
        size = (size[0], min(TALLEST, size[1] * count))
    figure = Figure(figsize=size, layout="constrained")
    if below:
        grid = figure.subplots(count, 1, squeeze=False, sharey=plot.same_y)
    elif plot.layout == "rows":
        grid = figure.subplots(count, 1, squeeze=False, sharex=True, height_ratios=plot.ratios)
    else:
        grid = figure.subplots(1, count, squeeze=False, sharey=plot.same_y,
                               width_ratios=plot.ratios)  # fmt: skip
    return figure, list(grid.flat)


def _of_width(title: str, width: float | None) -> str:
    """A title in lines that fit axes in print, so many inches wide with what is beside them."""
    return title if width is None else fill(title, max(1, int((width * 72 - 2 * KEY) / LETTER)))


def _draw_panel(ax: Axes, panel: Panel) -> None:
    for item in panel.items:
        draw_item(item, ax)
    _set(ax, "y", panel.y)
    if panel.beyond:
        limits = ax.get_ylim()
        for item in panel.beyond:
            draw_item(item, ax)
        ax.set_ylim(limits)
    _set(ax, "x", panel.x)
    if panel.right is not None:
        title_there, unit = panel.right
        functions = (lambda y: y * unit, lambda y: y / unit)
        ax.secondary_yaxis("right", functions=functions).set_ylabel(title_there)


def _set(ax: Axes, name: Literal["x", "y"], given: Axis) -> None:
    """Give an axis its title, scale, limits and ticks."""
    axis = getattr(ax, f"{name}axis")
    limits, set_limits = getattr(ax, f"get_{name}lim"), getattr(ax, f"set_{name}lim")
    if given.title:
        axis.set_label_text(given.title)
    if given.scale == "swept":
        set_scale(ax, given.places)
    elif given.scale != "linear":
        getattr(ax, f"set_{name}scale")(given.scale)
    if given.room is not None:
        set_limits(given.low, given.room * limits()[1])
    elif given.low is not None or given.high is not None:
        set_limits(given.low, given.high)
    if given.ticks:
        axis.set_ticks(list(given.ticks))
        if isinstance(given.ticks, dict):
            names = list(given.ticks.values())
            axis.set_ticklabels(names, rotation=given.turned, fontsize=given.size)
        axis.set_minor_locator(NullLocator())
    if given.above:
        axis.tick_top()
    if given.locator is not None:
        axis.set_major_locator(given.locator())
    if given.form is not None:
        form = given.form
        axis.set_major_formatter(lambda value, _: form(value))
    if not given.grid:
        ax.grid(visible=False, axis=name)


def set_scale(ax: Axes, places: Sequence[float]) -> None:
    """A logarithmic x axis where places span more than a factor of 20; 0 remains on it."""
    above = sorted({x for x in places if x > 0})
    if not above or max(above) < LOG_FROM * min(above):
        return
    if min(places) > 0:
        ax.set_xscale("log")
    else:
        ax.set_xscale("symlog", linthresh=min(above))
    if len(above) <= MOST_TICKS and all(b >= 1.3 * a for a, b in pairwise(above)):
        ax.set_xticks(sorted(set(places)))
        ax.minorticks_off()
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _edges_only(axes: Sequence[Axes], in_a_row: int) -> None:
    """Numbers below the lowest small panels of each column, and titles at the edges."""
    last_row = (len(axes) - 1) // in_a_row * in_a_row
    for index, ax in enumerate(axes):
        ax.tick_params(labelsize=8)
        ax.set_xlabel(ax.get_xlabel() if index >= last_row else "", fontsize=8)
        ax.set_ylabel("" if index % in_a_row else ax.get_ylabel(), fontsize=8)
    for ax in axes[-in_a_row:]:
        ax.tick_params(labelbottom=True)


def _legend(figure: Figure, axes: Sequence[Axes], plot: Plot, width: float | None) -> None:
    """One legend of all panels below them, where it hides nothing."""
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    names = list(entries)
    if plot.bars_first:
        names.sort(key=lambda name: not isinstance(entries[name], ErrorbarContainer))
    if not (plot.columns and names):
        return
    handles = [entries[name] for name in names]
    style = PAPER if width else STYLE
    letter = LETTER * style["legend.fontsize"] / PAPER["legend.fontsize"]
    room = (width or figure.get_figwidth()) * 72
    names = [fill(name, int((room - KEY) / letter)) for name in names]
    longest = max(len(line) for name in names for line in name.splitlines())
    columns = max(1, min(plot.columns, int(room / (longest * letter + KEY))))
    rows = -(-len(names) // columns)
    lines = max(len("\n".join(names[i : i + rows]).split("\n")) for i in range(0, len(names), rows))
    more = lines - -(-len(names) // plot.columns)
    height = figure.get_figheight() + more * 1.4 * style["font.size"] / 72
    figure.set_figheight(min(height, TALLEST) if width else height)
    figure.legend(handles, names, loc="outside lower center", ncols=columns)
