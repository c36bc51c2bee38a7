"""Compare two runs, or two settings: which means differ by more than chance?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.store.errors import RunError

from ..measures import Cell, RunMeasures, measure_run
from ..metrics import METRICS
from ..metrics.interval import Estimate, estimate
from ..metrics.welch import MeanDifference, holm, welch
from ..state import state_text
from .summary import estimate_dict

FLOW_METRICS = ("per_flow_throughput",)
TRIAL_METRICS = ("mean_queueing_delay", "p95_queueing_delay", "utilisation", "jain_index",
                 "loss_rate")  # fmt: skip
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class Comparison:
    """One metric of one mix, in both runs.

    Attributes:
        setting: Label of the setting in the first run.
        against: Label of the setting in the second run.
        mix: The mix in words.
        metric: Name of the metric.
        strategy: Whose (None: of the whole trial).
        unit: Unit of the metric.
        first: Mean of the first run.
        second: Mean of the second run.
        change: Second less first.
        p_adjusted: Its p value, adjusted (Holm) for the number of comparisons.
    """

    setting: str
    against: str
    mix: str
    metric: str
    strategy: str | None
    unit: str
    first: Estimate
    second: Estimate
    change: MeanDifference
    p_adjusted: float

    @property
    def differs(self) -> bool:
        """Whether the difference is more than chance, all comparisons considered."""
        return self.p_adjusted < SIGNIFICANCE

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "setting": self.setting,
            "against": self.against,
            "mix": self.mix,
            "metric": self.metric,
            "strategy": self.strategy,
            "unit": self.unit,
            "first": estimate_dict(self.first),
            "second": estimate_dict(self.second),
            "difference": self.change.difference,
            "ci95": self.change.half_width,
            "p": self.change.p,
            "p_adjusted": self.p_adjusted,
            "differs": self.differs,
        }


@dataclass(frozen=True)
class RunComparison:
    """Two runs compared.

    Attributes:
        first: Name of the first run.
        second: Name of the second run.
        comparisons: Every metric of every mix with repetitions in both.
        left_out: Mixes that both have, but one of them without repetitions.
    """

    first: str
    second: str
    comparisons: tuple[Comparison, ...]
    left_out: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "first": self.first,
            "second": self.second,
            "comparisons": [c.to_dict() for c in self.comparisons],
            "left_out": list(self.left_out),
        }


@dataclass(frozen=True)
class _Tested:
    """One comparison before its p value is adjusted."""

    cells: tuple[Cell, Cell]
    mix: str
    metric: str
    strategy: str | None
    means: tuple[Estimate, Estimate]
    change: MeanDifference


def compare_runs(
    first: Path, second: Path, setting: str | None = None, against: str | None = None
) -> RunComparison:
    """Compare what two runs measured at like settings and mixes, by Welch's test.

    Settings are alike if the applied rate, the applied buffer and the base RTTs are; mixes
    by their flows of each congestion control.

    Args:
        first: A run directory.
        second: Another one, or the same.
        setting: Only this setting of the first run.
        against: The setting of the second run to hold it against, alike or not (None: the
            one that is alike). Needs `setting`.

    Raises:
        RunError: A directory is not a readable run, there is no such setting, nothing is in
            both, or what is in both has no repetitions.
    """
    runs = measure_run(first), measure_run(second)
    if against is not None and setting is None:
        raise RunError("--against needs --setting: say which setting to compare with it")
    pairs = list(_pairs(runs, setting, against))
    names = str(first), str(second)
    if not pairs:
        raise RunError(f"{names[0]} and {names[1]} have no setting and mix in common")
    known = [p for p in pairs if min(len(c.trials) for c in p[0]) >= 2]
    if not known:
        raise RunError(
            f"{names[0]} and {names[1]}: no mix has two valid trials in both, so a difference cannot "
            "be distinguished from chance; set `trials: 2` or more in the scenario and run again"
        )
    tested = [t for cells, mix in known for t in _test(runs, cells, mix)]
    adjusted = holm([t.change.p for t in tested])
    return RunComparison(
        first=runs[0].run.manifest.run,
        second=runs[1].run.manifest.run,
        comparisons=tuple(_comparison(t, p) for t, p in zip(tested, adjusted, strict=True)),
        left_out=tuple(f"{c[0].setting.label}: {mix}" for c, mix in pairs if (c, mix) not in known),
    )


def _pairs(
    runs: tuple[RunMeasures, RunMeasures], setting: str | None, against: str | None
) -> Iterator[tuple[tuple[Cell, Cell], str]]:
    """Every mix that both runs have, with its name."""
    for one, other in _settings(runs, setting, against):
        there = {_mix(runs[1], cell): cell for cell in runs[1].cells(other)}
        for cell in runs[0].cells(one):
            mix = _mix(runs[0], cell)
            if mix in there:
                yield (cell, there[mix]), mix


def _settings(
    runs: tuple[RunMeasures, RunMeasures], setting: str | None, against: str | None
) -> list[tuple[Setting, Setting]]:
    ours = runs[0].run.settings if setting is None else (_named(runs[0], setting),)
    if against is not None:
        return [(ours[0], _named(runs[1], against))]
    alike = {_path(runs[1], s): s for s in runs[1].run.settings}
    return [(s, alike[_path(runs[0], s)]) for s in ours if _path(runs[0], s) in alike]


def _named(run: RunMeasures, label: str) -> Setting:
    for setting in run.run.settings:
        if setting.label == label:
            return setting
    known = ", ".join(s.label for s in run.run.settings)
    raise RunError(f"{run.run.path}: has no setting {label!r}; there are {known}")


def _path(run: RunMeasures, setting: Setting) -> tuple[int, int, tuple[int, ...]]:
    return run.applied_rate(setting), run.applied_buffer(setting), setting.base_rtt_ns


def _mix(run: RunMeasures, cell: Cell) -> str:
    return state_text(cell.state, run.strategies, run.group_names)


def _test(
    runs: tuple[RunMeasures, RunMeasures], cells: tuple[Cell, Cell], mix: str
) -> Iterator[_Tested]:
    both = [s for s in runs[0].strategies if s in runs[1].strategies]
    metrics = [(m, s) for m in FLOW_METRICS for s in both] + [(m, None) for m in TRIAL_METRICS]
    for metric, strategy in metrics:
        values = [[t.value(metric, strategy) for t in cell.trials] for cell in cells]
        change = welch(values[0], values[1])
        means = estimate(values[0]), estimate(values[1])
        if change is not None and means[0] is not None and means[1] is not None:
            yield _Tested(cells, mix, metric, strategy, (means[0], means[1]), change)


def _comparison(tested: _Tested, p_adjusted: float) -> Comparison:
    return Comparison(
        setting=tested.cells[0].setting.label,
        against=tested.cells[1].setting.label,
        mix=tested.mix,
        metric=tested.metric,
        strategy=tested.strategy,
        unit=METRICS[tested.metric].unit,
        first=tested.means[0],
        second=tested.means[1],
        change=tested.change,
        p_adjusted=p_adjusted,
    )
