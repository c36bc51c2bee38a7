"""What a figure shows, as plain numbers and texts for assertions."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from nashbed.analysis.figures.plot import Note, Panel, Plot

Points = tuple[list[float], list[float]]


class Seen(Panel):
    """A panel, its items by label and by kind."""

    def __getitem__(self, label: str) -> Any:
        return next(item for item in self.all if item.label == label)

    def of(self, kind: type[Any]) -> list[Any]:
        return [item for item in self.all if isinstance(item, kind)]

    @property
    def labels(self) -> list[str]:
        found = [(item.label, *getattr(item, "labels", ())) for item in self.all]
        return [label for labels in found for label in labels if label]

    @property
    def notes(self) -> list[str]:
        """What is written on it."""
        return [note.text for note in self.of(Note)]


def panels(plot: Plot | Figure | None) -> list[Seen]:
    """The panels of a figure that is data."""
    assert isinstance(plot, Plot)
    return [Seen(**vars(panel)) for panel in plot.panels]


def points(line: Any) -> Points:
    """The places and values of a line, an item's or matplotlib's."""
    x, y = (line.get_xdata(), line.get_ydata()) if isinstance(line, Line2D) else (line.x, line.y)
    return [float(each) for each in x], [float(each) for each in y]


def texts(ax: Axes) -> list[str]:
    """Texts and annotations in the axes."""
    return [text.get_text() for text in ax.texts]


def labels_of(plot: Plot | None) -> list[str]:
    """What the legend of a figure that is data has, in the order of its items."""
    return list(dict.fromkeys(label for panel in panels(plot) for label in panel.labels))


def legend_of(figure: Figure | None) -> list[str]:
    """The entries of a drawn figure's legend."""
    assert figure is not None
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]
