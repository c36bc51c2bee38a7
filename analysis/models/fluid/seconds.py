"""The fluid model of another congestion control in place of BBR, as far as our runs bear it out."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from ..prediction import Model, Prediction
from ..question import ModelError, Question
from .model import BBR, MODEL, predict
from .native import controls

VALIDATION_FILE = Path(__file__).with_name("validation.json")
"""Written by `python -m tests.support.fluid_seconds`."""
MOST_POINTS = 10.0
"""Points of 100 by which the aggregate share may be off, in the median, for an answer unasked."""


@dataclass(frozen=True)
class Validation:
    """The fluid model of a control beside CUBIC against our own runs.

    Attributes:
        control: The control.
        mixes: Measured mixes.
        settings: Settings (rate, base RTT, buffer, flows) that these are of.
        median_points: Median of |predicted - measured| aggregate share, in points of 100.
        bias_points: Mean of predicted - measured.
        p90_points: 90th percentile of |predicted - measured|.
    """

    control: str
    mixes: int
    settings: int
    median_points: float
    bias_points: float
    p90_points: float

    @property
    def holds(self) -> bool:
        """Whether answers may be given without being asked for as they are."""
        return self.median_points <= MOST_POINTS


@cache
def validations() -> dict[str, Validation]:
    """By control; a control that is not there was never held against a run."""
    found = json.loads(VALIDATION_FILE.read_text(encoding="utf-8"))["controls"]
    return {name: Validation(name, **numbers) for name, numbers in found.items()}


def model_of(second: str, unvalidated: bool = False) -> Model:
    """The fluid model of CUBIC against another control.

    Its predictions say BBR where they mean that control.

    Args:
        second: One of `controls()` but CUBIC, e.g. `bbr3`.
        unvalidated: Answer, with a flag, also where our runs do not bear the model out.

    Raises:
        ModelError: The model does not know the control.
        FluidNotBuiltError: The library has not been built.
    """
    if second == BBR:
        return MODEL
    known = [name for name in controls() if name != "cubic"]
    if second not in known:
        raise ModelError(f"{second}: the fluid model knows {', '.join(known)} beside cubic")
    reservation = _reservation(second)
    answer = partial(predict, second=second)
    if reservation is not None:
        answer = partial(_flagged if unvalidated else _refused, second, reservation)
    validity = f"CUBIC and {second} at a drop-tail queue; {reservation or 'held against our runs'}"
    return replace(MODEL, validity=validity, predict=answer)


def _reservation(second: str) -> str | None:
    found = validations().get(second)
    if found is None:
        return f"the fluid model of {second} was never held against a run"
    if found.holds:
        return None
    return (
        f"the fluid model of {second} misses the share in our runs by {found.median_points:.0f} "
        f"points in the median of {found.mixes} mixes"
    )


def _flagged(second: str, reservation: str, question: Question) -> Prediction:
    answer = predict(question, second)
    return replace(answer, flags=(*answer.flags, reservation))


def _refused(second: str, reservation: str, question: Question) -> Prediction:
    return Prediction(MODEL.name, question, None, refusals=(reservation,))
