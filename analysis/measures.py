"""Every metric of every valid trial of a run, and means over repetitions by setting and mix."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np
from nashbed.controlplane.contract.course import SettledDuration
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.steadiness import starts_agree
from nashbed.controlplane.contract.trial import Setting, scenario_at
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.finished_run import DamagedTrial, FinishedRun, once, open_run
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

from .align import load_trial
from .align.course import PathCourse
from .align.data import Bursts, TrialData
from .errors import NotMeasuredError
from .metrics import METRICS, metric_named
from .metrics.changes import ChangeResponse, responses_of
from .metrics.completion import Completions, completions_of
from .metrics.statistics import Estimate, estimate
from .metrics.throughput import SETTLED_WITHIN
from .state import State, mix_state, strategy_totals

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class TrialMeasures:
    """The metrics of one trial.

    Attributes:
        state: Its mix: for each group, flows of each of the scenario's strategies.
        strategy: Strategy of each flow, length F.
        group: Flow group of each flow, shape (F,).
        rate_bps: Applied rate.
        buffer_bytes: Applied buffer.
        per_flow: Metric -> values, shape (F,).
        total: Metric -> number.
        missing: Metric -> why this trial has no value.
        bursts: Bursts that came to one of several queues (None: there is one queue).
        completions: Its finite transfers (None: there are none).
        responses: What came after each change of its path.
        course: What its path does over time (None: nothing).
    """

    trial: SealedTrial
    state: State
    strategy: tuple[str, ...]
    group: NDArray[np.int64]
    rate_bps: int
    buffer_bytes: int
    per_flow: Mapping[str, FloatArray]
    total: Mapping[str, float]
    missing: Mapping[str, str]
    bursts: Bursts | None = None
    completions: Completions | None = None
    responses: tuple[ChangeResponse, ...] = ()
    course: PathCourse | None = None

    @property
    def settled(self) -> bool | None:
        """Whether who gets what was steady at the end (None: not measured).

        The record of a trial of eight ProbeRTT cycles and more says so; a shorter one is judged by
        its drift.
        """
        if self.trial.record.steadiness is not None:
            return self.trial.record.steadiness.settled
        drift = self.total.get("throughput_drift")
        return None if drift is None else abs(drift) <= SETTLED_WITHIN

    @property
    def mean_rate_bps(self) -> float:
        """What could come to the queue and over the link on average in the measured window."""
        record = self.trial.record
        mean = float(self.rate_bps)
        if self.course is not None:
            low, high = record.window_ns
            (bits,) = self.course.capacity_bits(np.array([low, high], np.int64))
            mean = float(bits) * NS_PER_S / (high - low)
        return record.applied.passed_bps(mean)

    @property
    def rate_varies(self) -> bool:
        """Whether the link's rate is not the same all the time."""
        return self.course is not None and self.course.rate_varies

    @property
    def limits(self) -> tuple[tuple[int, int], ...]:
        """From when on the queue's hard limit is how many bytes: (ns after t0, bytes)."""
        changes = self.trial.record.applied.changes
        return ((0, self.buffer_bytes), *((each.at_ns, each.limit_bytes) for each in changes))

    def flow_mask(self, strategy: str | None = None, group: int | None = None) -> NDArray[np.bool_]:
        """Which flows of the mix run a strategy and are of a group (None: any), shape (F,).

        Background is chosen by its group only.
        """
        mask = self.group < len(self.state) if group is None else np.ones(len(self.group), bool)
        if strategy is not None:
            mask &= np.array([name == strategy for name in self.strategy], dtype=bool)
        return mask if group is None else mask & (self.group == group)

    def value(self, metric: str, strategy: str | None = None, group: int | None = None) -> float:
        """A trial metric, or the mean of a flow metric over the chosen flows.

        Args:
            metric: Name of a registered metric.
            strategy: Only flows of this strategy.
            group: Only flows of this group.

        Returns:
            The value in the metric's unit; NaN if not measured or no flow is chosen.
        """
        if metric in self.total:
            return self.total[metric]
        if metric not in self.per_flow:
            return float("nan")
        values = self.per_flow[metric][self.flow_mask(strategy, group)]
        values = values[np.isfinite(values)]
        return float(values.mean()) if len(values) else float("nan")

    def total_of(self, metric: str, strategy: str | None = None, group: int | None = None) -> float:
        """Sum of a flow metric over the chosen flows; NaN if not measured or none."""
        mask = self.flow_mask(strategy, group)
        if metric not in self.per_flow or not mask.any():
            return float("nan")
        return float(self.per_flow[metric][mask].sum())


@dataclass(frozen=True)
class Cell:
    """The valid repetitions of one mix at one setting.

    Attributes:
        trials: The repetitions' measures; may be empty (all invalid, or not run yet).
    """

    setting: Setting
    state: State
    trials: tuple[TrialMeasures, ...]

    def estimate(
        self, metric: str, strategy: str | None = None, group: int | None = None
    ) -> Estimate | None:
        """Mean over the repetitions with n and 95 % interval; None where not measured.

        One trial is one observation: the flows of a trial are not independent, so their
        mean counts once.
        """
        values = [trial.value(metric, strategy, group) for trial in self.trials]
        return estimate(values, possible=metric_named(metric).possible)

    @property
    def unsettled(self) -> int:
        """How many repetitions had not settled at their end."""
        return sum(trial.settled is False for trial in self.trials)

    @property
    def marked(self) -> int:
        """How many repetitions have a mark."""
        return sum(bool(trial.trial.record.marks) for trial in self.trials)

    def flow_range(self, metric: str, strategy: str) -> tuple[float, float] | None:
        """Smallest and largest value of one flow of a strategy in any repetition."""
        chosen = [
            trial.per_flow[metric][trial.flow_mask(strategy)]
            for trial in self.trials
            if metric in trial.per_flow
        ]
        values = np.concatenate(chosen) if chosen else np.empty(0)
        values = values[np.isfinite(values)]
        return (float(values.min()), float(values.max())) if len(values) else None


@dataclass(frozen=True)
class RunMeasures:
    """The metrics of a run.

    Attributes:
        trials: Measures of the valid trials, sorted by id.
        damaged: Trials left out because a file could not be read.
    """

    run: FinishedRun
    trials: tuple[TrialMeasures, ...]
    damaged: tuple[DamagedTrial, ...]

    @property
    def strategies(self) -> tuple[str, ...]:
        """The scenario's strategies, in its order."""
        return tuple(self.run.scenario.strategies)

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of the mix's flow groups."""
        return tuple(group.name for group in self.run.scenario.mixed)

    def scenario_at(self, setting: Setting) -> Scenario:
        """The scenario with all that a setting sweeps beside the lane."""
        return self._scenarios[setting.label]

    def group_sizes(self, setting: Setting) -> tuple[int, ...]:
        """The numbers of flows of the mix's flow groups."""
        return tuple(group.count for group in self.scenario_at(setting).mixed)

    def flows(self, setting: Setting) -> int:
        """The number of flows of the mix."""
        return sum(self.group_sizes(setting))

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that have a place in tables and in the report."""
        had = {name for trial in self.trials for name in (*trial.per_flow, *trial.total)}
        return tuple(name for name, each in METRICS.items() if each.common or name in had)

    def applied_rate(self, setting: Setting) -> int:
        """The applied rate of a setting in bit/s (the requested one before any trial ran)."""
        return next((t.rate_bps for t in self._of(setting)), setting.rate_bps)

    def applied_buffer(self, setting: Setting) -> int:
        """The applied buffer of a setting in bytes (the requested one before any trial ran)."""
        return next((t.buffer_bytes for t in self._of(setting)), setting.buffer_bytes)

    def mean_rate(self, setting: Setting) -> float:
        """A trial's `mean_rate_bps`; before any ran, the requested rate."""
        return next((t.mean_rate_bps for t in self._of(setting)), float(setting.rate_bps))

    def fair_share(self, setting: Setting) -> float:
        """Mean rate / number of flows in bit/s: headers are in it, goodput is below it."""
        return self.mean_rate(setting) / self.flows(setting)

    def full_queue_ns(self, setting: Setting) -> float | None:
        """How long a full queue is in ns; None where its limit or the link's rate changes."""
        if any(t.rate_varies or len(t.limits) > 1 for t in self._of(setting)):
            return None
        return self.applied_buffer(setting) * 8 * NS_PER_S / self.applied_rate(setting)

    def cells(self, setting: Setting) -> list[Cell]:
        """The planned or run mixes of a setting, by number of flows of the later strategies."""
        measured: dict[State, list[TrialMeasures]] = {s: [] for s in self._planned(setting)}
        for trial in self._of(setting):
            measured.setdefault(trial.state, []).append(trial)
        ordered = sorted(measured, key=_mix_order)
        return [Cell(setting, state, tuple(measured[state])) for state in ordered]

    @property
    def all_cells(self) -> Iterator[Cell]:
        """The mixes of every setting, in the run's order."""
        return (cell for setting in self.run.settings for cell in self.cells(setting))

    def each_runs_alone(self, setting: Setting) -> bool:
        """Whether the mixes of a setting are three strategies or more, each only on its own."""
        flows = self.flows(setting)
        alone = all(max(strategy_totals(cell.state)) == flows for cell in self.cells(setting))
        return alone and len(self.strategies) > 2

    def is_settled(self, cell: Cell) -> bool:
        """Whether every repetition of a mix is known to have settled.

        A short trial's drift is no proof. Where trials run until they are settled, those from
        opposite starts must agree as well.
        """
        found = [(t.trial.record.repetition, t.trial.record.steadiness) for t in cell.trials]
        steady = [(number, each) for number, each in found if each is not None and each.settled]
        if not found or len(steady) < len(found):
            return False
        duration = self.scenario_at(cell.setting).duration
        if not isinstance(duration, SettledDuration):
            return True
        return starts_agree(steady, duration.within.fraction)

    def _of(self, setting: Setting) -> list[TrialMeasures]:
        return self._trials_by_setting.get(setting.label, [])

    def _planned(self, setting: Setting) -> Iterable[State]:
        return self._states_by_setting.get(setting.label, {})

    @cached_property
    def _scenarios(self) -> dict[str, Scenario]:
        return {s.label: scenario_at(self.run.scenario, s) for s in self.run.settings}

    @cached_property
    def _trials_by_setting(self) -> dict[str, list[TrialMeasures]]:
        trials: dict[str, list[TrialMeasures]] = {}
        for trial in self.trials:
            trials.setdefault(trial.trial.setting.label, []).append(trial)
        return trials

    @cached_property
    def _states_by_setting(self) -> dict[str, dict[State, None]]:
        """The mixes that were planned or run at each setting, once each.

        Of an adaptive run only those that were run: the others were never meant to be.
        """
        planned = [(p.setting, p.mix) for p in self.run.planned or ()]
        run = [(t.setting, t.record.mix) for t in self.run.trials]
        states: dict[str, dict[State, None]] = {}
        for setting, mix in [*planned, *run]:
            states.setdefault(setting.label, {})[mix_state(mix, self.strategies)] = None
        return states


def _mix_order(state: State) -> tuple[tuple[int, ...], State]:
    sums = tuple(sum(counts) for counts in zip(*state, strict=True))
    return tuple(reversed(sums)), state


def measure_trial(trial: SealedTrial, scenario: Scenario) -> TrialMeasures:
    """Compute every registered metric of a trial.

    Raises:
        RunError: A table of the trial is damaged.
    """
    data = load_trial(trial, scenario)
    per_flow: dict[str, FloatArray] = {}
    total: dict[str, float] = {}
    missing: dict[str, str] = {}
    for metric in METRICS.values():
        try:
            value = metric.compute(data)
        except NotMeasuredError as error:
            missing[metric.name] = str(error)
            continue
        if isinstance(value, np.ndarray):
            per_flow[metric.name] = value
        else:
            total[metric.name] = value
    return TrialMeasures(
        trial=trial,
        state=mix_state(trial.record.mix, tuple(scenario.strategies)),
        strategy=data.strategy,
        group=data.group,
        rate_bps=data.rate_bps,
        buffer_bytes=data.buffer_bytes,
        per_flow=per_flow,
        total=total,
        missing=missing,
        bursts=data.bursts,
        completions=_or_none(completions_of, data),
        responses=_or_none(responses_of, data) or (),
        course=data.course,
    )


Found = TypeVar("Found")


def _or_none(find: Callable[[TrialData], Found], data: TrialData) -> Found | None:
    try:
        return find(data)
    except NotMeasuredError:
        return None


OnStep = Callable[[str, int, int], None]
"""Called before each step of what takes long: what is done, how many are, and of how many."""
Item = TypeVar("Item")


def silent(_what: str, _done: int, _total: int) -> None:
    """Tell nobody."""


def each_step(what: str, items: Sequence[Item], on_step: OnStep) -> Iterator[Item]:
    """The items one by one, each told before it."""
    for done, item in enumerate(items):
        on_step(what, done, len(items))
        yield item


def measure_run(run_dir: Path, on_step: OnStep = silent) -> RunMeasures:
    """Open a run and compute every metric of its valid trials.

    The result is kept in memory until the run directory changes, so that the summary, the
    equilibria, the acceptance check and the report of one command read the tables once.

    Raises:
        RunError: The directory is not a readable run.
    """
    path = run_dir.resolve()
    return _measured(_opened(path, _fingerprint(path)), on_step)


def _fingerprint(path: Path) -> tuple[tuple[str, int], ...]:
    """What changes when a trial is sealed or removed, or a document is rewritten."""
    files = [
        path / "manifest.json",
        path / "scenario.yaml",
        path / "plan.json",
        path / "failures.json",
    ]
    files += sorted((path / "trials").glob("*/*")) if (path / "trials").is_dir() else []
    return tuple((str(f), f.stat().st_mtime_ns) for f in files if f.exists())


@lru_cache(maxsize=2)
def _opened(path: Path, _fingerprint: tuple[tuple[str, int], ...]) -> FinishedRun:
    return open_run(path)


@once
def _measured(run: FinishedRun, on_step: OnStep) -> RunMeasures:
    measured: list[TrialMeasures] = []
    broken = list(run.damaged)
    for trial in each_step("trials measured", run.valid_trials, on_step):
        try:
            trial.check()
            measured.append(measure_trial(trial, run.scenario))
        except RunError as error:
            broken.append(DamagedTrial(trial.id, error.message))
    return RunMeasures(run, tuple(measured), tuple(broken))
