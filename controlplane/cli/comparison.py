"""Two runs side by side, as a person reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from rich.table import Table

from .console import as_text

if TYPE_CHECKING:
    from nashbed.analysis.results.compare import Comparison, RunComparison
    from nashbed.analysis.results.shares import ShareComparison, ShareSummary, Spread

DISPLAY = {"bit/s": (1e-6, "Mbit/s"), "s": (1e3, "ms"), "B": (1e-3, "kB"), "1": (1.0, "")}
MOST_ROWS = 40
"""Rows that a table shows unless all are asked for."""
MOST_NAMES = 10
UNTESTED = (
    "no mix has two valid trials in both, so a difference cannot be distinguished from chance; "
    "set `trials: 2` or more in the scenario and run again\n"
)
UNVARIED = "no spread"
"""Stands for p where neither run varies."""
Row = TypeVar("Row", "Comparison", "ShareComparison")


def comparison_text(runs: RunComparison, everything: bool) -> str:
    """The comparison: shares of the throughput, then what was tested.

    Args:
        runs: The comparison.
        everything: Show every row; otherwise only those that differ most, where there are many.
    """
    text = f"first:  {runs.first}\nsecond: {runs.second}\n"
    text += "".join(f"not applied alike: {each}\n" for each in runs.unlike)
    if runs.shares:
        text += "\n" + _summary_text(runs) + "\n" + _shares_text(runs, everything)
    return text + "\n" + _tests_text(runs, everything)


def _summary_text(runs: RunComparison) -> str:
    from nashbed.analysis.results.shares import summarise_shares  # noqa: PLC0415 - slow to import

    table = Table(title="Differences of shares, second minus first, in points")
    for name in ("setting", "share of"):
        table.add_column(name)
    for name in ("mixes", "mean", "mean absolute", "largest"):
        table.add_column(name, justify="right")
    table.add_column("at")
    for each in summarise_shares(runs.shares):
        table.add_row(
            _setting(each),
            each.strategy,
            str(each.mixes),
            _points(each.mean),
            _points(each.mean_absolute).lstrip("+"),
            _points(each.largest.difference),
            each.largest.mix,
        )
    return as_text(table)


def _shares_text(runs: RunComparison, everything: bool) -> str:
    shown = _most(runs.shares, lambda s: -abs(s.difference), everything)
    title = "Share of the throughput in per cent: mean (lowest to highest of n trials)"
    table = Table(title=title + _few(shown, runs.shares))
    for name in ("setting", "mix", "share of"):
        table.add_column(name)
    for name in ("first", "second", "difference"):
        table.add_column(name, justify="right", no_wrap=True)
    _add_sections(table, shown, _share_cells)
    repeated = [each for each in runs.shares if each.repeated]
    if not repeated:
        return as_text(table)
    apart = sum(not each.overlap for each in repeated)
    note = f"! {apart} of {len(repeated)} pairs of ranges have nothing in common\n"
    return as_text(table) + note


def _tests_text(runs: RunComparison, everything: bool) -> str:
    if not runs.comparisons:
        return UNTESTED
    shown = _most(runs.comparisons, _chance, everything)
    table = Table(title=f"{runs.second} minus {runs.first}" + _few(shown, runs.comparisons))
    for name in ("setting", "mix", "metric"):
        table.add_column(name)
    for name in ("first", "second", "difference", "p"):
        table.add_column(name, justify="right")
    _add_sections(table, shown, _test_cells)
    differing = sum(each.differs for each in runs.comparisons)
    tested = sum(each.p_adjusted is not None for each in runs.comparisons)
    text = as_text(table)
    text += f"* {differing} of {tested} differ by more than chance: Welch's test, "
    text += "p adjusted for their number (Holm), below 0.05; ± is half of the 95 % interval\n"
    return text + _left_out_text(runs.left_out)


def _left_out_text(mixes: Sequence[str]) -> str:
    if len(mixes) > MOST_NAMES:
        return f"not compared, no repetitions: {len(mixes)} mixes\n"
    return "".join(f"not compared, no repetitions: {mix}\n" for mix in mixes)


def _most(rows: Sequence[Row], order: Callable[[Row], float], everything: bool) -> Sequence[Row]:
    """The first rows by an order, in the order in which they were."""
    if everything or len(rows) <= MOST_ROWS:
        return rows
    chosen = sorted(range(len(rows)), key=lambda i: order(rows[i]))[:MOST_ROWS]
    return [rows[i] for i in sorted(chosen)]


def _few(shown: Sequence[object], rows: Sequence[object]) -> str:
    if len(shown) == len(rows):
        return ""
    return f"\nthe {len(shown)} of {len(rows)} that differ most; --all shows every one"


def _add_sections(table: Table, rows: Iterable[Row], cells: Callable[[Row], list[str]]) -> None:
    """A section for each setting, which is named once."""
    for setting, group in groupby(rows, key=_setting):
        table.add_section()
        for i, row in enumerate(group):
            table.add_row(setting if i == 0 else "", *cells(row))


def _share_cells(each: ShareComparison) -> list[str]:
    mark = " !" if each.repeated and not each.overlap else ""
    difference = f"{_points(each.difference)}{mark}"
    return [each.mix, each.strategy, _spread(each.first), _spread(each.second), difference]


def _points(share: float) -> str:
    return f"{share * 100:+.1f}"


def _spread(spread: Spread) -> str:
    """A share in per cent."""
    mean, low, high = (f"{x * 100:.1f}" for x in (spread.mean, spread.low, spread.high))
    return f"{mean} ({low} to {high}, n {spread.n})" if spread.n > 1 else f"{mean} (n 1)"


def _setting(each: Comparison | ShareComparison | ShareSummary) -> str:
    return each.setting if each.setting == each.against else f"{each.setting} | {each.against}"


def _test_cells(each: Comparison) -> list[str]:
    factor, unit = DISPLAY[each.unit]
    name = f"{each.metric.replace('_', ' ')} {each.strategy or ''}".strip()
    half = each.change.half_width
    interval = "" if half is None else f" ±{half * factor:.2g}"
    return [
        each.mix,
        f"{name} ({unit})" if unit else name,
        f"{each.first.mean * factor:.4g} (n {each.first.n})",
        f"{each.second.mean * factor:.4g} (n {each.second.n})",
        f"{each.change.difference * factor:+.3g}{interval}",
        _p_text(each),
    ]


def _p_text(each: Comparison) -> str:
    if each.p_adjusted is None:
        return UNVARIED
    return f"{each.p_adjusted:.2g}{' *' if each.differs else ''}"


def _chance(each: Comparison) -> float:
    """Which rows come first: p; what does not vary by whether it differs at all."""
    if each.change.p is None:
        return 0.0 if each.change.difference else 1.0
    return each.change.p
