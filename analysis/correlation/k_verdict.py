"""Does the k measured from CUBIC's losses predict better than the model's two bounds?

Trials of one mix share the model's error for that mix, so they are not independent: errors are
first averaged within each mix of a setting, and a mix counts as one observation.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from nashbed.controlplane.contract.model import ContractModel

from ..metrics.statistics import Estimate, estimate

CHOICES = ("measured", "synchronised", "desynchronised")
SMALLEST_SPREAD = 0.001
"""Bounds whose predictions differ by less (share of the throughput) count as equal."""


class KPrediction(ContractModel):
    """BBR's share of the throughput in one trial: measured, and predicted with each k.

    Attributes:
        bbr_share: BBR's aggregate share of the throughput, measured.
        k: Choice -> k.
        predicted: Choice -> the model's aggregate share of BBR.
    """

    trial: str
    setting: str
    bbr_share: float
    k: dict[str, float]
    predicted: dict[str, float]

    @property
    def mix(self) -> str:
        """Setting and mix: the trial's id without repetition and attempt."""
        return self.trial.rsplit("-", 2)[0]

    def error(self, choice: str) -> float:
        """Absolute error of a choice (unit 1)."""
        return abs(self.predicted[choice] - self.bbr_share)

    @property
    def spread(self) -> float:
        """How far the two bounds' predictions are apart (unit 1)."""
        return abs(self.predicted["synchronised"] - self.predicted["desynchronised"])


class KGain(Estimate):
    """How much better the measured k predicts than a bound.

    Attributes:
        answer: `better`, `worse`, or `no clear difference` where the interval holds 0 or is
            missing.
    """

    answer: Literal["better", "worse", "no clear difference"]


class KVerdict(ContractModel):
    """The answer for a run.

    Attributes:
        text: The answer in one or two sentences, with numbers.
        errors: Choice -> mean absolute error of BBR's share, over mixes.
        gains: Bound -> its error less the error with the measured k, mix by mix; positive where
            the measured k is better.
        trials: One for each trial for which a prediction exists.
    """

    text: str
    errors: dict[str, Estimate]
    gains: dict[str, KGain]
    trials: tuple[KPrediction, ...]


def judge_k(rows: Sequence[KPrediction]) -> KVerdict | None:
    """Compare the three choices of k over the mixes of a run, pair by pair.

    Trials for which both bounds predict the same (one CUBIC flow, a buffer of 1 BDP) cannot tell
    them apart and are left out.

    Args:
        rows: One for each trial.

    Returns:
        The verdict; None if no trial tells the choices apart.
    """
    rows = [row for row in rows if row.spread >= SMALLEST_SPREAD]
    if not rows:
        return None
    by_mix = {choice: _by_mix(rows, choice) for choice in CHOICES}
    errors = {choice: _known(values) for choice, values in by_mix.items()}
    gains = {
        bound: _gain(np.subtract(by_mix[bound], by_mix["measured"]).tolist())
        for bound in CHOICES[1:]
    }
    return KVerdict(
        text=_text(errors, gains, len(rows)), errors=errors, gains=gains, trials=tuple(rows)
    )


def _text(errors: Mapping[str, Estimate], gains: Mapping[str, KGain], trials: int) -> str:
    """The answer in one or two sentences."""
    off = ", ".join(f"{_points(errors[c])} with the {c} k" for c in CHOICES)
    verdicts = "; ".join(
        f"against the {bound} bound it is {gain.answer} "
        f"({gain.mean * 100:+.1f} points{_interval(gain)})"
        for bound, gain in gains.items()
    )
    return (
        f"Mean absolute error of BBR's share over {errors['measured'].n} mixes ({trials} trials): "
        f"{off}. Measured k: {verdicts}."
    )


def _by_mix(rows: Sequence[KPrediction], choice: str) -> list[float]:
    """The mean error of a choice in each mix of each setting, in a fixed order."""
    errors: dict[str, list[float]] = {}
    for row in rows:
        errors.setdefault(row.mix, []).append(row.error(choice))
    return [float(np.mean(values)) for values in errors.values()]


def _known(values: list[float]) -> Estimate:
    mean = estimate(values)
    assert mean is not None
    return mean


def _gain(values: list[float]) -> KGain:
    gain = _known(values)
    if gain.ci95 is None or abs(gain.mean) <= gain.ci95:
        return KGain(**vars(gain), answer="no clear difference")
    return KGain(**vars(gain), answer="better" if gain.mean > 0 else "worse")


def _points(value: Estimate) -> str:
    return f"{value.mean * 100:.1f} points{_interval(value)}"


def _interval(value: Estimate) -> str:
    return "" if value.ci95 is None else f" ± {value.ci95 * 100:.1f}"
