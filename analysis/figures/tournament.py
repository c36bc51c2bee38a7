"""Each congestion control against each other one: its share of the flows where the mix settles."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..nash.pairs import PairEquilibria, ranking
from .style import INK, MUTED, WIDE, new_figure

LEAST_STRATEGIES = 3
LIGHT, DARK = 0.28, 0.72
"""Shares outside of which the cell is so dark that its text is white."""


def draw(pairs: Sequence[PairEquilibria]) -> Figure | None:
    """Draw the matrix; the control that does best on average is at the top.

    Args:
        pairs: The games of all pairs of one setting.

    Returns:
        The figure; None unless every pair of at least three controls was measured.
    """
    scores = dict(ranking(pairs))
    names = list(scores)
    if len(names) < LEAST_STRATEGIES or len(pairs) < len(names) * (len(names) - 1) // 2:
        return None
    figure, (ax,) = new_figure(WIDE, 0.62 * len(names) + 1.6)
    shares = _matrix(pairs, names)
    colours = mpl.colormaps["RdBu"].with_extremes(bad="#eef0f2")
    ax.imshow(np.ma.masked_invalid(shares), cmap=colours, vmin=0, vmax=1, aspect="auto")
    for row, name in enumerate(names):
        for column, other in enumerate(names):
            if name != other:
                at, span = _settled(pairs, name, other)
                _write(ax, (column, row), at, shares[row, column], span)
        score = scores[name]
        ax.text(len(names) - 0.35, row, "" if score is None else f"{score:.0%}",
                va="center", ha="left", color=INK, fontweight="bold")  # fmt: skip
    ax.text(len(names) - 0.35, -0.75, "mean", va="center", ha="left", color=MUTED)
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.set_ylabel("share of the flows that run")
    ax.set_xlabel("at the equilibrium against (at the top)")
    return figure


def _settled(
    pairs: Sequence[PairEquilibria], name: str, other: str
) -> tuple[list[float], tuple[float, float] | None]:
    """A control's shares at the equilibria against another one, in order, and their interval."""
    for pair in pairs:
        shares, span = sorted(pair.shares_of_first), pair.span_of_first
        if (pair.first, pair.second) == (name, other):
            return shares, span
        if (pair.first, pair.second) == (other, name):
            return [1 - s for s in reversed(shares)], span and (1 - span[1], 1 - span[0])
    return [], None


def _matrix(pairs: Sequence[PairEquilibria], names: Sequence[str]) -> np.ma.MaskedArray:
    """Mean shares, shape (S, S); NaN on the diagonal and where none is known."""
    values = np.full((len(names), len(names)), np.nan)
    for row, name in enumerate(names):
        for column, other in enumerate(names):
            shares, _ = _settled(pairs, name, other)
            if shares:
                values[row, column] = sum(shares) / len(shares)
    return np.ma.masked_invalid(values)


def _write(
    ax: Axes,
    place: tuple[int, int],
    shares: Sequence[float],
    mean: float,
    span: tuple[float, float] | None,
) -> None:
    text = " or ".join(f"{share:.0%}" for share in shares) or "not known"
    dark = bool(shares) and not LIGHT <= mean <= DARK
    colour = "white" if dark else INK
    column, row = place
    ax.text(column, row - 0.1, text, ha="center", va="center", color=colour,
            fontsize=9.5 if len(shares) == 1 else 7.5)  # fmt: skip
    if span is not None:
        low, high = (round(100 * share) for share in span)
        between = f"{low} to {high}" if low < high else "sure"
        ax.text(column, row + 0.24, between, ha="center", va="center", color=colour,
                fontsize=6.5)  # fmt: skip
