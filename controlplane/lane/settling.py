"""A trial's progress, cycle by cycle, until its shares have been steady for half of it.

A share that drifts slowly looks steady now and then, and gets a chance to at every cycle. Only one
that looks steady at many cycles in a row is.
"""

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
        self._unsteady_at = 0
        self.steadiness: Steadiness | None = None

    @property
    def cycles_left(self) -> int:
        """Cycles that the longest trial still has."""
        return self._duration.at_most.ns // self._cycle_ns - self._made

    @property
    def _made(self) -> int:
        """Cycles so far."""
        return len(next(iter(self._cycles.values()), ()))

    def take(self, progress: SinkProgress) -> bool:
        """Take a report in; returns whether the trial may end."""
        totals: dict[Kind, int] = defaultdict(int)
        for flow, arrived in zip(self._flows, progress.bytes, strict=True):
            totals[flow.group, flow.cc] += arrived
        for kind, total in totals.items():
            self._cycles[kind].append(total - self._before[kind])
        self._before = totals
        found = judge_steadiness(self._cycles, self._rules)
        if not found.settled:
            self._unsteady_at = self._made
        held = 2 * self._unsteady_at < self._made
        self.steadiness = found.model_copy(update={"settled": held})
        return held and progress.t_ns >= self._duration.at_least.ns
