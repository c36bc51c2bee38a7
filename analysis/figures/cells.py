"""Heat maps: a coloured cell for each row and column, and what is written into it."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from numpy.typing import NDArray

from .style import INK

NOT_KNOWN = "#eef0f2"
"""The colour of a cell without a value."""
LUMA, DARK = (0.299, 0.587, 0.114), 0.53
"""How much red, green and blue count in a colour's luma (ITU-R BT.601), and the luma of a cell
below which its letters are white."""
SHORT = 7
"""Letters of a text that is written in full size."""
Texts = Sequence[Sequence[tuple[str, str]]]


def draw_cells(
    ax: Axes, values: NDArray[np.float64], texts: Texts = (), size: float = 9.5, **look: Any
) -> AxesImage:
    """Draw a heat map.

    Args:
        values: Shape (rows, columns); NaN: not known.
        texts: A text for each cell, and a small one to stand below it; empty: none.
        size: Points, of the letters.
        look: Of the image, by matplotlib's names.
    """
    ax.set_facecolor(NOT_KNOWN)
    image = ax.imshow(values, aspect="auto", interpolation="nearest", **look)
    ax.grid(visible=False)
    if texts:
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        rows, columns = values.shape
        ax.hlines(np.arange(rows - 1) + 0.5, -0.5, columns - 0.5, color="white", linewidth=2)
        ax.vlines(np.arange(columns - 1) + 0.5, -0.5, rows - 0.5, color="white", linewidth=2)
    for row, line in enumerate(texts):
        for column, (text, below) in enumerate(line):
            if not text:
                continue
            value = values[row, column]
            is_dark = np.isfinite(value) and np.dot(image.to_rgba(value)[:3], LUMA) < DARK
            ink = "white" if is_dark else INK
            write = partial(ax.text, ha="center", va="center", color=ink)
            points = size if len(text) <= SHORT else 0.8 * size
            write(column, row - (0.1 if below else 0), text, fontsize=points)
            if below:
                write(column, row + 0.25, below, fontsize=6.5)
    return image
