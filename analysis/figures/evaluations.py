"""The plate of several controls that one battery evaluated: a cell for each reading and control."""

import math
from collections import Counter

import numpy as np
from matplotlib.colors import ListedColormap
from nashbed.controlplane.contract.metrics import DISPLAY
from nashbed.controlplane.contract.model import JsonObject

from ..results.evaluations import ControlsTable
from ..text import number, shown
from .plot import Axis, Cells, Note, Panel, Plot, Rule
from .style import MUTED, WIDE

VALUE = {"worse": -1.0, "missed": -1.0, "better": 1.0, "met": 1.0}
SIGN = {-1.0: "\u25bc ", 0.0: "", 1.0: "\u25b2 "}
"""In front of a number, so that colour alone does not tell."""
MEANING = "\u25b2 better, \u25bc worse than every reference beyond the 95 % interval"
VERDICTS = "means; \u25b2 every trial is within the bound, \u25bc one is not"
COLOURS = ListedColormap(["#f2c078", "#f7f8f9", "#9bd3bd"])
ROW_INCHES, HEAD_INCHES = 0.2, 1.1


def controls_plot(table: ControlsTable) -> Plot:
    """A row for each reading, a column for each control."""
    cells = [[_cell(row, name) for name in table.controls] for row in table.rows]
    judged = any(row[f"{table.controls[-1]}_is"] in {"met", "missed"} for row in table.rows)
    readings = Counter(row["section"] for row in table.rows)
    labels = [_label(row, judged and readings[row["section"]] == 1) for row in table.rows]
    items = [
        Cells(labels, table.controls, np.array([[value for value, _ in line] for line in cells]),
              [[(text, "") for _, text in line] for line in cells], size=6.5, cmap=COLOURS,
              vmin=-1, vmax=1),
        Note(VERDICTS if judged else MEANING, 1, -0.02, ("axes fraction",) * 2, ha="right",
             va="top", fontsize=7),
        *(Rule(place + 0.5, color=MUTED, linewidth=0.6)
          for place, (row, before) in enumerate(zip(table.rows[1:], table.rows, strict=False))
          if row["section"] != before["section"]),
    ]  # fmt: skip
    x = Axis(ticks=dict(enumerate(table.controls)), above=True)
    y = Axis(ticks=dict(enumerate(labels)), size=6.5)
    size = WIDE, HEAD_INCHES + ROW_INCHES * len(table.rows)
    return Plot([Panel(items, x, y)], size, columns=0)


def _cell(row: JsonObject, name: str) -> tuple[float, str]:
    if row[name] is None:
        return math.nan, ""
    value = VALUE.get(row[f"{name}_is"], 0.0)
    return value, SIGN[value] + number(shown(row[name].mean, row["unit"]))


def _label(row: JsonObject, a_case: bool) -> str:
    """Section and reading; of a suite's case, which is one reading, its name."""
    unit = DISPLAY[row["unit"]][1]
    in_unit = f" ({unit})" if unit else ""
    read = row["name"] if a_case else row["reading"]
    return f"{row['section']} {read}{in_unit}" + ("" if a_case else f", {row['setting']}")
