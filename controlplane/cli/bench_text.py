"""Benchmarks as a table for a person."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from ..bench.growth import Series
from ..contract.benchmark import Benchmark
from .console import as_text

WIDTH = 150


def benchmarks_text(benchmarks: Sequence[Benchmark]) -> str:
    """Median, spread and bound of each; then a line on how each was measured."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("benchmark", no_wrap=True)
    for heading in ("median", "from", "to", "n", "wanted"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for each in benchmarks:
        table.add_row(
            each.name,
            *(short(value) for value in (each.median, each.low, each.high)),
            str(len(each.values)),
            "" if each.wanted is None else f"{each.sense} {short(each.wanted)}",
            "" if each.wanted is None else ("met" if each.met else "missed"),
        )
    lines = [f"{each.name}: {each.detail}\n" for each in benchmarks]
    return as_text(table, WIDTH) + "".join(lines)


def growth_text(series: Sequence[Series]) -> str:
    """Each series in a few lines."""
    lines = []
    for each in series:
        lines.append(f"{each.label}, {each.y_label} by {each.x_label}:")
        pairs = zip(each.x, each.y, strict=True)
        lines.append("  " + "   ".join(f"{x:,}: {short(y)}" for x, y in pairs))
    return "\n".join(lines) + "\n"


def short(value: float) -> str:
    """Three significant digits at least, no power of ten for what is at hand."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
