"""The figures of a run, drawn when they are asked for.

>>> import nashbed as nb
>>> run = nb.open_run("results/20260101T120000Z-quickstart")
>>> figure = run.figures["throughput_by_mix"].draw()
>>> figure.axes[0].set_ylim(0, 50)
>>> nb.figures.save(run, "throughput_by_mix", width="84mm", formats=["pdf", "csv"])
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nashbed.analysis.figures.of_run import Figures
from nashbed.analysis.figures.sketch import Sketch
from nashbed.analysis.figures.style import house_style
from nashbed.controlplane.contract.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .runs import Run

__all__ = ["Figures", "Sketch", "draw", "house_style", "of_run", "save"]

FORMATS = ("pdf", "svg", "png", "csv")
INCHES = {"mm": 1 / 25.4, "cm": 1 / 2.54, "in": 1.0}


def of_run(run: Run) -> tuple[Sketch, ...]:
    """The figures that the report of a run has: name, kind, setting, title, caption."""
    return tuple(run.figures.values())


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
    for sketch in run.figures.named(name, setting):
        if (figure := sketch.draw()) is not None:
            return figure
    raise ConfigError(f"{run.path}: its figure {name!r} has nothing to show")


def save(
    run: Run,
    name: str,
    out: str | Path | None = None,
    formats: Sequence[str] = (),
    width: str | None = None,
    setting: str = "",
) -> list[Path]:
    """Write figures of a run as files.

    Args:
        run: The run.
        name: A figure's name, or a kind, of which all are written, or `all`.
        out: Folder for the files; None: the current one.
        formats: pdf, svg, png, or csv for the numbers that the figure shows; empty: pdf.
        width: Of a paper's column, 84mm or 178mm, with letters of 8 pt; None: as on the report.
        setting: Only figures of this setting, by its label; empty: of all.

    Returns:
        What was written.

    Raises:
        ConfigError: The run has no such figure, it has nothing to show, or an argument is wrong.
    """
    wanted = tuple(formats) or FORMATS[:1]
    if unknown := sorted(set(wanted) - set(FORMATS)):
        raise ConfigError(f"formats: {unknown[0]!r} is unknown; there are {', '.join(FORMATS)}")
    inches = None if width is None else _inches(width)
    found, folder = run.figures.named(name, setting), Path() if out is None else Path(out)
    if paths := [path for each in found for path in each.save(folder, wanted, inches)]:
        return paths
    raise ConfigError(f"{run.path}: its figure {name!r} has nothing to show as {', '.join(wanted)}")


def _inches(width: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(mm|cm|in)", width)
    inches = float(found[1]) * INCHES[found[2]] if found else 0.0
    if not 1 <= inches <= 20:
        raise ConfigError(f"width: {width}; write a paper's column, such as 84mm or 178mm")
    return inches
