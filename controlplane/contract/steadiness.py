"""Whether the strategies' shares of the bottleneck are steady, and have been for long enough.

The flows of each strategy and group are taken together. Their payload is summed over ProbeRTT
cycles, so that each mean holds as many of BBR's ProbeRTT phases as the next, and the second half of
the cycles so far is looked at: a trial that starts far from where it settles does not have to
outlive its beginning.

A share that drifts slowly looks steady now and then, and gets a chance to at every cycle. Only one
that looks steady at many cycles in a row is: `Watch` asks for half of the trial. Trials that run
until they are settled and models of them are judged by the same rule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .trial import Kind, Steadiness, StrategyDrift

LEAST_CYCLES = 8
"""Fewest cycles of a trial: two in each half of its second half."""
NOISE_BOUND = 2.0
"""Standard errors within which a difference may be chance."""


@dataclass(frozen=True)
class SteadinessRules:
    """What counts as steady.

    Attributes:
        within: Difference of both halves, relative to their mean.
        cycle_ns: Length of a cycle.
    """

    within: float
    cycle_ns: int


def judge_steadiness(cycles: Mapping[Kind, Sequence[float]], rules: SteadinessRules) -> Steadiness:
    """Compare both halves of the second half of a trial.

    A strategy is steady when the difference of its halves is at most `within` of their mean, or up
    to twice as much where that is within twice the standard error of the difference (batch means:
    Law, Simulation Modeling and Analysis, 9.5.3).

    Args:
        cycles: Payload bytes of each strategy and group in each cycle from t0, equally many.
        rules: What counts as steady.
    """
    count = len(next(iter(cycles.values())))
    half = count // 4
    used = 2 * half
    drifts = tuple(
        _drift(kind, np.asarray(values, float)[count - used :], rules.within)
        for kind, values in cycles.items()
    )
    return Steadiness(
        settled=count >= LEAST_CYCLES and all(drift.steady for drift in drifts),
        window_ns=((count - used) * rules.cycle_ns, count * rules.cycle_ns),
        drifts=drifts,
    )


class Watch:
    """Follows a trial cycle by cycle until its shares have been steady for half of it.

    Args:
        rules: What counts as steady.
    """

    def __init__(self, rules: SteadinessRules) -> None:
        self._rules = rules
        self._cycles: dict[Kind, list[float]] = defaultdict(list)
        self._unsteady_at = 0
        self.made = 0

    def take(self, cycle: Mapping[Kind, float]) -> Steadiness:
        """Take in the next cycle.

        Args:
            cycle: Payload bytes of each strategy and group, the same ones every time.

        Returns:
            How steady the shares are now; settled: they were at every cycle for half of the trial.
        """
        self.made += 1
        for kind, value in cycle.items():
            self._cycles[kind].append(value)
        found = judge_steadiness(self._cycles, self._rules)
        if not found.settled:
            self._unsteady_at = self.made
        return found.model_copy(update={"settled": 2 * self._unsteady_at < self.made})


def cycles_of_goodput(
    goodput: NDArray[Any], kinds: Sequence[Kind], cycle_ns: int, end_ns: int
) -> dict[Kind, list[int]]:
    """Payload of each kind of flow in each whole cycle of a trial.

    Args:
        goodput: Records of the sink (contract.records.GOODPUT), times after t0, shape (n,).
        kinds: Group and strategy of each flow.
        cycle_ns: Length of a cycle.
        end_ns: When the trial ended, after t0.
    """
    count = end_ns // cycle_ns
    cycle = (goodput["t_ns"] - 1) // cycle_ns
    inside = cycle < count
    return {
        kind: np.bincount(cycle[chosen], weights=goodput["bytes"][chosen], minlength=count)
        .astype(np.int64)
        .tolist()
        for kind in dict.fromkeys(kinds)
        for chosen in [inside & np.isin(goodput["flow"], _numbers(kinds, kind))]
    }


def _numbers(kinds: Sequence[Kind], kind: Kind) -> list[int]:
    return [flow for flow, own in enumerate(kinds) if own == kind]


def _drift(kind: Kind, values: NDArray[np.float64], within: float) -> StrategyDrift:
    group, strategy = kind
    half = len(values) // 2
    mean = float(values.mean()) if half else 0.0
    if mean == 0.0:
        return StrategyDrift(group=group, strategy=strategy, drift=0.0, error=0.0, steady=True)
    first, second = values[:half], values[half:]
    drift = float(second.mean() - first.mean()) / mean
    error = _error(first, second) / mean
    bound = min(max(within, NOISE_BOUND * error), 2 * within)
    return StrategyDrift(
        group=group, strategy=strategy, drift=drift, error=error, steady=abs(drift) <= bound
    )


def _error(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Standard error of the difference of two means."""
    if len(first) < 2:
        return 0.0
    return float(np.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)))
