"""Two runs, or two settings: which means differ by more than chance, and how shares differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.course import start_label
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.store.errors import RunError

from ..measures import Cell, RunMeasures, measure_run
from ..metrics import METRICS
from ..metrics.statistics import SampleComparison, adjusted, compare_samples
from ..state import state_text
from ..text import rate_text, size_text
from .summary import estimate_dict

FLOW_METRICS = ("per_flow_throughput",)
TRIAL_METRICS = ("mean_queueing_delay", "p95_queueing_delay", "utilisation", "jain_index",
                 "loss_rate")  # fmt: skip
METRIC = "throughput_share"


@dataclass(frozen=True, kw_only=True)
class Comparison(SampleComparison):
    """One metric of one mix, in both runs.

    Attributes:
        setting: Label of the setting in the first run.
        against: Label of the setting in the second run.
        mix: The mix in words.
        metric: Name of the metric.
        strategy: Whose (None: of the whole trial).
        unit: Unit of the metric.
    """

    setting: str
    against: str
    mix: str
    metric: str
    strategy: str | None
    unit: str

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
        shares: Shares of the throughput at every mix that both have, repeated or not.
        left_out: Mixes that both have, but one of them without repetitions.
        unlike: Settings that both were asked for and applied differently, in words.
    """

    first: str
    second: str
    comparisons: tuple[Comparison, ...]
    shares: tuple[ShareComparison, ...]
    left_out: tuple[str, ...]
    unlike: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "first": self.first,
            "second": self.second,
            "comparisons": [c.to_dict() for c in self.comparisons],
            "share_summary": [each.to_dict() for each in summarise_shares(self.shares)],
            "shares": [share.to_dict() for share in self.shares],
            "left_out": list(self.left_out),
            "unlike": list(self.unlike),
        }


def compare_runs(
    first: Path, second: Path, setting: str | None = None, against: str | None = None
) -> RunComparison:
    """Compare what two runs measured at like settings and mixes, by Welch's test.

    Settings are alike if the applied rate, the applied buffer, the base RTTs and the random loss
    are, and the guest kernels where they were swept; or else if all of that was asked for alike,
    as one scenario asks different testbeds. Mixes are alike by their flows of each
    CCA. Without repetitions there are shares alone, and nothing is tested.

    Args:
        first: A run directory.
        second: Another one, or the same.
        setting: Only this setting of the first run.
        against: The setting of the second run to hold it against, alike or not (None: the
            one that is alike). Needs `setting`.

    Raises:
        RunError: A directory is not a readable run, there is no such setting, nothing is in
            both, or what is in both has neither repetitions nor mixed flows.
    """
    runs = measure_run(first), measure_run(second)
    if against is not None and setting is None:
        raise RunError("--against needs --setting: say which setting to compare with it")
    pairs = list(_pairs(runs, setting, against))
    names = str(first), str(second)
    if not pairs:
        raise RunError(f"{names[0]} and {names[1]} have no setting and mix in common")
    known = [p for p in pairs if min(len(c.trials) for c in p[0]) >= 2]
    shares = tuple(s for p in pairs for s in compare_shares(*p, _common(runs)))
    if not known and not shares:
        raise RunError(
            f"{names[0]} and {names[1]}: no mix has two valid trials in both, so a difference "
            "cannot be distinguished from chance; set `trials: 2` or more in the scenario and run "
            "again"
        )
    compared = [each for cells, mix in known for each in _compared(runs, cells, mix)]
    return RunComparison(
        first=runs[0].run.manifest.run,
        second=runs[1].run.manifest.run,
        comparisons=tuple(adjusted(compared)),
        shares=shares,
        left_out=tuple(f"{c[0].setting.label}: {mix}" for c, mix in pairs if (c, mix) not in known),
        unlike=() if against is not None else tuple(_unlike(runs, _settings(runs, setting, None))),
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
    found = [(one, _alike(runs, one)) for one in ours]
    return [(one, other) for one, other in found if other is not None]


def _alike(runs: tuple[RunMeasures, RunMeasures], one: Setting) -> Setting | None:
    """The second run's setting with what the first applied, or else with what it asked for."""
    for key in (_applied, _requested):
        for other in runs[1].run.settings:
            if key(runs[1], other) == key(runs[0], one):
                return other
    return None


def _unlike(
    runs: tuple[RunMeasures, RunMeasures], pairs: list[tuple[Setting, Setting]]
) -> Iterator[str]:
    for pair in pairs:
        if _applied(runs[0], pair[0]) != _applied(runs[1], pair[1]):
            texts = (
                f"{rate_text(run.applied_rate(s))}, {size_text(run.applied_buffer(s))}"
                for run, s in zip(runs, pair, strict=True)
            )
            yield f"{pair[0].label}: {' against '.join(texts)}"


def _named(run: RunMeasures, label: str) -> Setting:
    for setting in run.run.settings:
        if setting.label == label:
            return setting
    known = ", ".join(s.label for s in run.run.settings)
    raise RunError(f"{run.run.path}: has no setting {label!r}; there are {known}")


def _applied(run: RunMeasures, setting: Setting) -> object:
    return run.applied_rate(setting), run.applied_buffer(setting), _conditions(run, setting)


def _requested(run: RunMeasures, setting: Setting) -> object:
    return setting.rate_bps, setting.buffer_bytes, _conditions(run, setting)


def _conditions(run: RunMeasures, setting: Setting) -> object:
    """What a target applies as it is asked."""
    kernel = setting.kernel if run.run.scenario.sweep.kernel else ""
    start = None if setting.start is None else start_label(setting.start)
    return setting.base_rtt_ns, setting.random_loss_ppb, kernel, start


def _mix(run: RunMeasures, cell: Cell) -> str:
    return state_text(cell.state, run.strategies, run.group_names)


def _common(runs: tuple[RunMeasures, RunMeasures]) -> list[str]:
    """The strategies that both runs have."""
    return [s for s in runs[0].strategies if s in runs[1].strategies]


def _compared(
    runs: tuple[RunMeasures, RunMeasures], cells: tuple[Cell, Cell], mix: str
) -> Iterator[Comparison]:
    """Every metric that both cells have more than once."""
    of_flows = [(metric, strategy) for metric in FLOW_METRICS for strategy in _common(runs)]
    for metric, strategy in [*of_flows, *((metric, None) for metric in TRIAL_METRICS)]:
        values = [[t.value(metric, strategy) for t in cell.trials] for cell in cells]
        samples = compare_samples(values[0], values[1])
        if samples is not None and min(samples.first.n, samples.second.n) >= 2:
            yield Comparison(
                **vars(samples),
                setting=cells[0].setting.label,
                against=cells[1].setting.label,
                mix=mix,
                metric=metric,
                strategy=strategy,
                unit=METRICS[metric].unit,
            )


@dataclass(frozen=True)
class Spread:
    """A quantity over the repetitions of a mix.

    Attributes:
        mean: The mean.
        low: The smallest.
        high: The largest.
        n: Number of repetitions.
    """

    mean: float
    low: float
    high: float
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class ShareComparison:
    """The share of a strategy's flows together, at one mix of two runs.

    Attributes:
        setting: Label of the setting in the first run.
        against: Label of the setting in the second run.
        mix: The mix in words.
        strategy: Whose share.
        first: In the first run, 0 to 1.
        second: In the second run.
    """

    setting: str
    against: str
    mix: str
    strategy: str
    first: Spread
    second: Spread

    @property
    def difference(self) -> float:
        """The second run's mean less the first's."""
        return self.second.mean - self.first.mean

    @property
    def repeated(self) -> bool:
        """Whether both runs have a range: two trials or more."""
        return min(self.first.n, self.second.n) > 1

    @property
    def overlap(self) -> bool:
        """Whether the two runs' ranges have a value in common."""
        return self.first.low <= self.second.high and self.second.low <= self.first.high

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "setting": self.setting,
            "against": self.against,
            "mix": self.mix,
            "strategy": self.strategy,
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
            "difference": self.difference,
            "overlap": self.overlap,
        }


@dataclass(frozen=True)
class ShareSummary:
    """How far a strategy's shares are from each other in two runs, over the mixes of a setting.

    Attributes:
        setting: Label of the setting in the first run.
        against: Label of the setting in the second run.
        strategy: Whose share.
        mixes: Number of mixes.
        mean: Mean of the differences, second less first.
        mean_absolute: Mean of their absolute values.
        largest: The mix at which they differ most.
    """

    setting: str
    against: str
    strategy: str
    mixes: int
    mean: float
    mean_absolute: float
    largest: ShareComparison

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        largest = {"mix": self.largest.mix, "difference": self.largest.difference}
        return {**vars(self), "largest": largest}


def summarise_shares(shares: Sequence[ShareComparison]) -> list[ShareSummary]:
    """Summarise shares by setting and strategy, in their order.

    Args:
        shares: Shares at any number of mixes and settings.
    """
    grouped: dict[tuple[str, str, str], list[ShareComparison]] = {}
    for share in shares:
        grouped.setdefault((share.setting, share.against, share.strategy), []).append(share)
    return [
        ShareSummary(
            *key,
            mixes=len(group),
            mean=sum(s.difference for s in group) / len(group),
            mean_absolute=sum(abs(s.difference) for s in group) / len(group),
            largest=max(group, key=lambda s: abs(s.difference)),
        )
        for key, group in grouped.items()
    ]


def compare_shares(
    cells: tuple[Cell, Cell], mix: str, strategies: Sequence[str]
) -> list[ShareComparison]:
    """The shares at one mix: of every strategy but the first, for they add up to the whole.

    Args:
        cells: The mix in both runs.
        mix: The mix in words.
        strategies: The strategies that both runs have, in the order of the first run.

    Returns:
        One for each strategy that has flows there, and others beside it, in both runs.
    """
    shares = []
    for strategy in strategies[1:]:
        first, second = (_spread(cell, strategy) for cell in cells)
        if first is not None and second is not None:
            setting, against = (cell.setting.label for cell in cells)
            shares.append(ShareComparison(setting, against, mix, strategy, first, second))
    return shares


def _spread(cell: Cell, strategy: str) -> Spread | None:
    """The spread of a strategy's share; None where it has no flow, every flow, or no trial."""
    values = [
        trial.total_of(METRIC, strategy)
        for trial in cell.trials
        if not trial.flow_mask(strategy).all()
    ]
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return None
    return Spread(sum(known) / len(known), min(known), max(known), len(known))
