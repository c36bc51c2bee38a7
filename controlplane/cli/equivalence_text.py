"""The answer of `nashbed compare --equivalence` for a person: a row and a picture for each mix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from rich.table import Table

from .console import as_text, new_table

if TYPE_CHECKING:
    from nashbed.analysis.results.equivalence import EquivalenceAnswer, ShareEquivalence

CELLS = 21
"""Characters of a drawn interval; odd, so that one of them is 0."""
SPAN = 2.0
"""What is drawn goes so many margins to either side; beyond, an arrow stands for it."""
WIDE = 120


def equivalence_text(runs: EquivalenceAnswer) -> str:
    """The verdicts, with each difference's interval drawn between the margins."""
    text = f"first:  {runs.first}\nsecond: {runs.second}\n"
    text += "".join(f"not applied alike: {each}\n" for each in runs.unlike) + "\n"
    text += as_text(_table(runs), WIDE)
    text += "".join(f"not tested, no valid trial in both: {each}\n" for each in runs.missing)
    return text + _summary(runs)


def _table(runs: EquivalenceAnswer) -> Table:
    points = f"{100 * runs.margin:g}"
    table = new_table(
        f"Shares of the throughput in per cent: alike within {points} points?",
        *("|setting", "share of, mix", ">|first", ">|second", ">|difference"),
        *(f"|{_scale(points)}", "|verdict", ">|trials\n(needs)"),
    )
    for setting, group in groupby(runs.cells, key=_setting):
        table.add_section()
        for i, each in enumerate(group):
            table.add_row(setting if i == 0 else "", *_row(each))
    return table


def _setting(each: ShareEquivalence) -> str:
    return each.setting if each.setting == each.against else f"{each.setting} | {each.against}"


def _row(each: ShareEquivalence) -> Iterable[str]:
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


def _summary(runs: EquivalenceAnswer) -> str:
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
