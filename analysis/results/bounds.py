"""What an acceptance bound holds to what: its value in a run, its limits, and its words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from nashbed.controlplane.contract.bounds import (
    AcceptanceBound,
    BitrateBound,
    BurstBound,
    CrossingBound,
    DelayBound,
    EquilibriumBound,
    EquilibriumCountBound,
    HarmBound,
    LossBound,
    PartBound,
    RatioBound,
    RttBound,
    RttOrderBound,
    ShareBound,
    SlowdownBound,
    ThroughputBound,
    TimeBound,
    TrafficBound,
)
from nashbed.controlplane.contract.model import Number
from nashbed.controlplane.contract.queues import Memory
from nashbed.controlplane.contract.selection import SettingSelection
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import Duration, Rate, counted

from ..measures import Cell, RunMeasures, TrialMeasures
from ..metrics.mixes import rtt_order
from ..nash.crossing_interval import CrossingInterval, mixes_between
from ..nash.of_run import SettingEquilibria
from ..state import strategy_totals
from ..text import rate_text
from .harm import harm_of_run

Value = tuple[float | None, str]
"""A value in its shown unit (None: there is none), and where it comes from."""


class Span(NamedTuple):
    """What the measurement leaves open for one thing.

    Attributes:
        low: Lowest value.
        high: Highest value.
        sure: Whether the thing surely is there.
    """

    low: Number
    high: Number
    sure: bool = True


Limits = tuple[float, float | None, str]
"""Smallest and largest allowed value (None: no bound), and their unit."""

EVERYWHERE = "mean over all mixes with every congestion control"


@dataclass(frozen=True)
class Where:
    """One setting of a run, to take values from."""

    measures: RunMeasures
    setting: Setting
    equilibria: SettingEquilibria

    def cells(self, mix: dict[str, int] | None) -> list[Cell]:
        """The cells of a mix; None: of every mix in which each strategy has a flow."""
        names = self.measures.strategies
        return [c for c in self.measures.cells(self.setting) if _has_mix(c, mix, names)]

    def trials(self, mix: dict[str, int] | None) -> list[TrialMeasures]:
        """The counted trials of a mix."""
        return [trial for cell in self.cells(mix) for trial in cell.trials]


@dataclass(frozen=True)
class Reading:
    """How bounds of one kind are read.

    Attributes:
        value: (bound, where) -> value.
        limits: Bound -> limits.
        words: Bound -> what is held to what.
        spans: (bound, where) -> the spans that are judged in the value's place, each of which must
            be within the limits; none: the value is judged.
    """

    value: Callable[[Any, Where], Value]
    limits: Callable[[Any], Limits]
    words: Callable[[Any], str]
    spans: Callable[[Any, Where], list[Span]] = lambda bound, where: []


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
    )


def _shares_by(setting: Setting, memory: Memory) -> bool:
    """Whether its queues share their memory so."""
    asked = memory.resolved(Rate(setting.rate_bps), Duration(setting.base_rtt_ns[0]))
    return setting.queues is not None and setting.queues.memory == asked


def reading_of(bound: AcceptanceBound) -> Reading:
    """How a bound is read."""
    return READINGS[type(bound)]


def _has_mix(cell: Cell, mix: dict[str, int] | None, strategies: tuple[str, ...]) -> bool:
    totals = dict(zip(strategies, strategy_totals(cell.state), strict=True))
    if mix is None:
        return min(totals.values()) > 0
    return all(totals[name] == count for name, count in mix.items())


def _mean(values: Iterable[float], scale: float = 1.0, of: str = "trial") -> Value:
    known = [v for v in values if math.isfinite(v)]
    if not known:
        return None, "not measured: no valid trial of this mix has a value"
    return sum(known) / len(known) * scale, f"mean of {counted(len(known), of)}"


def _throughput(bound: ThroughputBound, where: Where) -> Value:
    trials = where.trials(bound.mix)
    return _mean((t.value("per_flow_throughput", bound.strategy) for t in trials), 1e-6)


def _throughput_limits(bound: ThroughputBound) -> Limits:
    expect, part = bound.expect.bps / 1e6, bound.tolerance.fraction
    return expect * (1 - part), expect * (1 + part), "Mbit/s"


def _throughput_words(bound: ThroughputBound) -> str:
    expect = rate_text(bound.expect.bps)
    return f"{bound.strategy} per flow {expect} ± {bound.tolerance}, {_mix_text(bound.mix)}"


def _delay(bound: DelayBound, where: Where) -> Value:
    means = [c.estimate("mean_queueing_delay") for c in where.cells(bound.mix)]
    return _mean((e.mean for e in means if e is not None), 1e3, "mix")


def _delay_words(bound: DelayBound) -> str:
    place = EVERYWHERE if bound.mix is None else _mix_text(bound.mix)
    return f"mean queueing delay {bound.min} to {bound.max}, {place}"


def _rtt(bound: RttBound, where: Where) -> Value:
    trials = where.trials(bound.mix)
    return _mean((t.value(bound.metric, bound.strategy) for t in trials), 1e3)


def _rtt_limits(bound: RttBound) -> Limits:
    high = None if bound.max is None else bound.max.seconds * 1e3
    return bound.min.seconds * 1e3, high, "ms"


def _rtt_words(bound: RttBound) -> str:
    return f"{bound.strategy}'s {bound.metric.replace('_rtt', ' RTT')}, {_mix_text(bound.mix)}"


def _share(bound: ShareBound, where: Where) -> Value:
    return _mean((t.total_of("throughput_share", bound.strategy) for t in where.trials(bound.mix)),
                 100)  # fmt: skip


def _share_limits(bound: ShareBound | LossBound | PartBound) -> Limits:
    return bound.min.fraction * 100, bound.max.fraction * 100, "%"


def _share_words(bound: ShareBound) -> str:
    return f"share of all {bound.strategy} flows, {_mix_text(bound.mix)}"


def _loss(bound: LossBound, where: Where) -> Value:
    return _mean((t.value(bound.metric) for t in where.trials(bound.mix)), 100)


def _loss_words(bound: LossBound) -> str:
    return f"{bound.metric.replace('_', ' ')}, {_mix_text(bound.mix)}"


def _ratio(bound: RatioBound, where: Where) -> Value:
    total = sum(where.measures.group_sizes)
    means = []
    for strategy in (bound.strategy, bound.over):
        mix = {strategy: total} if bound.mix is None else bound.mix
        trials = where.trials(mix)
        value, detail = _mean(t.value("per_flow_throughput", strategy) for t in trials)
        if value is None:
            return None, detail
        means.append(value)
    ratio = means[0] / means[1] if means[1] > 0 else None
    return ratio, detail if ratio is not None else f"{bound.over} has no throughput"


def _ratio_words(bound: RatioBound) -> str:
    place = "each alone" if bound.mix is None else _mix_text(bound.mix)
    return f"{bound.strategy} by {bound.over} per flow, {place}"


def _crossing(bound: CrossingBound, where: Where) -> Value:
    """The first crossing, as published series are read."""
    crossings = where.equilibria.crossings
    if not crossings:
        return None, "the lines do not cross at the measured mixes"
    low, high = crossings[0].between
    place = f"between {low} and {high}" if low != high else f"at {low}"
    more = f"; the first of {len(crossings)} crossings" if len(crossings) > 1 else ""
    return crossings[0].at, place + more


def _crossing_limits(bound: CrossingBound) -> Limits:
    return bound.expect - bound.tolerance, bound.expect + bound.tolerance, "flows"


def _crossing_words(bound: CrossingBound) -> str:
    return f"lines cross at {bound.expect:g} ± {bound.tolerance:g} flows"


def _equilibrium(bound: EquilibriumBound, where: Where) -> Value:
    """Take the equilibrium furthest from the middle of the allowed range."""
    found = _estimates(bound, where)
    if not found:
        return None, where.equilibria.summary()
    top = min(bound.max, sum(where.measures.group_sizes))
    worst = max(found, key=lambda flows: abs(2 * flows - bound.min - top))
    return worst, where.equilibria.summary()


def _estimates(bound: EquilibriumBound, where: Where) -> list[float]:
    """Flows of the bound's strategy at each equilibrium, as it is estimated."""
    ends = _ends(where)
    if not ends:
        return [span.low for span in _equilibrium_spans(bound, where)]
    flows = where.equilibria.flows
    seconds = [i.place for i in ends if i.sure]
    return [_of_strategy(bound, where, k, flows) for k in seconds]


def _equilibrium_spans(bound: EquilibriumBound, where: Where) -> list[Span]:
    """Flows of the bound's strategy at each equilibrium, from the fewest to the most with 95 %.

    Of a game of one group and two strategies these are the mixes in which nobody gains if the
    lead ends within its interval. Elsewhere, and without an interval, the equilibria of the means.
    """
    ends, flows = _ends(where), where.equilibria.flows
    spans = []
    for end in ends:
        pair = mixes_between(end.low, end.high, flows)
        low, high = sorted(_of_strategy(bound, where, k, flows) for k in pair)
        spans.append(Span(low, high, end.sure))
    if spans:
        return spans
    index = where.measures.strategies.index(bound.strategy)
    groups = where.measures.group_names
    chosen = [i for i, name in enumerate(groups) if bound.group in (None, name)]
    states = [v.state for v in where.equilibria.equilibria]
    counts = [float(sum(state[i][index] for i in chosen)) for state in states]
    return [Span(count, count) for count in counts]


def _ends(where: Where) -> tuple[CrossingInterval, ...]:
    ends = where.equilibria.ends
    return () if ends is None else ends.intervals


def _of_strategy(bound: EquilibriumBound, where: Where, second: float, flows: int) -> float:
    """Flows of the second strategy as flows of the bound's."""
    return second if bound.strategy == where.measures.strategies[1] else flows - second


def _count_limits(bound: EquilibriumBound | EquilibriumCountBound) -> Limits:
    return float(bound.min), float(bound.max), "flows"


def _equilibrium_words(bound: EquilibriumBound) -> str:
    place = "" if bound.group is None else f" of group {bound.group}"
    return f"{bound.strategy} flows{place} at the equilibrium"


def _equilibrium_count(bound: EquilibriumCountBound, where: Where) -> Value:
    equilibria = where.equilibria
    if equilibria.undecided:
        return None, f"{counted(len(equilibria.undecided), 'mix')} undecided"
    return float(len(equilibria.equilibria)), equilibria.summary()


def _rtt_order(bound: RttOrderBound, where: Where) -> Value:
    """The equilibrium that is least in order counts."""
    index = where.measures.strategies.index(bound.strategy)
    sizes, rtts = where.measures.group_sizes, where.setting.base_rtt_ns
    states = [v.state for v in where.equilibria.equilibria]
    shares = [rtt_order([group[index] for group in state], sizes, rtts) for state in states]
    known = [share for share in shares if math.isfinite(share)]
    if states and not known:
        return None, f"no {bound.strategy} flow at the equilibrium"
    return (min(known) * 100 if known else None), where.equilibria.summary()


def _traffic(scale: float) -> Callable[[TrafficBound, Where], Value]:
    """The value of the mix that is furthest out; without one in any trial there is none."""

    def read(bound: Any, where: Where) -> Value:
        cells = [c for c in where.measures.cells(where.setting) if _in_bound(c, bound, where)]
        values = [
            [t.value(bound.metric, bound.strategy, _group(bound, where)) for t in cell.trials]
            for cell in cells
        ]
        found = [each for each in values if each]
        if not found or not all(math.isfinite(v) for each in found for v in each):
            return None, "not known in every trial: it did not come, or was not measured"
        means = [scale * sum(each) / len(each) for each in found]
        low, high, _ = READINGS[type(bound)].limits(bound)
        top = max(means)
        worst = top if high is not None and top > high else min(means)
        worst = worst if worst < low or worst == top else top
        return worst, f"the furthest of {counted(len(found), 'mix')}"

    return read


def _in_bound(cell: Cell, bound: TrafficBound, where: Where) -> bool:
    return bound.mix is None or _has_mix(cell, bound.mix, where.measures.strategies)


def _group(bound: TrafficBound, where: Where) -> int | None:
    names = [group.name for group in where.measures.run.scenario.flows]
    return None if bound.group is None else names.index(bound.group)


def _harm(bound: HarmBound, where: Where) -> Value:
    for each in harm_of_run(where.measures):
        same = each.setting.label == where.setting.label
        if same and (each.metric, each.by) == (bound.of, bound.by):
            return each.harm.mean, f"mean of {counted(each.harm.n, 'repetition')}"
    return None, "not measured: the victim has no such metric alone and beside these flows"


def _least_and_most(shown: Callable[[Any], float], unit: str) -> Callable[[Any], Limits]:
    """Limits of a bound whose `max` may be left out, in the unit that is shown."""
    return lambda b: (shown(b.min), None if b.max is None else shown(b.max), unit)


def _traffic_words(bound: Any) -> str:
    whose = " of ".join(each for each in (bound.strategy, bound.group) if each)
    place = "in every mix" if bound.mix is None else _mix_text(bound.mix)
    return f"{bound.metric.replace('_', ' ')}{f' of {whose}' if whose else ''}, {place}"


READINGS: dict[type, Reading] = {
    TimeBound: Reading(
        _traffic(1e3),
        _least_and_most(lambda time: time.seconds * 1e3, "ms"),
        _traffic_words,
    ),
    PartBound: Reading(_traffic(100.0), _share_limits, _traffic_words),
    HarmBound: Reading(
        _harm,
        lambda b: (b.min, b.max, ""),
        lambda b: f"harm by {b.by} in {b.of.replace('_', ' ')}",
    ),
    BitrateBound: Reading(
        _traffic(1e-6),
        _least_and_most(lambda rate: rate.bps / 1e6, "Mbit/s"),
        _traffic_words,
    ),
    BurstBound: Reading(
        _traffic(1e-3),
        _least_and_most(lambda size: size.bytes / 1e3, "kB"),
        _traffic_words,
    ),
    SlowdownBound: Reading(_traffic(1.0), lambda b: (b.min, b.max, ""), _traffic_words),
    ThroughputBound: Reading(_throughput, _throughput_limits, _throughput_words),
    DelayBound: Reading(
        _delay, lambda b: (b.min.seconds * 1e3, b.max.seconds * 1e3, "ms"), _delay_words
    ),
    RttBound: Reading(_rtt, _rtt_limits, _rtt_words),
    ShareBound: Reading(_share, _share_limits, _share_words),
    LossBound: Reading(_loss, _share_limits, _loss_words),
    RatioBound: Reading(_ratio, lambda b: (b.min, b.max, ""), _ratio_words),
    CrossingBound: Reading(_crossing, _crossing_limits, _crossing_words),
    EquilibriumBound: Reading(_equilibrium, _count_limits, _equilibrium_words, _equilibrium_spans),
    EquilibriumCountBound: Reading(
        _equilibrium_count,
        lambda b: (float(b.min), float(b.max), "mixes"),
        lambda b: "number of equilibria",
    ),
    RttOrderBound: Reading(
        _rtt_order,
        lambda b: (b.min.fraction * 100, 100.0, "%"),
        lambda b: f"{b.strategy} flows on the shortest base RTTs at the equilibrium",
    ),
}
"""Kind of bound -> how it is read."""


def _mix_text(mix: dict[str, int]) -> str:
    return "at " + " + ".join(f"{count} {name}" for name, count in mix.items())
