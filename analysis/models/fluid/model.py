"""The fluid model as a model among others: a mean over seeds, and their range."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..prediction import Model, Prediction, no_competition
from ..question import Question
from .competition import competition_of
from .constants import FITTED
from .native import FluidNotBuiltError, simulate
from .outcome import Outcome

NAME = "fluid"
BBR = "bbr"
SEEDS = (1, 2, 3, 4)


@lru_cache(maxsize=65536)  # figures, tables and searches ask the same again
def predict(question: Question, second: str = BBR) -> Prediction:
    """Predict by simulation, once with each seed.

    Args:
        question: The question; starts, windows and the measured time count.
        second: What runs in place of BBR; the answer says BBR where it means that.
    """
    alone = no_competition(NAME, question)
    if alone is not None:
        return alone
    try:
        outcomes = [simulate(competition_of(question, second), seed, FITTED) for seed in SEEDS]
    except FluidNotBuiltError as error:
        return Prediction(NAME, question, None, refusals=(str(error),))
    shares = [outcome.share_of(second) for outcome in outcomes]
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
    "nashbed, analysis/README.md, the fluid model",
    "CUBIC and BBR version 1 at a drop-tail queue; constants fitted on FABRIC's mixes",
    predict,
)
