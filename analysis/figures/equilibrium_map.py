"""The equilibrium by queue discipline and buffer: a cell for each setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from nashbed.controlplane.contract.trial import Setting

from ..measures import RunMeasures
from ..nash.of_run import SettingEquilibria
from ..state import strategy_totals
from ..text import buffer_text
from .plot import UNSETTLED
from .style import INK, MUTED, WIDE, new_figure, share_colours

ROW_HEIGHT, MARGIN = 0.56, 1.35
NOT_KNOWN = "#eef0f2"
OPEN = "////"
"""Hatch of a cell whose interval reaches from one end of the line to the other."""
LIGHT, DARK = 0.22, 0.78
"""Shares outside of which a cell is so dark that its text is white."""


def draw_equilibrium_map(
    measures: RunMeasures,
    settings: Sequence[Setting],
    equilibria: Mapping[str, SettingEquilibria],
) -> Figure | None:
    """Draw where no flow gains by switching, a row for each discipline, a column for each buffer.

    Settings differ in queue discipline and buffer alone. None where mixes are of several groups or
    of more than two strategies, or where fewer than two settings have a verdict.
    """
    if len(measures.strategies) != 2 or len(measures.group_names) > 1:
        return None
    cells = {s.label: _Cell(equilibria[s.label]) for s in settings}
    if sum(bool(cell.text) for cell in cells.values()) < 2:
        return None
    rows = list(dict.fromkeys(s.queue_text for s in settings))
    columns = sorted({s.buffer_bytes for s in settings})
    figure, ax = new_figure(WIDE, MARGIN + ROW_HEIGHT * len(rows))
    colours = share_colours(measures.strategies[1], measures.strategies[0])
    for setting in settings:
        place = columns.index(setting.buffer_bytes), rows.index(setting.queue_text)
        cells[setting.label].draw(ax, place, colours)
    titles = {
        s.buffer_bytes: buffer_text(s, measures.applied_buffer(s)) for s in reversed(settings)
    }
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5), xlabel="buffer")
    ax.set_xticks(range(len(columns)), [titles[size] for size in columns])
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    first, total = measures.strategies[0], sum(measures.group_sizes)
    ax.set_title(f"{first} flows where nobody gains by switching, of {total}", loc="left")
    return figure


class _Cell:
    """What is written into the cell of a setting, and its colour."""

    def __init__(self, found: SettingEquilibria) -> None:
        self.total = found.flows
        self.places = _places(found)
        self.intervals = _intervals(found)
        self.is_open = any(low <= 0 and high >= self.total for low, high in self.intervals)
        self.unsettled = bool(found.not_settled)

    @property
    def text(self) -> str:
        """Flows of the first strategy at each equilibrium; empty: there is no verdict."""
        if self.is_open:
            return "any"
        return " or ".join(f"{place:.2g}" for place in self.places)

    @property
    def between(self) -> str:
        """The 95 % interval of it, or of each."""
        texts = [f"{low:.2g} to {high:.2g}" for low, high in self.intervals if low < high]
        return ", ".join(texts) or ("sure" if self.intervals else "")

    def draw(self, ax: Axes, place: tuple[int, int], colours: Colormap) -> None:
        """Draw it at a column and a row."""
        share = float(np.mean(self.places)) / self.total if self.places else None
        face = NOT_KNOWN if share is None or self.is_open else colours(share)
        column, row = place
        hatch = OPEN if self.is_open else None
        ax.add_patch(
            Rectangle(
                (column - 0.48, row - 0.46), 0.96, 0.92,
                facecolor=face, edgecolor="white", linewidth=0, hatch=hatch,
            )
        )  # fmt: skip
        dark = face != NOT_KNOWN and share is not None and not LIGHT <= share <= DARK
        ink = "white" if dark else INK
        mark = UNSETTLED if self.unsettled and self.text else ""
        ax.text(column, row - (0.1 if self.between else 0), (self.text or "not known") + mark,
                ha="center", va="center", fontsize=9.5 if self.text else 7.5,
                color=ink if self.text else MUTED)  # fmt: skip
        if self.between:
            ax.text(column, row + 0.25, self.between, ha="center", va="center", fontsize=6.5,
                    color=ink)  # fmt: skip


def _intervals(found: SettingEquilibria) -> list[tuple[float, float]]:
    """Where the lead ends, in flows of the first strategy."""
    if found.ends is None:
        return []
    total = found.flows
    return sorted((total - i.high, total - i.low) for i in found.ends.intervals)


def _places(found: SettingEquilibria) -> list[float]:
    """Flows of the first strategy where the lead ends, else at the equilibria of the means."""
    if found.ends is not None and found.ends.intervals:
        total = found.flows
        return sorted(total - i.place for i in found.ends.intervals)
    return sorted(float(strategy_totals(v.state)[0]) for v in found.equilibria)
