"""Harm in a run whose mixes show it: what each strategy does to a victim, against its own kind.

Source: Ware, Mukerjee, Seshan, Sherry, "Beyond Jain's Fairness Index: Setting the Bar For The
Deployment of Congestion Control Algorithms", HotNets 2019: a new algorithm may be deployed if it
does the victim no more harm than what is deployed already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from nashbed.controlplane.contract.harm import HarmedMetric, HarmMixes
from nashbed.controlplane.contract.trial import Setting

from ..align.traffic import who_always_sends
from ..measures import Cell, RunMeasures, TrialMeasures
from ..metrics.harm import harm_of_less, harm_of_more
from ..metrics.statistics import Estimate, estimate
from ..state import State, strategy_totals

Verdict = Literal["less", "as much", "more"]
HARMED: dict[HarmedMetric, Callable[[float, float], float]] = {
    "per_flow_throughput": harm_of_more,
    "mean_rtt": harm_of_less,
    "per_flow_loss_rate": harm_of_less,
    "flow_completion_time": harm_of_less,
    "p99_flow_completion_time": harm_of_less,
    "p95_one_way_delay": harm_of_less,
    "p99_one_way_delay": harm_of_less,
    "datagram_loss_rate": harm_of_less,
    "video_bitrate": harm_of_more,
    "rebuffering_share": harm_of_less,
}
"""Metric of the victim -> how harm is computed of it; a run has those that its victim has."""
YARDSTICKS = ("cubic", "reno")
"""What is deployed, besides the victim's own kind."""


@dataclass(frozen=True)
class Harm:
    """What one strategy does to a victim, by one metric.

    Attributes:
        victim: The victim: a strategy, or a flow group.
        by: The strategy of the flows beside it.
        harm: The harm, by repetition: each is held against the same repetition alone.
    """

    setting: Setting
    victim: str
    by: str
    metric: str
    alone: Estimate
    beside: Estimate
    harm: Estimate

    def against(self, other: Harm) -> Verdict | None:
        """Whether this is more harm than another; None where there is no interval to tell by."""
        return compared(self.harm, other.harm)


def compared(found: Estimate, other: Estimate) -> Verdict | None:
    """Whether one mean is more than another; None where there is no interval to tell by."""
    if found.ci95 is None or other.ci95 is None:
        return None
    apart = found.mean - other.mean
    if abs(apart) <= found.ci95 + other.ci95:
        return "as much"
    return "more" if apart > 0 else "less"


def harm_of_run(measures: RunMeasures) -> list[Harm]:
    """What each strategy does to the victim, at every setting and by every metric of it.

    Returns:
        Setting by setting, metric by metric; the victim's own kind comes first. Empty unless the
        scenario's mixes are those of a victim.
    """
    mixes = measures.run.scenario.sweep.mixes
    if not isinstance(mixes, HarmMixes):
        return []
    return [harm for setting in measures.run.settings for harm in _of_setting(measures, setting)]


def _of_setting(measures: RunMeasures, setting: Setting) -> Iterator[Harm]:
    mixes = measures.run.scenario.sweep.mixes
    assert isinstance(mixes, HarmMixes), "asked only of such runs"
    victim, read = mixes.harm_to, _reader(measures, mixes)
    alone_mix, *others = (
        _state(measures, mix) for mix in mixes.mixes(measures.strategies, measures.flows(setting))
    )
    cells = {cell.state: cell for cell in measures.cells(setting)}
    alone = cells.get(alone_mix)
    for metric, harm in HARMED.items():
        if metric == "per_flow_throughput" and not _always_sends(measures, victim):
            continue
        for state in others if alone is not None else ():
            cell, by = cells.get(state), _beside(measures, mixes, state)
            if cell is None or alone is None:
                continue
            found = _harm(alone, cell, partial(read, metric), harm)
            if found is not None:
                yield Harm(setting, victim, by, metric, *found)


def _always_sends(measures: RunMeasures, victim: str) -> bool:
    """Whether the victim would send more if it could: else throughput is no metric of it."""
    groups = measures.run.scenario.flows
    mask = who_always_sends(measures.run.scenario, np.arange(len(groups)))
    limited = [] if mask is None else np.flatnonzero(~mask).tolist()
    return victim not in {groups[index].name for index in limited}


def _reader(measures: RunMeasures, mixes: HarmMixes) -> Callable[[str, TrialMeasures], float]:
    """How a metric of the victim is read of a trial."""
    if mixes.harm_to in measures.strategies:
        return lambda metric, trial: (
            float("nan") if metric in trial.total else trial.value(metric, mixes.harm_to)
        )
    group = [each.name for each in measures.run.scenario.flows].index(mixes.harm_to)
    return lambda metric, trial: trial.value(metric, group=group)


def _state(measures: RunMeasures, mix: dict[str, int]) -> State:
    return (tuple(mix.get(strategy, 0) for strategy in measures.strategies),)


def _beside(measures: RunMeasures, mixes: HarmMixes, state: State) -> str:
    """The strategy of the flows beside the victim."""
    totals = dict(zip(measures.strategies, strategy_totals(state), strict=True))
    present = [name for name, count in totals.items() if count]
    own = mixes.harm_to
    return own if present == [own] else next(name for name in present if name != own)


def _harm(
    alone: Cell,
    beside: Cell,
    read: Callable[[TrialMeasures], float],
    harm: Callable[[float, float], float],
) -> tuple[Estimate, Estimate, Estimate] | None:
    """Alone, beside, and the harm; None where one of them was not measured."""
    without = {t.trial.record.repetition: read(t) for t in alone.trials}
    with_them = {t.trial.record.repetition: read(t) for t in beside.trials}
    both = [
        harm(without[number], value) for number, value in with_them.items() if number in without
    ]
    found = [estimate(list(each)) for each in (without.values(), with_them.values(), both)]
    if any(each is None for each in found):
        return None
    first, second, third = found
    assert first is not None and second is not None and third is not None, "none is missing"
    return first, second, third


def yardsticks(harm: Harm, found: list[Harm]) -> dict[str, Harm]:
    """The harm that the victim's own kind, CUBIC and Reno do in the place of others."""
    alike = [
        each
        for each in found
        if each.metric == harm.metric and each.setting.label == harm.setting.label
    ]
    names = dict.fromkeys((harm.victim, *YARDSTICKS))
    return {each.by: each for each in alike if each.by in names}
