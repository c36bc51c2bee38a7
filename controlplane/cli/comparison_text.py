"""What `nashbed compare` says to a person: differences of two runs, or whether they are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from ..contract.metrics import DISPLAY
from .console import WIDE, rows_text

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
    rows = [
        {
            "setting": _setting(each),
            "share of": each.strategy,
            ">mixes": str(each.mixes),
            ">mean": _points(each.mean),
            ">mean absolute": _points(each.mean_absolute).lstrip("+"),
            ">largest": _points(each.largest.difference),
            "at": each.largest.mix,
        }
        for each in runs.share_summary
    ]
    return rows_text("Differences of shares, second minus first, in points", rows)


def _shares_text(runs: RunComparison, everything: bool) -> str:
    shown = _most(runs.shares, lambda s: -abs(s.difference), everything)
    title = "Share of the throughput in per cent: mean (lowest to highest of n trials)"
    text = rows_text(
        title + _few(shown, runs.shares), [_share_row(each) for each in shown], sections=True
    )
    repeated = [each for each in runs.shares if each.repeated]
    if not repeated:
        return text
    apart = sum(not each.overlap for each in repeated)
    return text + f"! {apart} of {len(repeated)} pairs of ranges have nothing in common\n"


def _tests_text(runs: RunComparison, everything: bool) -> str:
    if not runs.comparisons:
        return UNTESTED
    shown = _most(runs.comparisons, _chance, everything)
    title = f"{runs.second} minus {runs.first}" + _few(shown, runs.comparisons)
    differing = sum(each.differs for each in runs.comparisons)
    tested = sum(each.p_adjusted is not None for each in runs.comparisons)
    text = rows_text(title, [_test_row(each) for each in shown], sections=True)
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


def _share_row(each: ShareComparison) -> dict[str, str]:
    mark = " !" if each.repeated and not each.overlap else ""
    return {
        "setting": _setting(each),
        "mix": each.mix,
        "share of": each.strategy,
        ">|first": _spread(each.first),
        ">|second": _spread(each.second),
        ">|difference": f"{_points(each.difference)}{mark}",
    }


def _points(share: float) -> str:
    return f"{share * 100:+.1f}"


def _spread(spread: Spread) -> str:
    """A share in per cent."""
    mean, low, high = (f"{x * 100:.1f}" for x in (spread.mean, spread.low, spread.high))
    return f"{mean} ({low} to {high}, n {spread.n})" if spread.n > 1 else f"{mean} (n 1)"


def _setting(each: Comparison | ShareComparison | ShareSummary | ShareEquivalence) -> str:
    return each.setting if each.setting == each.against else f"{each.setting} | {each.against}"


def _test_row(each: Comparison) -> dict[str, str]:
    factor, unit = DISPLAY[each.unit]
    name = f"{each.metric.replace('_', ' ')} {each.strategy or ''}".strip()
    interval = "" if each.ci95 is None else f" ±{each.ci95 * factor:.2g}"
    return {
        "setting": _setting(each),
        "mix": each.mix,
        "metric": f"{name} ({unit})" if unit else name,
        ">first": f"{each.first.mean * factor:.4g} (n {each.first.n})",
        ">second": f"{each.second.mean * factor:.4g} (n {each.second.n})",
        ">difference": f"{each.difference * factor:+.3g}{interval}",
        ">p": _p_text(each),
    }


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
    title = f"Shares of the throughput in per cent: alike within {100 * runs.margin:g} points?"
    rows = [_equivalence_row(each) for each in runs.cells]
    text = _head(runs) + "\n" + rows_text(title, rows, WIDE, sections=True)
    text += "".join(f"not tested, no valid trial in both: {each}\n" for each in runs.missing)
    return text + _verdict_text(runs)


def _equivalence_row(each: ShareEquivalence) -> dict[str, str]:
    trials = " and ".join(map(str, sorted({each.first.n, each.second.n})))
    return {
        "|setting": _setting(each),
        "share of, mix": f"{each.strategy}, {each.mix}",
        ">|first": f"{100 * each.first.mean:.1f}",
        ">|second": f"{100 * each.second.mean:.1f}",
        ">|difference": f"{100 * each.difference:+.1f}"
        + (f" ±{100 * each.ci90:.1f}" if each.ci90 else ""),
        f"|{_scale(f'{100 * each.margin:g}')}": drawn_interval(
            each.difference, each.ci90, each.margin
        ),
        "|verdict": each.verdict,
        ">|trials\n(needs)": trials + ("" if each.needed is None else f" ({each.needed})"),
    }


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
