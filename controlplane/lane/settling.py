"""A trial's progress, cycle by cycle, until its shares are steady."""

from __future__ import annotations

from collections import defaultdict

from ..contract.course import SettledDuration
from ..contract.messages import SinkProgress
from ..contract.trial import Kind, Steadiness
from ..plan.attempt import Attempt
from ..plan.flows import progress_ns
from ..validity.steadiness import SteadinessRules, judge_steadiness


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
        self._rules = SteadinessRules(duration.within.fraction, self._cycle_ns)
        self._before: dict[Kind, int] = defaultdict(int)
        self._cycles: dict[Kind, list[int]] = defaultdict(list)
        self.steadiness: Steadiness | None = None

    @property
    def cycles_left(self) -> int:
        """Cycles that the longest trial still has."""
        made = len(next(iter(self._cycles.values()), ()))
        return self._duration.at_most.ns // self._cycle_ns - made

    def take(self, progress: SinkProgress) -> bool:
        """Take a report in; returns whether the trial may end."""
        totals: dict[Kind, int] = defaultdict(int)
        for flow, arrived in zip(self._flows, progress.bytes, strict=True):
            totals[flow.group, flow.cc] += arrived
        for kind, total in totals.items():
            self._cycles[kind].append(total - self._before[kind])
        self._before = totals
        self.steadiness = judge_steadiness(self._cycles, self._rules)
        return self.steadiness.settled and progress.t_ns >= self._duration.at_least.ns
