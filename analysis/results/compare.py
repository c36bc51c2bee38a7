"""Two runs, or two settings: which means differ by more than chance, and how shares differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nashbed.controlplane.contract.course import start_label
from nashbed.controlplane.contract.model import ContractModel, JsonAnswer
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.store.errors import RunError

from ..measures import Cell, RunMeasures
from ..metrics import METRICS
from ..metrics.statistics import SampleComparison, adjusted, compare_samples
from ..state import state_text, strategy_totals
from ..text import rate_text, size_text

FLOW_METRICS = ("per_flow_throughput",)
TRIAL_METRICS = ("mean_queueing_delay", "p95_queueing_delay", "utilisation", "jain_index",
                 "loss_rate")  # fmt: skip
METRIC = "throughput_share"


class ComparedMetric(ContractModel):
    """What is compared.

    Attributes:
        setting: Label of the setting in the first run.
        against: Label of the setting in the second run.
        mix: The mix in words.
        metric: Name of the metric.
        strategy: Whose, by its name in the first run; null: of the whole trial.
        unit: Unit of the metric.
    """

    setting: str
    against: str
    mix: str
    metric: str
    strategy: str | None
    unit: str


class Comparison(SampleComparison, ComparedMetric):
    """One metric of one mix, in both runs."""


class Spread(ContractModel):
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

    def overlaps(self, other: Spread) -> bool:
        """Whether the two ranges have a value in common."""
        return self.low <= other.high and other.low <= self.high


class ShareComparison(ContractModel):
    """The share of a strategy's flows together, at one mix of two runs.

    Attributes:
        setting: Label of the setting in the first run.
        against: Label of the setting in the second run.
        mix: The mix in words.
        strategy: Whose share, by its name in the first run.
        first: In the first run, 0 to 1.
        second: In the second run.
        difference: The second run's mean less the first's.
        overlap: Whether the two runs' ranges have a value in common.
    """

    setting: str
    against: str
    mix: str
    strategy: str
    first: Spread
    second: Spread
    difference: float
    overlap: bool

    @property
    def repeated(self) -> bool:
        """Whether both runs have a range: two trials or more."""
        return min(self.first.n, self.second.n) > 1


class LargestDifference(ContractModel):
    """The mix at which shares differ most.

    Attributes:
        mix: The mix in words.
        difference: The difference there.
    """

    mix: str
    difference: float


class ShareSummary(ContractModel):
    """How far a strategy's shares are from each other in two runs, over the mixes of a setting.

    Attributes:
        setting: Label of the setting in the first run.
        against: Label of the setting in the second run.
        strategy: Whose share, by its name in the first run.
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
    largest: LargestDifference


class RunComparison(JsonAnswer):
    """Two runs compared, as `nashbed compare --json` answers it.

    Attributes:
        first: Name of the first run.
        second: Name of the second run.
        comparisons: Every metric of every mix with repetitions in both.
        share_summary: The shares summarised by setting and strategy.
        shares: Shares of the throughput at every mix that both have, repeated or not.
        left_out: Mixes that both have, but one of them without repetitions.
        unlike: Settings that both were asked for and applied differently, in words.
    """

    first: str
    second: str
    comparisons: tuple[Comparison, ...]
    share_summary: tuple[ShareSummary, ...]
    shares: tuple[ShareComparison, ...]
    left_out: tuple[str, ...]
    unlike: tuple[str, ...]


def compare_runs(
    first: RunMeasures,
    second: RunMeasures,
    setting: str | None = None,
    against: str | None = None,
    counterparts: Mapping[str, str] | None = None,
) -> RunComparison:
    """Compare what two runs measured at like settings and mixes, by Welch's test.

    Settings are alike if the applied rate, the applied buffer, the base RTTs and the random loss
    are, the numbers of flows, and guest kernels and lengths where they were swept; or else if all
    of that was asked for alike, as one scenario asks different testbeds. Mixes are alike by their
    flows of each CCA. Without repetitions there are shares alone, and nothing is tested.

    Args:
        setting: Only this setting of the first run.
        against: The setting of the second run to hold it against, alike or not (None: the
            one that is alike). Needs `setting`.
        counterparts: As `PairedRuns` has it.

    Raises:
        RunError: There is no such setting or strategy, nothing is in both, or what is in both has
            neither repetitions nor mixed flows.
    """
    both = paired_runs(first, second, setting, against, counterparts)
    pairs = both.mixes()
    if not pairs:
        raise RunError(f"{both.names} have no setting and mix in common")
    if not any(all(cell.trials for cell in cells) for cells, _ in pairs):
        raise RunError(
            f"{both.names}: no mix has a valid trial in both; the report of each says "
            "which gate refused"
        )
    known = [p for p in pairs if min(len(c.trials) for c in p[0]) >= 2]
    shares = tuple(s for p in pairs for s in compare_shares(*p, both.strategies))
    if not known and not shares:
        raise RunError(
            f"{both.names}: no mix has two valid trials in both, so a difference cannot be "
            "distinguished from chance; set `trials: 2` or more in the scenario and run again"
        )
    compared = [each for cells, mix in known for each in _compared(both, cells, mix)]
    return RunComparison(
        first=both.runs[0].run.manifest.run,
        second=both.runs[1].run.manifest.run,
        comparisons=tuple(adjusted(compared)),
        share_summary=tuple(summarise_shares(shares)),
        shares=shares,
        left_out=tuple(f"{c[0].setting.label}: {mix}" for c, mix in pairs if (c, mix) not in known),
        unlike=both.unlike(),
    )


@dataclass(frozen=True)
class PairedRuns:
    """Two runs, and which of their settings are held against each other.

    Attributes:
        settings: A setting of the first run, and the one of the second.
        setting: The one setting of the first run that was asked for; None: all.
        against: The setting of the second run that was asked for, alike or not; None: the alike.
        counterparts: Strategy of the first run -> that of the second which stands in its place.
            Only mixes with one of them are compared; every other strategy is held against its like.
    """

    runs: tuple[RunMeasures, RunMeasures]
    settings: tuple[tuple[Setting, Setting], ...]
    setting: str | None
    against: str | None
    counterparts: Mapping[str, str]

    @property
    def names(self) -> str:
        """Their directories."""
        return " and ".join(str(each.run.path) for each in self.runs)

    @property
    def strategies(self) -> list[tuple[str, str]]:
        """What both runs have, by its name in each, in the order of the first run."""
        pairs = [(name, self.counterpart(name)) for name in self.runs[0].strategies]
        return [pair for pair in pairs if pair[1] in self.runs[1].strategies]

    def counterpart(self, strategy: str) -> str:
        """The second run's strategy that one of the first is held against."""
        return self.counterparts.get(strategy, strategy)

    def mixes(self) -> list[tuple[tuple[Cell, Cell], str]]:
        """Every mix that both runs have, with its name."""
        return [found for pair in self.settings for found in self._mixes_of(*pair)]

    def _mixes_of(self, one: Setting, other: Setting) -> Iterator[tuple[tuple[Cell, Cell], str]]:
        there = {self._flows(1, cell): cell for cell in self._cells(1, other)}
        for cell in self._cells(0, one):
            like = there.get(self._flows(0, cell))
            if like is not None:
                texts = mix_text(self.runs[0], cell), mix_text(self.runs[1], like)
                yield (cell, like), " | ".join(dict.fromkeys(texts))

    def compared(self, index: int) -> list[Cell]:
        """The mixes of a run that are to be compared, whether the other has the like or not.

        Args:
            index: 0 for the first run, 1 for the second.
        """
        settings = self.runs[index].run.settings
        if self.setting is not None:
            settings = tuple(pair[index] for pair in self.settings)
        return [cell for each in settings for cell in self._cells(index, each)]

    def _cells(self, index: int, setting: Setting) -> list[Cell]:
        """The mixes of a setting; with counterparts those with the run's own alone of them."""
        cells = self.runs[index].cells(setting)
        if not self.counterparts:
            return cells
        sides = set(self.counterparts), set(self.counterparts.values())
        own, other = sides[index], sides[1 - index] - sides[index]
        mixes = [(cell, set(present(self.runs[index], cell))) for cell in cells]
        return [cell for cell, names in mixes if names & own and not names & other]

    def _flows(self, index: int, cell: Cell) -> object:
        """A mix, alike for both runs: the second's names, sorted, of the flows of each group."""
        names = self.runs[index].strategies
        if index == 0:
            names = tuple(map(self.counterpart, names))
        groups = (zip(names, counts, strict=True) for counts in cell.state)
        return tuple(tuple(sorted(pair for pair in group if pair[1])) for group in groups)

    def unlike(self) -> tuple[str, ...]:
        """Settings that both were asked for and applied differently, in words."""
        return () if self.against is not None else tuple(_unlike(self.runs, self.settings))


def paired_runs(
    first: RunMeasures,
    second: RunMeasures,
    setting: str | None,
    against: str | None,
    counterparts: Mapping[str, str] | None = None,
) -> PairedRuns:
    """Which settings of two runs are alike.

    Args:
        against: The setting of the second run to hold it against (None: the one that is alike).
            Needs `setting`.
        counterparts: As `PairedRuns` has it.

    Raises:
        RunError: There is no such setting or strategy.
    """
    runs = first, second
    if against is not None and setting is None:
        raise RunError(
            "against: say also which setting of the first run is compared with it (setting)"
        )
    names = counterparts or {}
    for run, strategies in zip(runs, (names, names.values()), strict=True):
        for name in strategies:
            if name not in run.strategies:
                known = ", ".join(run.strategies)
                raise RunError(f"{run.run.path}: has no strategy {name!r}; there are {known}")
    return PairedRuns(runs, tuple(_settings(runs, setting, against)), setting, against, names)


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
    lengths = any(run.run.scenario.sweep.duration for run in runs)
    long = runs[0].scenario_at(one).longest
    others = [
        other
        for other in runs[1].run.settings
        if not lengths or runs[1].scenario_at(other).longest == long
    ]
    for key in (_applied, _requested):
        for other in others:
            if key(runs[1], other) == key(runs[0], one):
                return other
    return None


def _unlike(
    runs: tuple[RunMeasures, RunMeasures], pairs: Sequence[tuple[Setting, Setting]]
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
    queue = setting.queue_label, setting.swept_text
    flows = run.group_sizes(setting)
    return setting.base_rtt_ns, setting.random_loss_ppb, queue, kernel, start, flows


def mix_text(run: RunMeasures, cell: Cell) -> str:
    """A mix in words."""
    return state_text(cell.state, run.strategies, run.group_names)


def present(run: RunMeasures, cell: Cell) -> list[str]:
    """The strategies that have flows in a mix, in the run's order."""
    totals = strategy_totals(cell.state)
    return [s for s, flows in zip(run.strategies, totals, strict=True) if flows]


def _compared(both: PairedRuns, cells: tuple[Cell, Cell], mix: str) -> Iterator[Comparison]:
    """Every metric that both cells have more than once."""
    of_flows = [(metric, names) for metric in FLOW_METRICS for names in both.strategies]
    for metric, names in [*of_flows, *((metric, (None, None)) for metric in TRIAL_METRICS)]:
        values = [
            [t.value(metric, name) for t in cell.trials]
            for cell, name in zip(cells, names, strict=True)
        ]
        samples = compare_samples(values[0], values[1])
        if samples is not None and min(samples.first.n, samples.second.n) >= 2:
            yield Comparison(
                **vars(samples),
                setting=cells[0].setting.label,
                against=cells[1].setting.label,
                mix=mix,
                metric=metric,
                strategy=names[0],
                unit=METRICS[metric].unit,
            )


def summarise_shares(shares: Sequence[ShareComparison]) -> list[ShareSummary]:
    """Summarise shares by setting and strategy, in their order."""
    grouped: dict[tuple[str, str, str], list[ShareComparison]] = {}
    for share in shares:
        grouped.setdefault((share.setting, share.against, share.strategy), []).append(share)
    return [
        ShareSummary(
            setting=setting,
            against=against,
            strategy=strategy,
            mixes=len(group),
            mean=sum(s.difference for s in group) / len(group),
            mean_absolute=sum(abs(s.difference) for s in group) / len(group),
            largest=_largest(group),
        )
        for (setting, against, strategy), group in grouped.items()
    ]


def _largest(shares: Sequence[ShareComparison]) -> LargestDifference:
    largest = max(shares, key=lambda share: abs(share.difference))
    return LargestDifference(mix=largest.mix, difference=largest.difference)


def compare_shares(
    cells: tuple[Cell, Cell], mix: str, strategies: Sequence[tuple[str, str]]
) -> list[ShareComparison]:
    """The shares at one mix: of every strategy but the first, for they add up to the whole.

    Args:
        strategies: What both runs have, by its name in each, in the order of the first run.

    Returns:
        One for each strategy that has flows there, and others beside it, in both runs.
    """
    shares = []
    for names in strategies[1:]:
        first, second = (_spread(*pair) for pair in zip(cells, names, strict=True))
        if first is not None and second is not None:
            setting, against = (cell.setting.label for cell in cells)
            shares.append(
                ShareComparison(
                    setting=setting,
                    against=against,
                    mix=mix,
                    strategy=names[0],
                    first=first,
                    second=second,
                    difference=second.mean - first.mean,
                    overlap=first.overlaps(second),
                )
            )
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
    return Spread(mean=sum(known) / len(known), low=min(known), high=max(known), n=len(known))
