"""The figures of a run, drawn when they are asked for.

>>> import nashbed as nb
>>> run = nb.open_run("results/20260101T120000Z-quickstart")
>>> figure = nb.figures.draw(run, "throughput_by_mix")
>>> figure.axes[0].set_ylim(0, 50)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nashbed.analysis.clock.of_run import compare_run
from nashbed.analysis.correlation import correlate_run
from nashbed.analysis.figures.catalogue import sketches
from nashbed.analysis.figures.sketch import Sketch
from nashbed.analysis.figures.style import house_style
from nashbed.analysis.sharing.of_run import share_run
from nashbed.controlplane.contract.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .runs import Run

__all__ = ["Sketch", "draw", "house_style", "of_run"]


def of_run(run: Run) -> tuple[Sketch, ...]:
    """The figures that the report of a run has: name, kind, setting, title, caption.

    Args:
        run: The run.
    """
    measures = run.summary.measures
    correlation, taps = correlate_run(measures), compare_run(measures.run).compared
    return tuple(sketches(measures, run.summary.equilibria, correlation, taps, share_run(measures)))


def draw(run: Run, name: str, setting: str = "") -> Figure:
    """Draw one figure.

    Args:
        run: The run.
        name: Its name, or its kind, of which the first one is drawn.
        setting: Only a figure of this setting, by its label.

    Returns:
        A matplotlib figure, which is the caller's: change its axes, save it.

    Raises:
        ConfigError: The run has no such figure; the text lists those it has.
    """
    known = [each for each in of_run(run) if not setting or each.setting == setting]
    with house_style():
        for sketch in known:
            if name in {sketch.name, sketch.kind} and (figure := sketch.draw()) is not None:
                return figure
    where = f" at {setting}" if setting else ""
    kinds = ", ".join(dict.fromkeys(each.kind for each in known)) or "none"
    raise ConfigError(f"{run.path}: has no figure {name!r}{where}; it has {kinds}")
