"""Benchmarks as tables: for a person at a terminal, and for documents."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch

from rich.table import Table

from ..contract.benchmark import Benchmark, MeasuredMachine, MeasuredPart
from .console import as_text
from .documents import Markers

WIDTH = 150
SPEED = Markers(
    begin=r"<!-- speed: (?P<names>[^;\n]+); `make speed` writes this -->",
    end="<!-- end of speed -->",
)
"""Around a table of measured speed; the first says which benchmarks, `*` stands for anything."""
HEADINGS = ["benchmark", "median", "lowest to highest", "n", "unit", "ratio", "wanted", "how"]


def benchmarks_text(benchmarks: Sequence[Benchmark]) -> str:
    """Median, spread and bound of each; then a line on how each was measured."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("benchmark", no_wrap=True)
    for heading in ("median", "from", "to", "n", "ratio", "wanted"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for each in benchmarks:
        table.add_row(
            each.name,
            *(short(value) for value in (each.median, each.low, each.high)),
            str(len(each.values)),
            _ratio(each),
            _wanted(each),
            ("met" if each.met else "missed") if _wanted(each) else "",
        )
    lines = [f"{each.name}: {_how(each)}\n" for each in benchmarks]
    return as_text(table, WIDTH) + "".join(lines)


def short(value: float) -> str:
    """Three significant digits at least, no power of ten for what is at hand."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def speed_table(measured: MeasuredMachine, names: Sequence[str]) -> str:
    """Benchmarks of a machine as a Markdown table, and on what and when they were measured.

    Args:
        names: Names of benchmarks, or patterns of such.
    """
    figures = [(part, figure) for part in measured.parts for figure in part.figures]
    found = {name: [each for each in figures if fnmatch(each[1].name, name)] for name in names}
    chosen = [each for name in names for each in found[name]]
    align = ["---", "---:", "---:", "---:", "---", "---:", "---", "---"]
    lines = [HEADINGS, align, *(_row(figure) for _, figure in chosen)] if chosen else []
    notes = [f"*Not measured on this machine: `{name}`.*" for name in names if not found[name]]
    if chosen:
        notes.append(_source(measured, [part for part, _ in chosen]))
    table = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([*table, *([""] if table else []), *notes])


def _row(figure: Benchmark) -> list[str]:
    spread = f"{short(figure.low)} to {short(figure.high)}" if len(figure.values) > 1 else ""
    numbers = [short(figure.median), spread, str(len(figure.values))]
    judged = [_ratio(figure), _wanted(figure)]
    return [f"`{figure.name}`", *numbers, figure.unit, *judged, _how(figure)]


def _ratio(figure: Benchmark) -> str:
    return "" if figure.ratio is None else short(figure.ratio)


def _wanted(figure: Benchmark) -> str:
    """Its bounds; a ratio's not where nothing was measured to judge it by."""
    bounds = [] if figure.wanted is None else [short(figure.wanted)]
    if figure.wanted_ratio is not None and figure.ratio is not None:
        bounds.append(f"ratio {short(figure.wanted_ratio)}")
    return f"{figure.sense} {', '.join(bounds)}" if bounds else ""


def _how(figure: Benchmark) -> str:
    """How it was measured, and what the machine itself did in the same minute."""
    stick = figure.yardstick
    if stick is None:
        return figure.detail
    if not stick.values:
        return f"{figure.detail}; yardstick: {stick.name}, missing: {stick.missing}"
    spread = f"{short(min(stick.values))} to {short(max(stick.values))}"
    return f"{figure.detail}; yardstick: {stick.name}, {short(stick.mean)} ({spread}) {stick.unit}"


def _source(measured: MeasuredMachine, parts: Sequence[MeasuredPart]) -> str:
    """Which commands measured it, when, at which commits and on what."""
    made: dict[tuple[str, str], list[str]] = {}
    for part in {part.part: part for part in parts}.values():
        at = part.begun_utc.partition("T")[0], part.commit[:8] + part.commit[40:]
        made.setdefault(at, []).append(f"`{part.part}`")
    when = "; ".join(f"{', '.join(p)} on {day} at {commit}" for (day, commit), p in made.items())
    return (
        f"*`nashbed bench` {when}. {measured.machine}: {measured.cpu}, {measured.memory_gb:g} GB, "
        f"Linux {measured.kernel}.*"
    )
