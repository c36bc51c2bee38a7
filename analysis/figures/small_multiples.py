"""Small axes of one size side by side, one for each buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from .style import WIDE

COLUMNS = 4
ROW_HEIGHT, MARGIN = 1.8, 0.8
"""Inches: of a row of axes, and of the scale and the legend below the last."""


def small_multiples(count: int) -> tuple[Figure, list[Axes]]:
    """As many axes of one size, with shared scales, row by row.

    Args:
        count: How many.
    """
    columns = min(count, COLUMNS)
    rows = -(-count // columns)
    figure = Figure(figsize=(WIDE, MARGIN + rows * ROW_HEIGHT), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat)
    for spare in axes[count:]:
        spare.remove()
    return figure, axes[:count]


def name_scales(axes: Sequence[Axes], below: str, beside: str) -> None:
    """Numbers below the lowest axes of each column, and titles at the edges.

    Args:
        axes: The axes, row by row.
        below: Title of the x axis.
        beside: Title of the y axis.
    """
    last_row = (len(axes) - 1) // COLUMNS * COLUMNS
    for ax in axes:
        ax.tick_params(labelsize=8)
    for ax in axes[-COLUMNS:]:
        ax.tick_params(labelbottom=True)
    for ax in axes[last_row:]:
        ax.set_xlabel(below, fontsize=8)
    for ax in axes[::COLUMNS]:
        ax.set_ylabel(beside, fontsize=8)


def shared_legend(figure: Figure, axes: Sequence[Axes], columns: int) -> None:
    """One legend of all axes, points with bars first."""
    entries: dict[str, Any] = {}
    for ax in axes:
        handles, labels = ax.get_legend_handles_labels()
        entries |= dict(zip(labels, handles, strict=True))
    labels = sorted(entries, key=lambda label: not isinstance(entries[label], ErrorbarContainer))
    figure.legend(
        [entries[label] for label in labels], labels, loc="outside lower center", ncols=columns
    )
