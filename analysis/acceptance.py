"""Hold a run to its scenario's acceptance bounds."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.scenario import (
    AcceptanceBound,
    CrossingBound,
    QueueingDelayBound,
    ThroughputBound,
)
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import NS_PER_S, Buffer

from .measures import Cell, RunMeasures, measure_run
from .metrics.crossing import Crossing
from .nash import SettingEquilibria
from .nash.of_run import equilibria_of_measures
from .state import strategy_totals
from .text import rate_text


@dataclass(frozen=True)
class AcceptanceResult:
    """The verdict on one bound at one setting.

    Attributes:
        metric: The bound's metric.
        setting: Label of the setting (empty: none matches).
        description: What is held to what, in words.
        value: What was measured, in `unit`; None if it was not.
        low: Smallest allowed value.
        high: Largest allowed value.
        unit: Unit of the three.
        passed: Whether it was measured and lies within the bounds.
        detail: Number of trials, or why there is no value.
    """

    metric: str
    setting: str
    description: str
    value: float | None
    low: float
    high: float
    unit: str
    passed: bool
    detail: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def check(run_dir: Path) -> list[AcceptanceResult]:
    """Check every bound of the run's scenario, at every setting that it names.

    A bound without a `buffer` holds at every setting. What could not be measured is not
    passed.

    Args:
        run_dir: A run directory.

    Returns:
        The results, in the scenario's order; empty if it has no bounds.

    Raises:
        RunError: The directory is not a readable run.
    """
    measures = measure_run(run_dir)
    return check_measures(measures, equilibria_of_measures(measures))


def check_measures(
    measures: RunMeasures, equilibria: list[SettingEquilibria]
) -> list[AcceptanceResult]:
    """Check measured trials."""
    results = []
    for bound in measures.run.scenario.acceptance:
        settings = [s for s in measures.run.settings if _matches(bound.buffer, s)]
        results += [_check(bound, measures, setting, equilibria) for setting in settings]
        if not settings:
            results.append(_result(bound, "", None, "no setting of the run has this buffer"))
    return results


def _matches(buffer: Buffer | None, setting: Setting) -> bool:
    return buffer is None or str(buffer) == setting.buffer_label


def _check(
    bound: AcceptanceBound,
    measures: RunMeasures,
    setting: Setting,
    equilibria: list[SettingEquilibria],
) -> AcceptanceResult:
    if isinstance(bound, CrossingBound):
        found = next(e for e in equilibria if e.setting.label == setting.label)
        return _result(bound, setting.label, *_crossing(found.crossings))
    cells = [c for c in measures.cells(setting) if _has_mix(c, bound.mix, measures.strategies)]
    if isinstance(bound, ThroughputBound):
        values = [v for c in cells for v in _values(c, "per_flow_throughput", bound.strategy)]
        value, detail = _mean(values, "trial")
        return _result(bound, setting.label, None if value is None else value / 1e6, detail)
    means = [c.estimate("mean_queueing_delay") for c in cells]
    value, detail = _mean([e.mean for e in means if e is not None], "mix")
    return _result(bound, setting.label, None if value is None else value * 1e3, detail)


def _has_mix(cell: Cell, mix: dict[str, int] | None, strategies: tuple[str, ...]) -> bool:
    """Whether a cell is of a bound's mix; None means that every strategy has a flow."""
    totals = dict(zip(strategies, strategy_totals(cell.state), strict=True))
    if mix is None:
        return min(totals.values()) > 0
    return all(totals[name] == count for name, count in mix.items())


def _values(cell: Cell, metric: str, strategy: str) -> list[float]:
    values = [trial.value(metric, strategy) for trial in cell.trials]
    return [value for value in values if math.isfinite(value)]


def _mean(values: list[float], of: str) -> tuple[float | None, str]:
    if not values:
        return None, "not measured: no valid trial of this mix has it"
    plural = "es" if of == "mix" else "s"
    return sum(values) / len(values), f"mean of {len(values)} {of}{plural * (len(values) > 1)}"


def _crossing(found: tuple[Crossing, ...]) -> tuple[float | None, str]:
    """The first crossing, as published series are read."""
    if not found:
        return None, "the lines do not cross at the measured mixes"
    low, high = found[0].between
    said = f"between {low} and {high}" if low != high else f"at {low}"
    more = f"; the first of {len(found)} crossings" if len(found) > 1 else ""
    return found[0].at, said + more


def _result(
    bound: AcceptanceBound, setting: str, value: float | None, detail: str
) -> AcceptanceResult:
    low, high, unit = _limits(bound)
    passed = value is not None and low <= value <= high
    said = _describe(bound)
    return AcceptanceResult(bound.metric, setting, said, value, low, high, unit, passed, detail)


def _limits(bound: AcceptanceBound) -> tuple[float, float, str]:
    if isinstance(bound, ThroughputBound):
        expect, part = bound.expect.bps / 1e6, bound.tolerance.fraction
        return expect * (1 - part), expect * (1 + part), "Mbit/s"
    if isinstance(bound, QueueingDelayBound):
        return bound.min.ns / NS_PER_S * 1e3, bound.max.ns / NS_PER_S * 1e3, "ms"
    return bound.expect - bound.tolerance, bound.expect + bound.tolerance, "flows"


def _describe(bound: AcceptanceBound) -> str:
    if isinstance(bound, CrossingBound):
        return f"lines cross at {bound.expect:g} ± {bound.tolerance:g} flows"
    if isinstance(bound, QueueingDelayBound):
        everywhere = "mean over all mixes with every congestion control"
        where = everywhere if bound.mix is None else _mix_text(bound.mix)
        return f"mean queueing delay {bound.min} to {bound.max}, {where}"
    expect = rate_text(bound.expect.bps)
    return f"{bound.strategy} per flow {expect} ± {bound.tolerance}, {_mix_text(bound.mix)}"


def _mix_text(mix: dict[str, int]) -> str:
    return "at " + " + ".join(f"{count} {name}" for name, count in mix.items())
