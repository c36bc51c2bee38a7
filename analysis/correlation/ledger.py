"""The ledger of Mishra's model in one mix: each assumption, its measured value and its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from nashbed.controlplane.contract.trial import Setting

from ..measures import TrialMeasures
from ..metrics.statistics import Estimate, estimate
from ..models.competition import Competition
from ..models.mishra2022 import Inputs, NoSolutionError, outside, share_of_bbr_with
from ..state import State
from .assumptions import ASSUMPTIONS, Assumption, AssumptionCheck
from .competition import bbr_share, question_of
from .congestion_events import ShiftedNull
from .trial import TrialCorrelation

BOUNDS = ("synchronised", "desynchronised")
POINTS = 100.0
"""Points of BBR's share of the throughput in the whole."""
_BY_KEY = {assumption.key: assumption for assumption in ASSUMPTIONS}


@dataclass(frozen=True)
class Answer:
    """BBR's share that the model predicts from its inputs, or why it has no solution.

    Attributes:
        share: The share (unit 1); without a solution the share at the edge of the solvable inputs.
        why: Why there is no solution, or "".
    """

    share: float
    why: str = ""

    def less(self, other: Answer) -> PointsMoved:
        """The points by which this answer exceeds another."""
        return PointsMoved(POINTS * (self.share - other.share), self.why or other.why)


@dataclass(frozen=True)
class PointsMoved:
    """The change of BBR's predicted share, in points of 100.

    Attributes:
        points: The points; without a solution the points up to the edge of the solvable inputs,
            a lower bound.
        why: Why there is no solution, or "".
    """

    points: float
    why: str = ""

    @property
    def solved(self) -> float | None:
        """The points; None without a solution."""
        return None if self.why else self.points


@dataclass(frozen=True)
class LedgerEntry:
    """One assumption in one mix.

    Attributes:
        says: Bound -> the assumed value, mean over trials.
        measured: The measured value, over trials.
        observations: Number of single measurements behind it, in all trials.
        spread: Their 10th and 90th percentile.
        alone: Bound -> the points by which BBR's share moves when the measured value replaces
            the assumed one, everything else as assumed.
        last: Bound -> the same when all other values are already the measured ones; empty for a
            derived assumption, or if all values together could not be measured or solved.
        null: The value that chance alone gives, mean over trials; None where chance plays no part.
    """

    assumption: Assumption
    says: Mapping[str, float]
    measured: Estimate
    observations: int
    spread: tuple[float, float]
    alone: Mapping[str, PointsMoved]
    last: Mapping[str, PointsMoved]
    null: ShiftedNull | None

    @property
    def moves(self) -> float:
        """Points by which this assumption alone moves BBR's share, mean over the bounds."""
        return float(np.mean([cost.points for cost in self.alone.values()]))

    def text(self) -> str:
        """The assumption with its equation."""
        return f"{self.assumption.words} {self.assumption.equation}"

    def ratio(self, bound: str) -> float:
        """Measured value divided by the assumed one."""
        return self.measured.mean / self.says[bound]


@dataclass(frozen=True)
class Ledger:
    """All assumptions in one mix.

    Attributes:
        share: BBR's measured share of the throughput.
        predicted: Bound -> the share that the model predicts.
        replaced: The share that the model predicts from the measured values; None if one of them
            could not be measured.
        missing: Keys of the assumptions that could not be measured.
        entries: One for each measured assumption.
    """

    setting: Setting
    state: State
    question: Competition
    share: Estimate
    predicted: Mapping[str, Answer]
    replaced: Answer | None
    missing: tuple[str, ...]
    entries: tuple[LedgerEntry, ...]

    @property
    def left_over(self) -> float | None:
        """Points by which BBR's share exceeds the prediction from all measured values."""
        if self.replaced is None or self.replaced.why:
            return None
        return POINTS * (self.share.mean - self.replaced.share)

    def dearest(self, sign: int = 0) -> LedgerEntry | None:
        """The assumption that alone moves BBR's share most, averaged over the bounds.

        Args:
            sign: 1: among those that move it up; -1: down; 0: among all.

        Returns:
            The assumption, never a derived one; None if there is none.
        """
        independent = [e for e in self.entries if not e.assumption.derived]
        known = [e for e in independent if sign == 0 or sign * e.moves > 0]
        return max(known, key=lambda entry: abs(entry.moves), default=None)

    def sentence(self) -> str:
        """The costliest assumptions and what remains unexplained, for the reader of a report."""
        parts = [f"BBR has {POINTS * self.share.mean:.1f} % where the model says {self._says()}"]
        first = self.dearest()
        if first is not None:
            parts.append(
                f"the costliest assumption is that {first.text()}: its measured value alone "
                f"moves BBR's share by {_points(first.alone)}"
            )
            other = self.dearest(-1 if first.moves > 0 else 1)
            if other is not None:
                parts.append(
                    f"the assumption that {other.text()} acts in the opposite direction: "
                    f"{_points(other.alone)}"
                )
        parts.append(self._closing())
        return "; ".join(parts) + "."

    def _says(self) -> str:
        shares = dict.fromkeys(f"{POINTS * self.predicted[bound].share:.1f}" for bound in BOUNDS)
        return " to ".join(shares) + " %"

    def _closing(self) -> str:
        if self.replaced is None:
            names = {each.key: each.short for each in ASSUMPTIONS}
            missing = ", ".join(names.get(key, key) for key in self.missing)
            return f"the ledger is incomplete: {missing} could not be measured"
        if self.left_over is None:
            return f"the model has no solution with all measured values ({self.replaced.why})"
        share = POINTS * self.replaced.share
        return (
            f"with all measured values the model says {share:.1f} %, "
            f"which leaves {self.left_over:+.1f} points unexplained"
        )


def _points(costs: Mapping[str, PointsMoved]) -> str:
    """Join the texts of both bounds; one text where they agree."""
    texts = [_cost_text(cost) for cost in costs.values()]
    if texts[0] == texts[1]:
        return f"{texts[0]} points"
    return f"{texts[0]} points (all flows lose together) or {texts[1]} (one flow at a time)"


def _cost_text(cost: PointsMoved) -> str:
    """The points; a lower bound where there is no solution."""
    return f"{'at least ' if cost.why else ''}{cost.points:+.1f}"


def ledger_of(trials: Sequence[TrialCorrelation]) -> Ledger | None:
    """The ledger of the repetitions of one mix.

    Args:
        trials: Trials of one setting and mix.

    Returns:
        The ledger; None where the model does not hold (several base RTTs, no CUBIC or BBR flow,
        another CCA, a buffer outside 1 to 100 BDP) or nothing was measured.
    """
    measures = [t.measures for t in trials]
    share = estimate([s for s in map(bbr_share, measures) if s is not None])
    if share is None or outside(question_of(measures[0])):
        return None
    held = {a.key: [t.held[a.key] for t in trials if a.key in t.held] for a in ASSUMPTIONS}
    known = {key: each for key, each in held.items() if each}
    return _filled(measures[0], share, known) if known else None


def _filled(
    measures: TrialMeasures, share: Estimate, held: Mapping[str, Sequence[AssumptionCheck]]
) -> Ledger:
    question = question_of(measures)
    x = question.buffer_bdp
    bounds = (Inputs(), Inputs(losing=1 / question.first.flows))
    assumed = dict(zip(BOUNDS, bounds, strict=True))
    measured = _inputs(held)
    independent = {key: value for key, value in measured.items() if not _BY_KEY[key].derived}
    everything = replace(Inputs(), **independent)
    missing = tuple(a.key for a in ASSUMPTIONS if not a.derived and a.key not in held)
    replaced = None if missing else solved(x, everything)
    entries = []
    for key, each in held.items():
        alone = {b: _moved(x, assumed[b], key, measured[key]) for b in BOUNDS}
        whole = replaced is not None and not replaced.why and key in independent
        last = {b: _restored(x, everything, key, assumed[b]) for b in BOUNDS} if whole else {}
        entries.append(_entry(_BY_KEY[key], each, alone, last))
    return Ledger(
        setting=measures.trial.setting,
        state=measures.state,
        question=question,
        share=share,
        predicted={bound: solved(x, inputs) for bound, inputs in assumed.items()},
        replaced=replaced,
        missing=missing,
        entries=tuple(entries),
    )


def _moved(x: float, inputs: Inputs, key: str, value: float) -> PointsMoved:
    """The change of BBR's share when one input takes another value."""
    return solved(x, replace(inputs, **{key: value})).less(solved(x, inputs))


def _restored(x: float, everything: Inputs, key: str, assumed: Inputs) -> PointsMoved:
    """The change of BBR's share by one measured value when all others are measured."""
    before = replace(everything, **{key: getattr(assumed, key)})
    return solved(x, everything).less(solved(x, before))


def _inputs(held: Mapping[str, Sequence[AssumptionCheck]]) -> dict[str, float]:
    """The measured inputs: ratios of means over trials, or the means themselves."""
    inputs = {}
    for key, each in held.items():
        measured = float(np.mean([one.measured for one in each]))
        says = float(np.mean([one.synchronised for one in each]))
        inputs[key] = measured / says if _BY_KEY[key].relative else measured
    return inputs


def solved(x: float, inputs: Inputs) -> Answer:
    """BBR's predicted share at a buffer of x BDP, or why there is no solution."""
    try:
        return Answer(share_of_bbr_with(x, inputs))
    except NoSolutionError as error:
        return Answer(error.edge, str(error))


def _entry(
    assumption: Assumption,
    held: Sequence[AssumptionCheck],
    alone: Mapping[str, PointsMoved],
    last: Mapping[str, PointsMoved],
) -> LedgerEntry:
    values = np.concatenate([one.values for one in held])
    values = values[np.isfinite(values)]
    measured = estimate([one.measured for one in held])
    assert measured is not None
    low, high = np.percentile(values, (10, 90)) if len(values) else (np.nan, np.nan)
    says = {bound: float(np.mean([getattr(one, bound) for one in held])) for bound in BOUNDS}
    nulls = [one.null for one in held if one.null is not None]
    return LedgerEntry(
        assumption, says, measured, len(values), (float(low), float(high)), alone, last,
        _mean_null(nulls),
    )  # fmt: skip


def _mean_null(nulls: Sequence[ShiftedNull]) -> ShiftedNull | None:
    if not nulls:
        return None
    return ShiftedNull(
        *(float(np.mean([getattr(n, name) for n in nulls])) for name in ("mean", "low", "high"))
    )
