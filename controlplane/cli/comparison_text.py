"""What `nashbed compare` says to a person: differences of two runs, or whether they are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from rich.table import Table

from ..contract.metrics import DISPLAY
from .console import WIDE, as_text, new_table

if TYPE_CHECKING:
    from nashbed.analysis.results.compare import (
        Comparison,
        RunComparison,
        ShareComparison,
        ShareSummary,
        Spread,
    )
    from nashbed.analysis.results.equivalence import EquivalenceAnswer, ShareEquivalence

MOST_ROWS = 40
"""Rows that a table shows unless all are asked for."""
MOST_NAMES = 10
UNTESTED = (
    "no mix has two valid trials in both, so a difference cannot be distinguished from chance; "
    "set `trials: 2` or more in the scenario and run again\n"
)
UNVARIED = "no spread"
"""Stands for p where neither run varies."""
CELLS = 21
"""Characters of a drawn interval; odd, so that one of them is 0."""
SPAN = 2.0
"""What is drawn goes so many margins to either side; beyond, an arrow stands for it."""
Row = TypeVar("Row", "Comparison", "ShareComparison", "ShareEquivalence")


def comparison_text(runs: RunComparison, everything: bool) -> str:
    """The comparison: shares of the throughput, then what was tested.

    Args:
        everything: Show every row; otherwise only those that differ most, where there are many.
    """
    text = _head(runs)
    if runs.shares:
        text += "\n" + _summary_text(runs) + "\n" + _shares_text(runs, everything)
    return text + "\n" + _tests_text(runs, everything)


def _head(runs: RunComparison | EquivalenceAnswer) -> str:
    """Which runs, and what was not applied alike."""
    unlike = "".join(f"not applied alike: {each}\n" for each in runs.unlike)
    return f"first:  {runs.first}\nsecond: {runs.second}\n{unlike}"


def _summary_text(runs: RunComparison) -> str:
    table = new_table(
        "Differences of shares, second minus first, in points",
        *("setting", "share of", ">mixes", ">mean", ">mean absolute", ">largest", "at"),
    )
    for each in runs.share_summary:
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
    columns = ("setting", "mix", "share of", ">|first", ">|second", ">|difference")
    table = new_table(title + _few(shown, runs.shares), *columns)
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
    title = f"{runs.second} minus {runs.first}" + _few(shown, runs.comparisons)
    columns = ("setting", "mix", "metric", ">first", ">second", ">difference", ">p")
    table = new_table(title, *columns)
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


def _add_sections(table: Table, rows: Iterable[Row], cells: Callable[[Row], Iterable[str]]) -> None:
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


def _setting(each: Comparison | ShareComparison | ShareSummary | ShareEquivalence) -> str:
    return each.setting if each.setting == each.against else f"{each.setting} | {each.against}"


def _test_cells(each: Comparison) -> list[str]:
    factor, unit = DISPLAY[each.unit]
    name = f"{each.metric.replace('_', ' ')} {each.strategy or ''}".strip()
    interval = "" if each.ci95 is None else f" ±{each.ci95 * factor:.2g}"
    return [
        each.mix,
        f"{name} ({unit})" if unit else name,
        f"{each.first.mean * factor:.4g} (n {each.first.n})",
        f"{each.second.mean * factor:.4g} (n {each.second.n})",
        f"{each.difference * factor:+.3g}{interval}",
        _p_text(each),
    ]


def _p_text(each: Comparison) -> str:
    if each.p_adjusted is None:
        return UNVARIED
    return f"{each.p_adjusted:.2g}{' *' if each.differs else ''}"


def _chance(each: Comparison) -> float:
    """Which rows come first: p; what does not vary by whether it differs at all."""
    if each.p is None:
        return 0.0 if each.difference else 1.0
    return each.p


def equivalence_text(runs: EquivalenceAnswer) -> str:
    """The verdicts, with each difference's interval drawn between the margins."""
    text = _head(runs) + "\n" + as_text(_equivalence_table(runs), WIDE)
    text += "".join(f"not tested, no valid trial in both: {each}\n" for each in runs.missing)
    return text + _verdict_text(runs)


def _equivalence_table(runs: EquivalenceAnswer) -> Table:
    points = f"{100 * runs.margin:g}"
    table = new_table(
        f"Shares of the throughput in per cent: alike within {points} points?",
        *("|setting", "share of, mix", ">|first", ">|second", ">|difference"),
        *(f"|{_scale(points)}", "|verdict", ">|trials\n(needs)"),
    )
    _add_sections(table, runs.cells, _equivalence_cells)
    return table


def _equivalence_cells(each: ShareEquivalence) -> Iterable[str]:
    yield f"{each.strategy}, {each.mix}"
    yield f"{100 * each.first.mean:.1f}"
    yield f"{100 * each.second.mean:.1f}"
    yield f"{100 * each.difference:+.1f}" + (f" ±{100 * each.ci90:.1f}" if each.ci90 else "")
    yield drawn_interval(each.difference, each.ci90, each.margin)
    yield each.verdict
    numbers = sorted({each.first.n, each.second.n})
    needed = "" if each.needed is None else f" ({each.needed})"
    yield " and ".join(map(str, numbers)) + needed


def _scale(points: str) -> str:
    """Where 0 and the margins are in a drawn interval."""
    line = [" "] * CELLS
    for at, label in ((-1.0, f"-{points}"), (0.0, "0"), (1.0, f"+{points}")):
        start = _place(at) - len(label) // 2
        line[start : start + len(label)] = label
    return "".join(line)


def drawn_interval(difference: float, half_width: float | None, margin: float) -> str:
    """A difference and its interval on a line from two margins below 0 to two above.

    Args:
        half_width: Half of its interval; None: there is none.
        margin: The margin, in the same unit; drawn as a bar on either side.
    """
    line = ["┊" if i in {_place(-1.0), _place(1.0)} else " " for i in range(CELLS)]
    half = half_width or 0.0
    low, high = (difference - half) / margin, (difference + half) / margin
    for i in range(_place(low), _place(high) + 1):
        line[i] = "━"
    line[_place(difference / margin)] = "●"
    if low < -SPAN:
        line[0] = "◀"
    if high > SPAN:
        line[-1] = "▶"
    return "".join(line)


def _place(margins: float) -> int:
    """The character at a number of margins from 0, within what is drawn."""
    inside = min(max(margins, -SPAN), SPAN)
    return round((inside / SPAN + 1) * (CELLS - 1) / 2)


def _verdict_text(runs: EquivalenceAnswer) -> str:
    count = Counter(each.verdict for each in runs.cells)
    told = ", ".join(f"{number} {verdict}" for verdict, number in count.items())
    missing = f", {len(runs.missing)} not tested" if runs.missing else ""
    whole = "DIFFERENT" if count["different"] else "NOT SHOWN EQUIVALENT"
    return (
        f"{'EQUIVALENT' if runs.equivalent else whole}: {len(runs.cells)} shares: {told}{missing}\n"
        "drawn and ±: the 90 % interval of the difference; inside the margins exactly if both\n"
        "one-sided tests at 95 % (Welch) reject. Verdicts: p adjusted for the number of shares "
        "(Holm).\nneeds: trials of each run that show equivalence in 80 % of cases if there is no "
        "difference\nand the spread is as here\n"
    )
