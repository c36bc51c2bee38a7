"""How far each model is from measured mixes, by buffer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from . import MODELS
from .prediction import Model
from .question import Question


@dataclass(frozen=True)
class MeasuredMix:
    """One measured mix, with both congestion controls in it.

    Attributes:
        question: The competition, with what was applied.
        bbr_share: BBR's part of the throughput of all flows.
        buffer_bdp: The buffer that it is counted under, in BDP as it was asked for.
    """

    question: Question
    bbr_share: float
    buffer_bdp: float


@dataclass(frozen=True)
class Accuracy:
    """The error of one model over some mixes, in parts of the throughput of all flows.

    Attributes:
        model: Name of the model.
        answered: Mixes that it answered.
        refused: Mixes that it refused.
        median_abs: Median of |predicted - measured| BBR share; None if all were refused.
        median: Median of predicted - measured: above 0 if BBR is overestimated.
        p90_abs: 90th percentile of |predicted - measured|.
        reason: Why the first refused mix was refused, or "".
    """

    model: str
    answered: int
    refused: int
    median_abs: float | None
    median: float | None
    p90_abs: float | None
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class BufferAccuracy:
    """The errors of every model at one buffer.

    Attributes:
        buffer_bdp: The buffer in BDP; None: all buffers together.
        mixes: Measured mixes.
        errors: One for each model.
    """

    buffer_bdp: float | None
    mixes: int
    errors: tuple[Accuracy, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        errors = [error.to_dict() for error in self.errors]
        return {"buffer_bdp": self.buffer_bdp, "mixes": self.mixes, "models": errors}


def accuracy_by_buffer(
    mixes: Iterable[MeasuredMix], models: Sequence[Model] = ()
) -> list[BufferAccuracy]:
    """The errors at each buffer, smallest first, and over all of them at the end.

    Args:
        mixes: What was measured.
        models: Which models; none: all.

    Returns:
        Nothing at all if nothing was measured.
    """
    chosen = tuple(models) or tuple(MODELS.values())
    ordered = sorted(mixes, key=lambda mix: mix.buffer_bdp)
    rows = [
        _at_buffer(buffer, list(group), chosen)
        for buffer, group in groupby(ordered, key=lambda mix: mix.buffer_bdp)
    ]
    return [*rows, _at_buffer(None, ordered, chosen)] if rows else []


def _at_buffer(
    buffer: float | None, mixes: Sequence[MeasuredMix], models: Sequence[Model]
) -> BufferAccuracy:
    return BufferAccuracy(buffer, len(mixes), tuple(_accuracy(model, mixes) for model in models))


def _accuracy(model: Model, mixes: Sequence[MeasuredMix]) -> Accuracy:
    answers = [(model.predict(mix.question), mix.bbr_share) for mix in mixes]
    off = np.array([a.bbr_share - s for a, s in answers if a.bbr_share is not None])
    refused = [answer.refusals[0] for answer, _ in answers if answer.bbr_share is None]
    return Accuracy(
        model=model.name,
        answered=len(off),
        refused=len(refused),
        median_abs=float(np.median(np.abs(off))) if len(off) else None,
        median=float(np.median(off)) if len(off) else None,
        p90_abs=float(np.percentile(np.abs(off), 90)) if len(off) else None,
        reason=refused[0] if refused else "",
    )
