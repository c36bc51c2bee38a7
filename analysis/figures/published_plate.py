"""What was measured against what is published: a panel for each quantity."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .drawing import write_plot
from .plot import Axis, Item, Line, Means, Panel, Plot, in_legend
from .style import DASHED, INK, MARKERS, MUTED, WIDE

SHOWN = {
    "per_flow": (1.0, "Mbit/s", "Throughput of a flow"),
    "aggregate": (1.0, "Mbit/s", "Throughput of all flows"),
    "share": (100.0, "%", "Share of the throughput"),
    "equilibrium": (1.0, "flows", "Flows at the equilibrium"),
}
"""Quantity -> factor to the unit of the axes, that unit, and the title of its panel."""
ENDS = ("low", "high")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666")
PANEL = 3.6
"""Inches, the width of a panel."""


def write_plate(rows: pl.DataFrame, path: Path) -> Path:
    """Draw a table of `results.published` into a file.

    Args:
        path: The file; its ending says in which format.

    Raises:
        ConfigError: The format is not known.
        OSError: The file cannot be written.
    """
    return write_plot(published_plot(rows), path)


def published_plot(rows: pl.DataFrame) -> Plot:
    """Draw a table of `results.published`: a colour for each label, a mark for each strategy."""
    labels, strategies = (
        rows[each].unique(maintain_order=True).to_list() for each in ("label", "strategy")
    )
    colours = {each: COLOURS[i % len(COLOURS)] for i, each in enumerate(labels)}
    marks = {each: MARKERS[i % len(MARKERS)] for i, each in enumerate(strategies)}
    panels = [
        _panel(each, colours, marks) for each in rows.partition_by("quantity", maintain_order=True)
    ]
    return Plot(panels, size=(max(WIDE, PANEL * len(panels)), 4.6), columns=4, layout="columns")


def _panel(rows: pl.DataFrame, colours: Mapping[str, str], marks: Mapping[str, str]) -> Panel:
    factor, unit, title = SHOWN[rows["quantity"][0]]
    rows = rows.with_columns(pl.col(pl.Float64) * factor)
    top = 1.05 * float(rows.select(pl.max_horizontal(pl.col(pl.Float64).max())).item())
    items: list[Item] = [Line([0, top], [0, top], color=MUTED, linestyle=DASHED, linewidth=1.0)]
    for own in rows.partition_by("label", "strategy", maintain_order=True):
        items += _marks(own, colours[own["label"][0]], marks[own["strategy"][0]])
    look = {"linestyle": "none", "markersize": 5}
    items += [in_legend(each, color=colours[each], marker="o", **look)
              for each in rows["label"].unique(maintain_order=True)]  # fmt: skip
    strategies = rows["strategy"].unique(maintain_order=True)
    if len(strategies) > 1:
        items += [in_legend(each, color=INK, marker=marks[each], **look) for each in strategies]
    room = (-0.03 * top, top)
    return Panel(
        items, Axis(f"published ({unit})", *room), Axis(f"measured ({unit})", *room), title
    )


def _marks(rows: pl.DataFrame, colour: str, marker: str) -> Iterator[Item]:
    """Marks with both intervals, where there are any."""
    look: dict[str, Any] = {"color": colour, "linestyle": "none", "elinewidth": 0.8, "zorder": 3}
    x, y = rows["published"].to_numpy(), rows["measured"].to_numpy()
    for at, value, prefix in ((x, y, ""), (y, x, "published_")):
        below, above = (np.abs(rows[f"{prefix}{end}"].to_numpy() - value) for end in ENDS)
        half = np.nan_to_num([below, above])
        yield Means(at, value, half, across=bool(prefix), **look)
    yield Line(x, y, color=colour, linestyle="none", marker=marker, markersize=4,
               markeredgecolor="white", markeredgewidth=0.4, zorder=4)  # fmt: skip
