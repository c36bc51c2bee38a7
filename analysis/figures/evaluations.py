"""The plate of several controls that one battery evaluated: a cell for each reading and control."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from nashbed.controlplane.contract.metrics import DISPLAY
from nashbed.controlplane.contract.model import JsonObject

from ..results.evaluations import ControlsTable
from ..text import number, shown
from .cells import draw_cells
from .style import INK, MUTED, WIDE, new_figure

VALUE = {"worse": -1.0, "less": 0.0, "": 0.0, "more": 0.0, "better": 1.0}
SIGN = {-1.0: "\u25bc ", 0.0: "", 1.0: "\u25b2 "}
"""In front of a number, so that colour alone does not tell."""
COLOURS = ListedColormap(["#f2c078", "#f7f8f9", "#9bd3bd"])
ROW_INCHES, HEAD_INCHES = 0.2, 1.1


def draw_controls(table: ControlsTable) -> Figure:
    """Draw a row for each reading, a column for each control."""
    figure, ax = new_figure(WIDE, HEAD_INCHES + ROW_INCHES * len(table.rows))
    cells = [[_cell(row, name) for name in table.controls] for row in table.rows]
    values = np.array([[value for value, _ in line] for line in cells])
    texts = [[(text, "") for _, text in line] for line in cells]
    draw_cells(ax, values, texts, 6.5, cmap=COLOURS, vmin=-1, vmax=1)
    ax.set_xticks(range(len(table.controls)), table.controls)
    ax.set_yticks(range(len(table.rows)), [_label(row) for row in table.rows], fontsize=6.5)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
    for place, (row, before) in enumerate(zip(table.rows[1:], table.rows, strict=False)):
        if row["section"] != before["section"]:
            ax.axhline(place + 0.5, color=MUTED, linewidth=0.6)
    ax.set_xlabel("\u25b2 better, \u25bc worse than every reference beyond the 95 % interval",
                  fontsize=7, color=INK)  # fmt: skip
    return figure


def _cell(row: JsonObject, name: str) -> tuple[float, str]:
    if row[name] is None:
        return math.nan, ""
    value = VALUE[row[f"{name}_is"] or ""]
    return value, SIGN[value] + number(shown(row[name].mean, row["unit"]))


def _label(row: JsonObject) -> str:
    unit = DISPLAY[row["unit"]][1]
    in_unit = f" ({unit})" if unit else ""
    return f"{row['section']} {row['reading']}{in_unit}, {row['setting']}"
