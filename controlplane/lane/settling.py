"""A trial's progress, cycle by cycle, until its shares have been steady for half of it."""

from __future__ import annotations

from collections import defaultdict

from ..contract.course import SettledDuration
from ..contract.messages import SinkProgress
from ..contract.steadiness import SteadinessRules, Watch
from ..contract.trial import Kind, Steadiness
from ..plan.attempt import Attempt, progress_ns


class Settling:
    """Takes in what a sink reports once a cycle.

    Args:
        attempt: The attempt; its scenario says what counts as steady.
        duration: Its duration.
    """

    def __init__(self, attempt: Attempt, duration: SettledDuration) -> None:
        self._flows = attempt.flows
        self._duration = duration
        self._cycle_ns = progress_ns(attempt.scenario, attempt.trial)
        self._watch = Watch(SteadinessRules(duration.within.fraction, self._cycle_ns))
        self._before: dict[Kind, int] = defaultdict(int)
        self.steadiness: Steadiness | None = None

    @property
    def cycles_left(self) -> int:
        """Cycles that the longest trial still has."""
        return self._duration.at_most.ns // self._cycle_ns - self._watch.made

    def take(self, progress: SinkProgress) -> bool:
        """Take a report in; returns whether the trial may end."""
        totals: dict[Kind, int] = defaultdict(int)
        for flow, arrived in zip(self._flows, progress.bytes, strict=True):
            totals[flow.group, flow.cc] += arrived
        cycle = {kind: total - self._before[kind] for kind, total in totals.items()}
        self._before = totals
        self.steadiness = self._watch.take(cycle)
        return self.steadiness.settled and progress.t_ns >= self._duration.at_least.ns
