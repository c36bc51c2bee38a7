"""A figure that a run gets, before it is drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure
from nashbed.controlplane.store.staging import write_whole

from .drawing import draw, resized
from .plot import Plot
from .saving import save
from .style import house_style


@dataclass(frozen=True)
class Sketch:
    """A figure before it is drawn.

    Attributes:
        kind: Which figure it is, e.g. `throughput_by_mix`.
        setting: Label of its setting; empty: it is of the whole run.
        title: One line.
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

    def draw(self, width: float | None = None) -> Figure | None:
        """Draw it in `house_style`; None: there is nothing to show.

        Args:
            width: Inches, of a figure in print; None: it is for a page on a screen.
        """
        with house_style(width):
            found = self.made()
            if isinstance(found, Plot):
                return draw(found, width)
            return found if found is None or width is None else resized(found, width)

    def save(self, folder: Path, formats: Sequence[str], width: float | None = None) -> list[Path]:
        """Write it as files, whose stem is its name; none: it has nothing to show.

        Args:
            folder: Where; it is made.
            formats: pdf, svg or png, or csv for the numbers that it shows.
            width: Inches, of a figure in print; None: it is for a page on a screen.
        """
        folder.mkdir(parents=True, exist_ok=True)
        stem = folder / self.name
        drawn = [each for each in formats if each != "csv"]
        figure = self.draw(width) if drawn else None
        paths = []
        if figure is not None:
            with house_style(width):
                paths = save(figure, stem, drawn)
        if "csv" in formats and (table := self.table()) is not None:
            paths.append(write_whole(stem.with_name(f"{stem.name}.csv"), table))
        return paths

    def table(self) -> str | None:
        """The numbers that it shows as CSV; None: there are none, or it is no data."""
        found = self.made()
        return found.table() if isinstance(found, Plot) else None
