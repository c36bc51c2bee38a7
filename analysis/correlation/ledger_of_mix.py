"""The ledger of the repetitions of one mix: measured values put into the model one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..measures import TrialMeasures
from ..metrics.statistics import Estimate, estimate
from ..models.mishra2022 import Inputs, NoSolutionError, outside, share_of_bbr_with
from .assumptions import ASSUMPTIONS, Assumption, Held
from .competition import bbr_share, question_of
from .ledger import BOUNDS, Answer, Ledger, LedgerEntry, PointsMoved
from .synchronisation import ShiftedNull
from .trial import TrialCorrelation

_BY_KEY = {assumption.key: assumption for assumption in ASSUMPTIONS}


def ledger_of(trials: Sequence[TrialCorrelation]) -> Ledger | None:
    """The ledger of the repetitions of one mix.

    Args:
        trials: Trials of one setting and mix.

    Returns:
        The ledger; None where the model does not hold (several base RTTs, no CUBIC or BBR flow,
        another congestion control, a buffer outside 1 to 100 BDP) or nothing was measured.
    """
    measures = [t.measures for t in trials]
    share = estimate([s for s in map(bbr_share, measures) if s is not None])
    if share is None or outside(question_of(measures[0])):
        return None
    held = {a.key: [t.held[a.key] for t in trials if a.key in t.held] for a in ASSUMPTIONS}
    known = {key: each for key, each in held.items() if each}
    return _filled(measures[0], share, known) if known else None


def _filled(measures: TrialMeasures, share: Estimate, held: Mapping[str, Sequence[Held]]) -> Ledger:
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
    """By how much one other value moves BBR's share."""
    return solved(x, replace(inputs, **{key: value})).less(solved(x, inputs))


def _restored(x: float, everything: Inputs, key: str, assumed: Inputs) -> PointsMoved:
    """By how much a measured value moves BBR's share where the others are measured."""
    before = replace(everything, **{key: getattr(assumed, key)})
    return solved(x, everything).less(solved(x, before))


def _inputs(held: Mapping[str, Sequence[Held]]) -> dict[str, float]:
    """The measured inputs: ratios of means over trials, or the means themselves."""
    inputs = {}
    for key, each in held.items():
        measured = float(np.mean([one.measured for one in each]))
        says = float(np.mean([one.synchronised for one in each]))
        inputs[key] = measured / says if _BY_KEY[key].relative else measured
    return inputs


def solved(x: float, inputs: Inputs) -> Answer:
    """BBR's share at a buffer of x BDP, or why there is none."""
    try:
        return Answer(share_of_bbr_with(x, inputs))
    except NoSolutionError as error:
        return Answer(error.edge, str(error))


def _entry(
    assumption: Assumption,
    held: Sequence[Held],
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
