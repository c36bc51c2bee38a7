"""Hold a run to its scenario's acceptance bounds."""

import math
from collections.abc import Sequence
from typing import Literal

from nashbed.controlplane.contract.bounds import BOUNDED, AcceptanceBound
from nashbed.controlplane.contract.model import ContractModel

from ..measures import RunMeasures
from ..nash.of_run import SettingEquilibria
from .bounds import SHOWN, Reading, Span, Where, matches, read, words

Verdict = Literal["met", "missed", "undecided"]


class AcceptanceResult(ContractModel):
    """The verdict on one bound at one setting.

    Attributes:
        metric: The bound's metric.
        setting: Label of the setting (empty: none matches).
        description: What is held to what, in words.
        value: What was measured, in `unit`; null if it was not.
        low: Smallest allowed value; null: no bound.
        high: Largest allowed value; likewise.
        unit: Unit of the three.
        allowed: The allowed values in words.
        verdict: `met` or `missed`; `undecided` where the measurement's interval is neither within
            the bounds nor beyond them.
        passed: Whether it is met.
        spans: What was judged, where it is not the value: the lowest and highest value that the
            measurement leaves open for each equilibrium, and whether there surely is one.
        detail: Number of trials, or why there is no value.
    """

    metric: str
    setting: str
    description: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    allowed: str
    verdict: Verdict
    passed: bool
    spans: tuple[Span, ...]
    detail: str

    @property
    def open_to(self) -> str:
        """The spans that are wider than a point, in words; empty: there is none."""
        wide = " or ".join(f"{s.low:g} to {s.high:g}" for s in self.spans if s.low < s.high)
        return wide and f"95 %: {wide}"


def check_measures(
    measures: RunMeasures, equilibria: Sequence[SettingEquilibria]
) -> list[AcceptanceResult]:
    """Check every bound of a measured run's scenario, at every setting that it names.

    A bound that names no setting holds at every one. What
    could not be measured is not passed.

    Returns:
        The results, in the scenario's order; empty if it has no bounds.
    """
    by_label = {e.setting.label: e for e in equilibria}
    results = []
    for bound in measures.run.scenario.acceptance:
        settings = [s for s in measures.run.settings if matches(bound, s)]
        for setting in settings:
            where = Where(measures, setting, by_label[setting.label])
            results.append(_result(bound, setting.label, read(bound, where)))
        if not settings:
            results.append(_result(bound, "", Reading(None, "the run has no such setting")))
    return results


def _result(bound: AcceptanceBound, setting: str, reading: Reading) -> AcceptanceResult:
    factor, unit = SHOWN[BOUNDED[bound.metric].unit]
    value = reading.value
    judged = reading.spans or (() if value is None else (Span(value, value),))
    verdict = _verdict(judged, *bound.limits)
    low, high = (None if limit is None else round(limit * factor, 9) for limit in bound.limits)
    return AcceptanceResult(
        metric=bound.metric,
        setting=setting,
        description=words(bound),
        value=None if value is None else value * factor,
        low=low,
        high=high,
        unit=unit,
        allowed=_allowed(low, high, unit),
        verdict=verdict,
        passed=verdict == "met",
        spans=reading.spans,
        detail=reading.detail,
    )


def _verdict(spans: Sequence[Span], low: float | None, high: float | None) -> Verdict:
    """Met if every span is within the limits, missed if one is surely beyond or there is none."""
    least = -math.inf if low is None else low
    most = math.inf if high is None else high
    if not spans or any(s.sure and (s.high < least or s.low > most) for s in spans):
        return "missed"
    return "met" if all(least <= s.low and s.high <= most for s in spans) else "undecided"


def _allowed(low: float | None, high: float | None, unit: str) -> str:
    numbers = f"at most {high:.4g}" if low is None else f"at least {low:.4g}"
    numbers = numbers if None in (low, high) else f"{low:.4g} to {high:.4g}"
    return f"{numbers} {unit}".rstrip()
