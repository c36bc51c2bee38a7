"""The fluid model as a model among others: a mean over seeds, and their range.

Of other CCAs than BBR it answers as far as our runs bear it out.
"""

import json
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from pathlib import Path

import numpy as np

from ..competition import Competition, ModelError
from ..prediction import Model, Prediction, no_competition
from ..starts import BBR, CUBIC
from .native import FITTED, FluidNotBuiltError, Outcome, ccas, simulate

NAME = "fluid"
SEEDS = (1, 2, 3, 4)
VALIDATION_FILE = Path(__file__).with_name("validation.json")
"""Written by `python -m nashbed.analysis.models.fluid.validate`."""
MOST_POINTS = 10.0
"""Points of 100 by which the aggregate share may be off, in the median, for an answer unasked."""


def predict(question: Competition, unvalidated: bool = False) -> Prediction:
    """Predict by simulation, once with each seed.

    Args:
        question: A game of CUBIC and another CCA; starts, windows and the measured time count.
        unvalidated: Answer, with a flag, also where our runs do not bear the model out.
    """
    reservation = _reservation(question.second.cca)
    if reservation is None:
        return simulated(question)
    if not unvalidated:
        return Prediction(NAME, question, None, refusals=(reservation,))
    answer = simulated(question)
    return replace(answer, flags=(*answer.flags, reservation))


@lru_cache(maxsize=65536)  # figures, tables and searches ask the same again
def simulated(question: Competition) -> Prediction:
    """Predict by simulation, whether our runs bear the model out or not."""
    alone = no_competition(NAME, question)
    if alone is not None:
        return alone
    try:
        outcomes = [simulate(question, seed, FITTED) for seed in SEEDS]
    except FluidNotBuiltError as error:
        return Prediction(NAME, question, None, refusals=(str(error),))
    shares = [outcome.share_of(question.second.cca) for outcome in outcomes]
    return Prediction(
        NAME,
        question,
        float(np.mean(shares)),
        inner=_inner(outcomes),
        share_range=(min(shares), max(shares)),
    )


def _inner(outcomes: list[Outcome]) -> dict[str, float]:
    """Means over the seeds; kinds are CUBIC, then BBR or what runs in its place."""
    loss = np.mean([outcome.loss for outcome in outcomes], axis=0)
    rtt = np.mean([outcome.min_rtt_s for outcome in outcomes], axis=0)
    return {
        "queueing_delay_s": float(np.mean([o.queueing_delay_s for o in outcomes])),
        "utilisation": float(np.mean([o.utilisation for o in outcomes])),
        "loss_cubic": float(loss[0]),
        "loss_bbr": float(loss[1]),
        "rtt_plus_s": float(rtt[1]),
    }


MODEL = Model(
    NAME,
    "Fluid",
    "nashbed, docs/explanation/fluid-model.md",
    "CUBIC and BBR version 1 at a drop-tail queue; constants fitted on FABRIC's mixes",
    predict,
)


@dataclass(frozen=True)
class Validation:
    """The fluid model of a CCA beside CUBIC against our own runs.

    Attributes:
        settings: Settings (rate, base RTT, buffer, flows) that these are of.
        median_points: Median of |predicted - measured| aggregate share, in points of 100.
        bias_points: Mean of predicted - measured.
        p90_points: 90th percentile of |predicted - measured|.
    """

    cca: str
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
    """By CCA; a CCA that is not there was never held against a run."""
    found = json.loads(VALIDATION_FILE.read_text(encoding="utf-8"))["controls"]
    return {name: Validation(name, **numbers) for name, numbers in found.items()}


def _reservation(cca: str) -> str | None:
    """Why the model's answer about a CCA beside CUBIC is not to be trusted; None if it is."""
    if cca == BBR:
        return None
    found = validations().get(cca)
    if found is None:
        return f"the fluid model of {cca} was never held against a run"
    if found.holds:
        return None
    return (
        f"the fluid model of {cca} misses the share in our runs by {found.median_points:.0f} "
        f"points in the median of {found.mixes} mixes"
    )


def model_of(second: str, unvalidated: bool = False) -> Model:
    """The fluid model for games of CUBIC against another CCA.

    Args:
        second: One of `ccas()` but CUBIC, e.g. `bbr3`.
        unvalidated: Answer, with a flag, also where our runs do not bear the model out.

    Raises:
        ModelError: The model does not know the CCA.
        FluidNotBuiltError: The library has not been built.
    """
    if second == BBR:
        return MODEL
    known = [name for name in ccas() if name != CUBIC]
    if second not in known:
        raise ModelError(f"{second}: the fluid model knows {', '.join(known)} beside cubic")
    reservation = _reservation(second) or "held against our runs"
    return replace(
        MODEL,
        validity=f"CUBIC and {second} at a drop-tail queue; {reservation}",
        predict=partial(predict, unvalidated=unvalidated),
    )
