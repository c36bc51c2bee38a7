"""The equilibrium by queue discipline and buffer: a cell for each setting."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from nashbed.controlplane.contract.trial import Setting

from ..measures import RunMeasures
from ..nash.of_run import SettingEquilibria
from ..state import strategy_totals
from ..text import buffer_text
from .plot import UNSETTLED, Axis, Cells, Panel, Plot
from .style import WIDE, share_colours

ROW_HEIGHT, MARGIN = 0.56, 1.35


def equilibrium_map_plot(
    measures: RunMeasures,
    settings: Sequence[Setting],
    equilibria: Mapping[str, SettingEquilibria],
) -> Plot | None:
    """Where no flow gains by switching, a row for each discipline, a column for each buffer.

    Settings differ in queue discipline and buffer alone. None where mixes are of several groups or
    of more than two strategies, or where fewer than two settings have a verdict.
    """
    if len(measures.strategies) != 2 or len(measures.group_names) > 1:
        return None
    cells = {(s.queue_text, s.buffer_bytes): _Cell(equilibria[s.label]) for s in settings}
    if sum(bool(cell.text) for cell in cells.values()) < 2:
        return None
    rows = list(dict.fromkeys(row for row, _ in cells))
    columns = sorted({column for _, column in cells})
    grid = [[cells.get((row, column)) for column in columns] for row in rows]
    titles = {
        s.buffer_bytes: buffer_text(s, measures.applied_buffer(s)) for s in reversed(settings)
    }
    names = [titles[size] for size in columns]
    shares = np.array([[cell.share if cell else np.nan for cell in row] for row in grid])
    texts = [[cell.texts if cell else ("", "") for cell in row] for row in grid]
    open_cells = [(row, column) for row, line in enumerate(grid)
                  for column, cell in enumerate(line) if cell and cell.is_open]  # fmt: skip
    colours = share_colours(measures.strategies[1], measures.strategies[0])
    items = [Cells(rows, names, shares, texts, hatched=open_cells, cmap=colours, vmin=0, vmax=1)]
    x, y = Axis("buffer", ticks=dict(enumerate(names))), Axis(ticks=dict(enumerate(rows)))
    first, total = measures.strategies[0], measures.flows(settings[0])
    title = f"{first} flows where nobody gains by switching, of {total}"
    size = WIDE, MARGIN + ROW_HEIGHT * len(rows)
    return Plot([Panel(items, x, y, title)], size, columns=0)


class _Cell:
    """What is written into the cell of a setting, and the share that colours it."""

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

    @property
    def texts(self) -> tuple[str, str]:
        """What is written into it, and what below that."""
        mark = UNSETTLED if self.unsettled and self.text else ""
        return (self.text or "not known") + mark, self.between

    @property
    def share(self) -> float:
        """Share of the flows that run the first strategy; NaN: any may, or none is known."""
        if self.is_open or not self.places:
            return math.nan
        return float(np.mean(self.places)) / self.total


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
