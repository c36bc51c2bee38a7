"""What lies beyond the edges of the fluid model's grid, where two of its constants are.

    python -m nashbed.analysis.fits.fluid_edges

`losing_packets` and `aggregated_packets` are the smallest values of the grid of `fits/fluid.py`.
Two further grids go on beyond these edges and, since the constants make up for each other, beyond
those of the other two. The script prints the points that fit the same mixes best, and the errors on
each panel with the constants that are best without it, for the shipped grid and with the further
ones: on the mixes of the fit, with one seed. It changes nothing. An hour of a core.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from ..models.accuracy import MeasuredMix
from ..models.fluid import FITTED, FluidConstants
from ..models.measured import mixes_of_file
from .fluid import (
    GRID,
    Panel,
    chosen_of,
    fitted_mixes,
    grid_errors,
    left_out_constants,
    panel_of,
)
from .published_panels import MIXES

FloatArray = NDArray[np.float64]
BEYOND = (
    {
        "losing_packets": (0.25, 0.5, 1.0),
        "rate_noise": (0.15, 0.25, 0.35),
        "aggregated_packets": (2.0, 4.0, 7.0),
        "timeout_weight": (0.5, 1.0, 2.0),
    },
    {
        "losing_packets": (0.1, 0.25, 0.5, 1.0),
        "rate_noise": (0.05, 0.15, 0.25, 0.35),
        "aggregated_packets": (4.0, 7.0),
        "timeout_weight": (0.25, 0.5, 1.0),
    },
)
"""Each holds the shipped constants. Of the shipped grid's other points, none was better."""
SHOWN = 8
"""Points of the list of the best."""


def points_beyond() -> list[FluidConstants]:
    """Every point of the further grids, once."""
    each = (dict(zip(grid, p, strict=True)) for grid in BEYOND for p in product(*grid.values()))
    return list(dict.fromkeys(FluidConstants(**point) for point in each))


@dataclass(frozen=True)
class Beyond:
    """Errors of the further points.

    Attributes:
        mixes: The mixes of the fit.
        off: Absolute errors of each mix by each point, shape (P, M).
    """

    mixes: Sequence[MeasuredMix]
    points: Sequence[FluidConstants]
    off: FloatArray

    def best(self, count: int) -> list[tuple[FluidConstants, float]]:
        """The points with the smallest mean error on all mixes."""
        means = self.off.mean(axis=1)
        order = np.argsort(means, kind="stable")[:count]
        return [(self.points[i], float(means[i])) for i in order.tolist()]

    def chosen(self) -> dict[Panel | None, FluidConstants]:
        """The best of these points on all mixes (None), and without each panel."""
        return chosen_of(self.points, self.mixes, list(self.off))

    def unseen(self, chosen: dict[Panel | None, FluidConstants]) -> FloatArray:
        """Absolute error of each mix with the constants of its panel, shape (M,)."""
        row = {point: i for i, point in enumerate(self.points)}
        rows = [row[chosen[panel_of(mix)]] for mix in self.mixes]
        return np.asarray(self.off[rows, np.arange(len(self.mixes))])


def constants_text(point: FluidConstants) -> str:
    """A point in the order of the grid."""
    return ", ".join(f"{getattr(point, name):g}" for name in GRID)


def best_table(beyond: Beyond) -> Table:
    """The best points, and the shipped one."""
    shown = Table(title="Error of BBR's share on the mixes of the fit, in points")
    for name in (", ".join(GRID), "mean", "median"):
        shown.add_column(name, justify="right")
    named = [point for point, _ in beyond.best(SHOWN)]
    for point in [*named, *([] if FITTED in named else [FITTED])]:
        off = 100 * beyond.off[list(beyond.points).index(point)]
        mark = " (shipped)" if point == FITTED else ""
        mean, median = f"{off.mean():.2f}", f"{np.median(off):.2f}"
        shown.add_row(constants_text(point) + mark, mean, median)
    return shown


def unseen_table(beyond: Beyond) -> Table:
    """Errors on each panel with constants that are best on the others, by both grids."""
    shown = Table(title="The same on panels that the fit did not see: mean, median")
    for name in ("Mbit/s, ms", "shipped grid", "", "and beyond", ""):
        shown.add_column(name, justify="right")
    fits = [left_out_constants(), beyond.chosen()]
    off = [100 * beyond.unseen(chosen) for chosen in fits]
    panels = [panel_of(mix) for mix in beyond.mixes]
    for panel in sorted(set(panels)):
        here = np.array([each == panel for each in panels])
        cells = [f"{panel[0] / 1e6:g}, {panel[1] * 1e3:g}"]
        for chosen, errors in zip(fits, off, strict=True):
            cells += [constants_text(chosen[panel]), _errors(errors[here])]
        shown.add_row(*cells)
    shown.add_section()
    shown.add_row("all", "", _errors(off[0]), "", _errors(off[1]))
    return shown


def _errors(off: FloatArray) -> str:
    return f"{off.mean():.2f}, {np.median(off):.2f}"


def main() -> None:
    """Ask, print."""
    mixes, points = fitted_mixes(mixes_of_file(MIXES).mixes), points_beyond()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        beyond = Beyond(mixes, points, np.stack(grid_errors(pool, mixes, points)))
    console = Console(width=120)
    console.print(best_table(beyond))
    console.print(unseen_table(beyond))


if __name__ == "__main__":
    main()
