"""Measured figures as a table for a person."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from ..contract.benchmark import Figure


def show_figures(figures: Sequence[Figure]) -> None:
    """Print figures on standard output: median, spread, bound; then how each came about."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("figure", no_wrap=True)
    for heading in ("median", "from", "to", "n", "wanted"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for figure in figures:
        table.add_row(
            figure.name,
            *(short(value) for value in (figure.median, figure.low, figure.high)),
            str(len(figure.values)),
            "" if figure.wanted is None else f"{figure.sense} {short(figure.wanted)}",
            "" if figure.wanted is None else ("met" if figure.met else "missed"),
        )
    console = Console(highlight=False)
    console.print(table)
    for figure in figures:
        console.print(f"{figure.name}: {figure.detail}", soft_wrap=True)


def short(value: float) -> str:
    """Three significant digits at least, no power of ten for what is at hand."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
