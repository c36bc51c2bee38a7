"""A figure that a run gets, before it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from .drawing import draw
from .plot import Plot


@dataclass(frozen=True)
class Sketch:
    """A figure before it is drawn.

    Attributes:
        kind: Which figure it is, e.g. `throughput_by_mix`.
        setting: Label of its setting; empty: it is of the whole run.
        title: One line.
        caption: What is shown and how to read it.
        made: Its data, or what draws itself in the style that is set; None: nothing to show.
        suffix: What distinguishes it from others of the same kind and setting.
    """

    kind: str
    setting: str
    title: str
    caption: str
    made: Callable[[], Plot | Figure | None]
    suffix: str = ""

    @property
    def name(self) -> str:
        """Stem of its files."""
        return "-".join(part for part in (self.kind, self.setting, self.suffix) if part)

    def draw(self) -> Figure | None:
        """Draw it in the style that is set; None: there is nothing to show."""
        found = self.made()
        return draw(found) if isinstance(found, Plot) else found

    def table(self) -> str | None:
        """The numbers that it shows as CSV; None: there are none, or it is no data."""
        found = self.made()
        return found.table() if isinstance(found, Plot) else None
