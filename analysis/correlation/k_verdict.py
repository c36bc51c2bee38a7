"""Does the k measured from CUBIC's losses predict better than the model's two bounds?

Trials of one mix share the model's error for that mix, so they are not independent: errors are
first averaged within each mix of a setting, and a mix counts as one observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..metrics.statistics import Estimate, estimate

CHOICES = ("measured", "synchronised", "desynchronised")
SMALLEST_SPREAD = 0.001
"""Bounds whose predictions differ by less (share of the throughput) count as equal."""


@dataclass(frozen=True)
class KPrediction:
    """BBR's share of the throughput in one trial: measured, and predicted with each k.

    Attributes:
        trial: The trial's id.
        setting: Its setting's label.
        measured: BBR's aggregate share of the throughput.
        k: Choice -> k.
        predicted: Choice -> the model's aggregate share of BBR.
    """

    trial: str
    setting: str
    measured: float
    k: dict[str, float]
    predicted: dict[str, float]

    @property
    def mix(self) -> str:
        """Setting and mix: the trial's id without repetition and attempt."""
        return self.trial.rsplit("-", 2)[0]

    def error(self, choice: str) -> float:
        """Absolute error of a choice (unit 1)."""
        return abs(self.predicted[choice] - self.measured)

    @property
    def spread(self) -> float:
        """How far the two bounds' predictions are apart (unit 1)."""
        return abs(self.predicted["synchronised"] - self.predicted["desynchronised"])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "trial": self.trial,
            "setting": self.setting,
            "bbr_share": self.measured,
            "k": self.k,
            "predicted": self.predicted,
        }


@dataclass(frozen=True)
class KVerdict:
    """The answer for a run.

    Attributes:
        rows: One for each trial for which a prediction exists.
        errors: Choice -> mean absolute error of BBR's share, over mixes.
        gains: Bound -> its error less the error with the measured k, mix by mix; positive where
            the measured k is better.
    """

    rows: tuple[KPrediction, ...]
    errors: dict[str, Estimate]
    gains: dict[str, Estimate]

    def answer(self, bound: str) -> str:
        """`better`, `worse`, or `no clear difference` where the interval holds 0 or is missing."""
        gain = self.gains[bound]
        if gain.half_width is None or abs(gain.mean) <= gain.half_width:
            return "no clear difference"
        return "better" if gain.mean > 0 else "worse"

    def text(self) -> str:
        """The answer in one or two sentences, with numbers."""
        errors = ", ".join(f"{_points(self.errors[c])} with the {c} k" for c in CHOICES)
        verdicts = "; ".join(
            f"against the {bound} bound it is {self.answer(bound)} "
            f"({self.gains[bound].mean * 100:+.1f} points{_interval(self.gains[bound])})"
            for bound in CHOICES[1:]
        )
        n, trials = self.errors["measured"].n, len(self.rows)
        return (
            f"Mean absolute error of BBR's share over {n} mixes ({trials} trials): {errors}. "
            f"Measured k: {verdicts}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "text": self.text(),
            "errors": {name: _plain(e) for name, e in self.errors.items()},
            "gains": {
                name: {**_plain(e), "answer": self.answer(name)} for name, e in self.gains.items()
            },
            "trials": [row.to_dict() for row in self.rows],
        }


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
    errors = {choice: _by_mix(rows, choice) for choice in CHOICES}
    gains = {b: np.subtract(errors[b], errors["measured"]).tolist() for b in CHOICES[1:]}
    return KVerdict(
        rows=tuple(rows),
        errors={name: _known(values) for name, values in errors.items()},
        gains={name: _known(values) for name, values in gains.items()},
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


def _points(value: Estimate) -> str:
    return f"{value.mean * 100:.1f} points{_interval(value)}"


def _interval(value: Estimate) -> str:
    return "" if value.half_width is None else f" ± {value.half_width * 100:.1f}"


def _plain(value: Estimate) -> dict[str, float | int | None]:
    return {"mean": value.mean, "n": value.n, "ci95": value.half_width}
