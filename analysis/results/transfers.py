"""Completion times and slowdowns of finite transfers, by flow group, strategy and size class."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from nashbed.controlplane.contract.trial import Setting

from ..measures import Cell, RunMeasures, TrialMeasures
from ..metrics.completion import CLASS_NAMES, STATISTICS, Completions, statistic
from ..metrics.statistics import Estimate, estimate
from ..state import State

Reading = Callable[[Completions], float]
ALL_SIZES = "all sizes"


def _slowdown(found: Completions, share: float) -> float:
    return float("nan") if found.slowdown is None else statistic(found.slowdown, share)


READINGS: dict[str, Reading] = {
    f"{prefix or 'mean'}_{name}": partial(read, share=share)
    for name, read in (
        ("s", lambda found, share: statistic(found.time_s, share)), ("slowdown", _slowdown)
    )
    for prefix, share, _ in STATISTICS
}  # fmt: skip
"""Name -> what is read of a trial's transfers of one kind and class."""


@dataclass(frozen=True)
class ClassOfTransfers:
    """Transfers of one group, strategy and size class in one mix.

    Attributes:
        transfers: How many arrived in the measured windows of all repetitions.
        readings: READINGS, each over the repetitions; None: not known.
    """

    setting: Setting
    state: State
    group: str
    strategy: str
    sizes: str
    transfers: int
    unfinished: int
    readings: dict[str, Estimate | None]


def transfers_of_run(measures: RunMeasures) -> list[ClassOfTransfers]:
    """Every class that has transfers, setting by setting and mix by mix; all sizes come last."""
    return [row for cell in measures.all_cells for row in _of_cell(measures, cell)]


def _of_cell(measures: RunMeasures, cell: Cell) -> Iterator[ClassOfTransfers]:
    trials = [trial for trial in cell.trials if trial.completions is not None]
    order = {name: index for index, name in enumerate(measures.strategies)}
    kinds = {kind for trial in trials for kind in _kinds(trial)}
    for group, strategy in sorted(kinds, key=lambda kind: (kind[0], order.get(kind[1], -1))):
        for index, sizes in enumerate([*CLASS_NAMES, ALL_SIZES]):
            found = [_chosen(trial, group, strategy, index) for trial in trials]
            counts = [len(each.time_s) for each in found]
            if not sum(counts):
                continue
            yield ClassOfTransfers(
                cell.setting,
                cell.state,
                measures.run.scenario.flows[group].name,
                strategy,
                sizes,
                sum(counts),
                sum(int(np.isinf(each.time_s).sum()) for each in found),
                {name: _estimate(read, found) for name, read in READINGS.items()},
            )


def _estimate(read: Reading, found: list[Completions]) -> Estimate | None:
    return estimate([read(each) for each in found], possible=(0, math.inf))


def _kinds(trial: TrialMeasures) -> set[tuple[int, str]]:
    """Group and strategy of the transfers' flows."""
    assert trial.completions is not None, "asked of trials with transfers"
    flows = np.unique(trial.completions.flow).tolist()
    return {(int(trial.group[flow]), trial.strategy[flow]) for flow in flows}


def _chosen(trial: TrialMeasures, group: int, strategy: str, index: int) -> Completions:
    """The transfers of a kind and a size class; beyond the last class, of all sizes."""
    found = trial.completions
    assert found is not None, "asked of trials with transfers"
    kind = (trial.group == group) & (np.array(trial.strategy) == strategy)
    which = kind[found.flow]
    return found.chosen(which if index == len(CLASS_NAMES) else which & (found.size_class == index))
