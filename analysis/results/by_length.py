"""Where the mix would be found to settle by trials of another length.

A long trial holds every shorter one. So the lead of a strategy over the first minutes of each long
trial gives the equilibrium that trials of so many minutes would have shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from ..measures import RunMeasures, TrialMeasures
from ..metrics.mixes import crossings
from ..nash.crossing_interval import LeadEnds, ends_of_leads
from ..state import strategy_totals

FloatArray = NDArray[np.float64]

LENGTHS_S = (60.0, 120.0, 240.0, 480.0, 900.0, 1800.0)
"""Lengths at which a run is looked at, up to that of its longest trial."""


@dataclass(frozen=True)
class ReceivedBytes:
    """What a strategy's flows received in the course of a trial.

    Attributes:
        t_ns: Ends of the sinks' intervals after t0, increasing, shape (K,).
        total: Payload bytes of all its flows until then, shape (K,).
    """

    t_ns: FloatArray
    total: FloatArray
    flows: int

    def rate(self, begin_ns: float, end_ns: float) -> float:
        """Goodput per flow in bit/s between two moments, bytes spread evenly over intervals."""
        at_begin, at_end = np.interp([begin_ns, end_ns], self.t_ns, self.total)
        return float((at_end - at_begin) * 8 * NS_PER_S / (end_ns - begin_ns) / self.flows)


@dataclass(frozen=True)
class EquilibriumInWindow:
    """What one window of every trial says.

    Attributes:
        at: Flows of the second strategy where its mean lead ends, between neighbouring mixes; None
            where it does not end between the measured ones.
        ends: The same with its interval, if there are mixes or repetitions enough for one.
    """

    at: float | None
    ends: LeadEnds


@dataclass(frozen=True)
class EquilibriaByLength:
    """What trials of every length say.

    Attributes:
        points: A length in seconds from the start, increasing -> from the warm-up to there.
        at_the_end: In the second half of the trials alone, which no longer holds their beginning.
    """

    points: Mapping[float, EquilibriumInWindow]
    at_the_end: EquilibriumInWindow


def lengths_of(measures: RunMeasures, setting: Setting) -> list[float]:
    """The lengths in seconds that the longest trial of a setting holds beyond its warm-up."""
    trials = [trial for _, trial in _mixed_trials(measures, setting)]
    longest_s = max((t.trial.record.duration_ns / NS_PER_S for t in trials), default=0.0)
    warmup_s = measures.run.scenario.warmup.seconds
    return [s for s in LENGTHS_S if warmup_s < s <= longest_s * (1 + 1e-3)]


def equilibria_by_length(measures: RunMeasures, setting: Setting) -> EquilibriaByLength:
    """The equilibrium of a setting against the length of its trials.

    Throughput is that from the warm-up to the length in question. A trial that was ended because
    its shares were steady counts as if it had gone on as it was.

    Args:
        measures: The run's measures; one group, two strategies.
    """
    received = [
        (k, trial, _received(trial, measures.strategies))
        for k, trial in _mixed_trials(measures, setting)
    ]
    flows, warmup_ns = measures.flows(setting), measures.run.scenario.warmup.ns
    points = {}
    for seconds in lengths_of(measures, setting):
        leads: dict[int, list[float]] = {}
        for k, trial, rates in received:
            leads.setdefault(k, []).append(_lead(trial, rates, warmup_ns, seconds * NS_PER_S))
        points[seconds] = _equilibrium(leads, flows)
    return EquilibriaByLength(points, _at_the_end(received, flows))


def _at_the_end(
    received_by_mix: Sequence[tuple[int, TrialMeasures, Mapping[str, ReceivedBytes]]], flows: int
) -> EquilibriumInWindow:
    leads: dict[int, list[float]] = {}
    for k, trial, received in received_by_mix:
        end_ns = trial.trial.record.duration_ns
        steady = trial.trial.record.steadiness
        window_ns = (end_ns / 2, end_ns) if steady is None else steady.window_ns
        first, second = (each.rate(*window_ns) for each in received.values())
        leads.setdefault(k, []).append(second - first)
    return _equilibrium(leads, flows)


def _mean_end(leads: Mapping[int, Sequence[float]]) -> float | None:
    means = {k: float(np.mean(values)) for k, values in leads.items()}
    return next((c.at for c in crossings(dict.fromkeys(means, 0.0), means)), None)


def _mixed_trials(measures: RunMeasures, setting: Setting) -> list[tuple[int, TrialMeasures]]:
    """Every trial with flows of both strategies, with the number of the second one's."""
    return [
        (strategy_totals(cell.state)[1], trial)
        for cell in measures.cells(setting)
        for trial in cell.trials
        if min(strategy_totals(cell.state)) > 0 and trial.trial.has("goodput")
    ]


def _equilibrium(leads: Mapping[int, Sequence[float]], flows: int) -> EquilibriumInWindow:
    ends = ends_of_leads({k: np.array(values) for k, values in leads.items()}, flows)
    return EquilibriumInWindow(_mean_end(leads), ends)


def _received(trial: TrialMeasures, strategies: Sequence[str]) -> Mapping[str, ReceivedBytes]:
    table = trial.trial.arrays("goodput", ("t_ns", "flow", "bytes"))
    t_ns, column = np.unique(table["t_ns"], return_inverse=True)
    found = {}
    for strategy in strategies:
        mask = trial.flow_mask(strategy)
        bytes_read = np.where(mask[table["flow"]], table["bytes"], 0).astype(np.float64)
        total = np.cumsum(np.bincount(column, bytes_read, minlength=len(t_ns))).astype(np.float64)
        found[strategy] = ReceivedBytes(t_ns.astype(np.float64), total, int(mask.sum()))
    return found


def _lead(
    trial: TrialMeasures, received: Mapping[str, ReceivedBytes], begin_ns: float, until_ns: float
) -> float:
    """By how much a flow of the second strategy has more than one of the first, in bit/s."""
    first, second = (_rate(trial, each, begin_ns, until_ns) for each in received.values())
    return second - first


def _rate(trial: TrialMeasures, received: ReceivedBytes, begin_ns: float, until_ns: float) -> float:
    """Goodput per flow from the warm-up to a length, with what a settled trial would have added."""
    record = trial.trial.record
    end_ns = min(until_ns, record.duration_ns)
    rate = received.rate(begin_ns, end_ns)
    if until_ns <= end_ns:
        return rate
    steady = received.rate(*record.window_ns)
    before, after = end_ns - begin_ns, until_ns - end_ns
    return (rate * before + steady * after) / (before + after)
