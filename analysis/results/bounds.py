"""What an acceptance bound holds to what: its value in a run, its limits, and its words."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from nashbed.controlplane.contract.bounds import AcceptanceBound, MetricReading
from nashbed.controlplane.contract.metrics import DISPLAY, MODE_UNITS, TOLD_UNITS
from nashbed.controlplane.contract.model import Number
from nashbed.controlplane.contract.queues import Memory
from nashbed.controlplane.contract.selection import SettingSelection
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import Duration, Rate, counted

from ..measures import Cell, RunMeasures
from ..metrics import METRICS
from ..metrics.mixes import rtt_order
from ..metrics.modes import told_in_trial
from ..nash.crossing_interval import CrossingInterval, mixes_between
from ..nash.of_run import SettingEquilibria
from ..state import strategy_totals
from .harm import harm_of_run

SHOWN = DISPLAY | {
    "1": (100.0, "%"),
    "x": (1.0, ""),
    "ratio": (1.0, ""),
    "harm": (1.0, ""),
    "flows": (1.0, "flows"),
    "mixes": (1.0, "mixes"),
}
"""Unit of a bound -> factor and unit in which it is shown."""
OF_ALL_FLOWS = ("throughput_share", "occupancy_share")
"""Metrics of which flows have a sum: others have a mean."""
OVER_ALL_MIXES = "mean_queueing_delay"
"""The metric that is a mean over mixes where none is named."""
EVERYWHERE = "mean over all mixes with every congestion control"
WORDS = {
    "throughput_share": "share of all {strategy} flows{group}",
    "throughput_ratio": "{strategy} by {over} per flow",
    "crossing": "where the lines cross",
    "equilibrium": "{strategy} flows{group} at the equilibrium",
    "equilibrium_count": "number of equilibria",
    "rtt_order": "{strategy} flows on the shortest base RTTs at the equilibrium",
    "harm": "harm by {by} in {of}",
}
"""Metric -> what is held to limits, where it is not the metric of some flows."""


class Span(NamedTuple):
    """What the measurement leaves open for one thing.

    Attributes:
        sure: Whether the thing surely is there.
    """

    low: Number
    high: Number
    sure: bool = True


class Reading(NamedTuple):
    """What a run says of a bound, in the bound's unit.

    Attributes:
        value: The value; None: there is none.
        detail: Where it comes from, or why there is none.
        spans: What is judged in the value's place, if anything: all must be within the limits.
    """

    value: float | None
    detail: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Where:
    """One setting of a run, to take values from."""

    measures: RunMeasures
    setting: Setting
    equilibria: SettingEquilibria

    def cells(self, bound: MetricReading) -> list[Cell]:
        """The cells of a bound's mix: without one, of all."""
        names, mix = self.measures.strategies, (bound.mix or {}).items()
        return [
            cell
            for cell in self.measures.cells(self.setting)
            if mix <= dict(zip(names, strategy_totals(cell.state), strict=True)).items()
        ]


def matches(selected: SettingSelection, setting: Setting) -> bool:
    """Whether a setting has all that a bound or a published series names."""
    several = setting.queues
    return (
        (selected.buffer is None or str(selected.buffer) == setting.buffer_label)
        and (selected.discipline is None or (selected.discipline, None) == (setting.queue, several))
        and (selected.shared_buffer is None or _shares_by(setting, selected.shared_buffer))
        and (selected.rate is None or selected.rate.bps == setting.rate_bps)
        and (selected.base_rtt is None or selected.base_rtt.ns == setting.base_rtt_ns[0])
        and (selected.random_loss is None or selected.random_loss.ppb == setting.random_loss_ppb)
        and (selected.kernel is None or selected.kernel == setting.kernel)
        and (selected.start is None or selected.start == setting.start)
        and (selected.duration is None or selected.duration.ns == setting.duration_ns)
        and (selected.count is None or (setting.flow_counts or (None,))[0] == selected.count)
    )


def _shares_by(setting: Setting, memory: Memory) -> bool:
    """Whether its queues share their memory so."""
    asked = memory.resolved(Rate(setting.rate_bps), Duration(setting.base_rtt_ns[0]))
    return setting.queues is not None and setting.queues.memory == asked


def read(bound: AcceptanceBound, where: Where) -> Reading:
    """What a run says of a bound at one setting."""
    return PARTICULAR.get(bound.metric, _measured)(bound, where)


def words(bound: MetricReading) -> str:
    """What is held to what."""
    whose = bound.strategy or ""
    group = "" if bound.group is None else f" of group {bound.group}"
    metric = bound.metric.replace("_", " ").replace(" rtt", " RTT")
    plain = metric + (f" of {whose}" if whose else "") + group
    of = (bound.of or "").replace("_", " ")
    said = WORDS.get(bound.metric, plain).format(
        strategy=whose, group=group, over=bound.over, by=bound.by, of=of
    )
    mode = "" if bound.mode is None else f" in {bound.mode}"
    after = "" if bound.after is None else f" after {bound.after}"
    return said + mode + after + _place(bound)


def _place(bound: MetricReading) -> str:
    if bound.mix is not None:
        return ", at " + " + ".join(f"{count} {name}" for name, count in bound.mix.items())
    if bound.metric == "throughput_ratio":
        return ", each alone"
    if bound.metric in PARTICULAR:
        return ""
    return f", {EVERYWHERE if bound.metric == OVER_ALL_MIXES else 'in every mix'}"


def _measured(bound: AcceptanceBound, where: Where) -> Reading:
    """The mean over a mix's trials; where no mix is named, that of the mix that is furthest out."""
    cells = where.cells(bound)
    overall = bound.mix is not None or bound.metric == OVER_ALL_MIXES
    if bound.mix is None and overall:
        cells = [cell for cell in cells if min(strategy_totals(cell.state)) > 0]
    found = [values for cell in cells if (values := [*values_of(cell, bound, where).values()])]
    if not found:
        return Reading(None, "not measured: no valid trial of this mix has such a value")
    if not all(math.isfinite(value) for values in found for value in values):
        return Reading(None, "not known in every trial: it did not come, or was not measured")
    means = [sum(values) / len(values) for values in found]
    which = f"of {counted(len(found), 'mix')}"
    if len(found) == 1:
        return Reading(means[0], f"mean of {counted(len(found[0]), 'trial')}")
    if overall:
        return Reading(sum(means) / len(means), f"mean {which}")
    low, high = bound.limits
    beyond = high is not None and max(means) > high
    below = low is not None and min(means) < low
    return Reading(min(means) if below and not beyond else max(means), f"the furthest {which}")


def values_of(cell: Cell, bound: MetricReading, where: Where) -> dict[int, float]:
    """Repetition of a mix -> the metric in it; empty where the mix has no such flow."""
    groups = [group.name for group in where.measures.run.scenario.flows]
    group = None if bound.group is None else groups.index(bound.group)
    if bound.metric in MODE_UNITS | TOLD_UNITS:
        chosen = ((each.trial, each.flow_mask(bound.strategy, group)) for each in cell.trials)
        return {
            trial.record.repetition: told_in_trial(bound, trial, flows)
            for trial, flows in chosen
            if flows.any()
        }
    return {
        trial.trial.record.repetition: (
            trial.total_of if bound.metric in OF_ALL_FLOWS else trial.value
        )(bound.metric, bound.strategy, group)
        for trial in cell.trials
        if METRICS[bound.metric].scope == "trial" or trial.flow_mask(bound.strategy, group).any()
    }


def _ratio(bound: AcceptanceBound, where: Where) -> Reading:
    total, means = where.measures.flows(where.setting), []
    for strategy in (bound.strategy, bound.over):
        mix = {strategy: total} if bound.mix is None else bound.mix
        one = {"metric": "per_flow_throughput", "strategy": strategy, "mix": mix}
        value, detail, _ = _measured(bound.model_copy(update=one), where)
        if value is None:
            return Reading(None, detail)
        means.append(value)
    if means[1] <= 0:
        return Reading(None, f"{bound.over} has no throughput")
    return Reading(means[0] / means[1], detail)


def _crossing(bound: AcceptanceBound, where: Where) -> Reading:
    """The first crossing, as published series are read."""
    crossings = where.equilibria.crossings
    if not crossings:
        return Reading(None, "the lines do not cross at the measured mixes")
    low, high = crossings[0].between
    place = f"between {low} and {high}" if low != high else f"at {low}"
    more = f"; the first of {len(crossings)} crossings" if len(crossings) > 1 else ""
    return Reading(crossings[0].at, place + more)


def _equilibrium(bound: AcceptanceBound, where: Where) -> Reading:
    """Take the equilibrium furthest from the middle of the allowed range."""
    spans, said = tuple(_equilibrium_spans(bound, where)), where.equilibria.summary()
    seconds = [end.place for end in _ends(where) if end.sure]
    found = [_of_strategy(bound, where, k) for k in seconds] or [span.low for span in spans]
    if not found:
        return Reading(None, said, spans)
    total = where.measures.flows(where.setting)
    low, high = bound.limits
    top = total if high is None else min(high, total)
    worst = max(found, key=lambda flows: abs(2 * flows - (low or 0) - top))
    return Reading(worst, said, spans)


def _equilibrium_spans(bound: AcceptanceBound, where: Where) -> list[Span]:
    """Flows of the bound's strategy at each equilibrium, from the fewest to the most with 95 %.

    Of a game of one group and two strategies these are the mixes in which nobody gains if the
    lead ends within its interval. Elsewhere, and without an interval, the equilibria of the means.
    """
    spans = []
    for end in _ends(where):
        pair = mixes_between(end.low, end.high, where.equilibria.flows)
        low, high = sorted(_of_strategy(bound, where, k) for k in pair)
        spans.append(Span(low, high, end.sure))
    if spans:
        return spans
    index = _index(bound, where)
    groups = where.measures.group_names
    chosen = [i for i, name in enumerate(groups) if bound.group in (None, name)]
    states = [v.state for v in where.equilibria.equilibria]
    counts = [float(sum(state[i][index] for i in chosen)) for state in states]
    return [Span(count, count) for count in counts]


def _ends(where: Where) -> tuple[CrossingInterval, ...]:
    ends = where.equilibria.ends
    return () if ends is None else ends.intervals


def _of_strategy(bound: AcceptanceBound, where: Where, second: float) -> float:
    """Flows of the second strategy as flows of the bound's."""
    return second if _index(bound, where) else where.equilibria.flows - second


def _index(bound: AcceptanceBound, where: Where) -> int:
    """The place of the bound's strategy among the run's."""
    assert bound.strategy is not None, "such bounds need one"
    return where.measures.strategies.index(bound.strategy)


def _equilibrium_count(bound: AcceptanceBound, where: Where) -> Reading:
    equilibria = where.equilibria
    if equilibria.undecided:
        return Reading(None, f"{counted(len(equilibria.undecided), 'mix')} undecided")
    return Reading(float(len(equilibria.equilibria)), equilibria.summary())


def _rtt_order(bound: AcceptanceBound, where: Where) -> Reading:
    """The equilibrium that is least in order counts."""
    index = _index(bound, where)
    sizes, rtts = where.measures.group_sizes(where.setting), where.setting.base_rtt_ns
    states = [v.state for v in where.equilibria.equilibria]
    shares = [rtt_order([group[index] for group in state], sizes, rtts) for state in states]
    known = [share for share in shares if math.isfinite(share)]
    if states and not known:
        return Reading(None, f"no {bound.strategy} flow at the equilibrium")
    return Reading(min(known, default=None), where.equilibria.summary())


def _harm(bound: AcceptanceBound, where: Where) -> Reading:
    for each in harm_of_run(where.measures):
        same = each.setting.label == where.setting.label
        if same and (each.metric, each.by) == (bound.of, bound.by):
            return Reading(each.harm.mean, f"mean of {counted(each.harm.n, 'repetition')}")
    return Reading(None, "not measured: the victim has no such metric alone and beside these flows")


PARTICULAR: dict[str, Callable[[AcceptanceBound, Where], Reading]] = {
    "throughput_ratio": _ratio,
    "crossing": _crossing,
    "equilibrium": _equilibrium,
    "equilibrium_count": _equilibrium_count,
    "rtt_order": _rtt_order,
    "harm": _harm,
}
"""Metric -> how it is read, where it is not one of trials or flows."""
