"""The look of every figure: colour-blind safe, one colour and marker per CCA."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

INK, GRID, MUTED = "#1b1f24", "#d8dde3", "#6a7380"
GOOD = "#009E73"
DASHED = (0, (5, 3))
_KNOWN = {
    "cubic": "#0072B2",
    "bbr": "#D55E00",
    "reno": "#009E73",
    "bbr2": "#882255",
    "bbr2_ecn": "#DD8888",
    "bbr3": "#CC79A7",
    "bbr3_ecn": "#CC77FF",
    "copa": "#117733",
    "copa_default": "#5FAF3F",
    "copa_mvfst": "#0A2A12",
    "prague": "#0000FF",
    "vivace": "#332288",
    "vivace_kernel": "#7850F0",
    "vegas": "#56B4E9",
    "dctcp": "#E69F00",
}
_SPARE = ("#E69F00", "#56B4E9", "#8C6D31", "#666666", "#AA4499", "#44AA99")
QUEUE_COLOURS = (
    "#88CCEE", "#CC6677", "#DDCC77", "#117733", "#332288", "#AA4499", "#44AA99", "#999933",
)  # fmt: skip
"""One for each of several queues (P. Tol's muted colours): lighter than those of CCAs."""
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "---")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h", "*", "<", ">", "p")

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "figure.dpi": 144,
    "savefig.dpi": 200,
    "svg.hashsalt": "nashbed",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}
PAPER: dict[Any, Any] = STYLE | {
    "font.size": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 8,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "savefig.dpi": 600,
}
"""The same in print, at the width of a paper's column: letters of 8 pt."""
WIDE, NARROW = 7.2, 5.4
"""Widths in inches: of a figure that stands alone, and of one of two side by side."""
SVG_DPI = 144
"""Resolution of an SVG's rasterised parts; the page embeds the SVG."""
FloatArray = NDArray[np.float64]
SHARE_STEPS = 256
SHARE_MIDDLE = 0.95
"""Lightness of a share of one half."""
SHARE_ENDS = 0.57
"""Lightness of the shares 0 and 1: between CUBIC's and BBR's own colours, 0.53 and 0.63."""
_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def colour_of(strategy: str, strategies: Sequence[str]) -> str:
    """The colour of a CCA, the same in every figure of every run."""
    if strategy in _KNOWN:
        return _KNOWN[strategy]
    others = [name for name in strategies if name not in _KNOWN]
    return _SPARE[others.index(strategy) % len(_SPARE)] if strategy in others else MUTED


def marker_of(strategy: str, strategies: Sequence[str]) -> str:
    """The marker of a CCA: figures can be read without colour."""
    return MARKERS[list(strategies).index(strategy) % len(MARKERS)]


def bar_of(strategy: str, strategies: Sequence[str]) -> dict[str, Any]:
    """The look of a CCA's bars: hatches tell them apart without colour."""
    hatch = HATCHES[list(strategies).index(strategy) % len(HATCHES)]
    return {"color": colour_of(strategy, strategies), "hatch": hatch}


def trace_of(strategy: str, strategies: Sequence[str]) -> dict[str, Any]:
    """The look of a CCA's line over time: marks now and then tell it from others without colour."""
    marker = marker_of(strategy, strategies)
    return {"color": colour_of(strategy, strategies), "marker": marker, "markevery": 0.1}


def shades(colour: str, count: int) -> list[tuple[float, float, float]]:
    """Shades of a colour for the flows that share it, dark and light alternating."""
    red, green, blue = to_rgb(colour)
    mixes = [0.0 if i % 2 == 0 else 0.35 for i in range(count)]
    return [(red + (1 - red) * m, green + (1 - green) * m, blue + (1 - blue) * m) for m in mixes]


@contextmanager
def house_style(width: float | None = None) -> Iterator[None]:
    """Draw and save inside this: matplotlib's own settings are left alone.

    Args:
        width: Inches, of a figure in print; None: it is for a page on a screen.
    """
    with mpl.rc_context(STYLE if width is None else PAPER):
        yield


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure with its axes, without any global state."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


@cache
def share_colours(first: str, second: str) -> ListedColormap:
    """A colour map from 0 (every flow runs the first) to 1 (every flow runs the second).

    Equal steps of the share are equal steps to the eye: the colours are straight lines in OKLab,
    from a light grey at one half to the two colours, which are as dark as each other. So it reads
    without colour vision too: the darker, the nearer to a corner. Source: B. Ottosson, "A
    perceptual color space for image processing" (2020), OKLab's matrices.
    """
    ends = [
        _to_oklab(np.array(to_rgb(colour_of(name, (first, second))))) for name in (first, second)
    ]
    for end in ends:
        end[0] = SHARE_ENDS
    middle = np.array([SHARE_MIDDLE, 0.0, 0.0])
    place = np.linspace(-1, 1, SHARE_STEPS)[:, None]
    straight = np.where(
        place < 0, middle + (ends[0] - middle) * -place, middle + (ends[1] - middle) * place
    )
    return ListedColormap(_to_rgb(straight), name=f"{first} to {second}")


def _to_oklab(rgb: FloatArray) -> FloatArray:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    lab: FloatArray = _TO_LAB @ np.cbrt(_TO_LMS @ linear)
    return lab


def _to_rgb(lab: FloatArray) -> FloatArray:
    """OKLab to sRGB, shape (n, 3); what no screen can show is cut off."""
    linear = np.clip((lab @ np.linalg.inv(_TO_LAB).T) ** 3 @ np.linalg.inv(_TO_LMS).T, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
