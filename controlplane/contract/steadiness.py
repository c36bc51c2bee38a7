"""Whether the strategies' shares of the bottleneck are steady, with what confidence.

The flows of each strategy and group are taken together. Their payload is summed over ProbeRTT
cycles, so that each mean holds as many of BBR's ProbeRTT phases as the next. What a trial reports
is the mean of the second half of its cycles.

A slow drift looks steady between two halves. So exponentials s + A exp(-t/tau) are fitted to all
but the first quarter, with tau up to half of the trial, and slower ones where the cycles reject all
of these. Each that they do not reject says how far the mean of the second half still is from s.
Shares are steady when that is small by all of them, with 95 % confidence; noise makes the trial
longer until the confidence is reached.

A drift that is slower than the trial cannot be told from its course alone. A mix has settled when
trials from opposite starts agree as well (`starts_agree`). docs/explanation/settling.md has
bias and length, and how many trials end.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .course import LEAST_SETTLED_CYCLES
from .trial import Kind, Steadiness, StrategyDrift

FloatArray = NDArray[np.float64]

LEAST_CYCLES = 8
"""Fewest cycles that are judged: the fit has six of them, and three parameters."""
IN_A_ROW = 3
"""Cycles in a row at which shares must be steady for a trial to end: it is judged at every one."""
UNFITTED = 4
"""One in so many cycles, at the beginning, is not fitted: slow start is no exponential."""
TIME_CONSTANTS, SLOWEST = 12, 0.5
"""Time constants that are fitted, in equal ratios from a cycle to half of the trial."""
SLOW = (1.0, 2.0, 4.0, 8.0)
"""Slower ones, in lengths of the trial. They count if the cycles reject all others: a slope that is
noise would always leave room for them, and opposite starts tell those that pass."""
NORMAL = 1.6449
"""95 % of a normal distribution are below it."""
REJECTED = 3.0
"""Standard errors from which on the cycles reject a time constant; many are looked at, often."""
NOISE_BOUND = 2.0
"""Standard errors within which a difference may be chance."""


@dataclass(frozen=True)
class SteadinessRules:
    """What counts as steady.

    Attributes:
        within: Remaining change, relative to the mean.
    """

    within: float
    cycle_ns: int

    def bound(self, error: float) -> float:
        """What may remain where that is known with a standard error: up to twice `within`."""
        return min(max(self.within, NOISE_BOUND * error), 2 * self.within)


def judge_steadiness(cycles: Mapping[Kind, Sequence[float]], rules: SteadinessRules) -> Steadiness:
    """Judge the course of a trial so far.

    A strategy is steady when its remaining change is at most `within` of its mean with 95 %
    confidence, or up to twice as much where its standard error is as large as half of that.

    Args:
        cycles: Payload bytes of each strategy and group in each cycle from t0, equally many.
    """
    count = len(next(iter(cycles.values())))
    used = 2 * (count // 4)
    drifts = tuple(
        _drift(kind, np.asarray(values, float), used, rules) for kind, values in cycles.items()
    )
    return Steadiness(
        settled=all(drift.steady for drift in drifts),
        window_ns=((count - used) * rules.cycle_ns, count * rules.cycle_ns),
        drifts=drifts,
    )


def starts_agree(found: Sequence[tuple[int, Steadiness]], within: float) -> bool:
    """Whether trials from opposite starts agree: even repetitions and odd ones.

    As in the models' settling, either mean of a strategy may differ by `within` from that of both,
    or by up to twice as much where that is within twice the standard error.

    Args:
        found: Repetition and steadiness of each trial of a mix.
        within: Difference that counts as none, relative to the mean.
    """
    sides = [[s for number, s in found if number % 2 == side] for side in (0, 1)]
    if not all(sides):
        return False
    kinds = [(drift.group, drift.strategy) for drift in sides[0][0].drifts]
    rules = SteadinessRules(within, 0)
    return all(_agree(_mean_of(k, sides[0]), _mean_of(k, sides[1]), rules) for k in kinds)


Mean = tuple[float, float]
"""Bytes of a cycle, and their standard error."""


def _mean_of(kind: Kind, trials: Sequence[Steadiness]) -> Mean:
    own = [d for trial in trials for d in trial.drifts if (d.group, d.strategy) == kind]
    means = [d.mean_bytes for d in own]
    errors = [d.mean_bytes * d.error / 2 for d in own]
    return float(np.mean(means)), float(np.sqrt(np.square(errors).sum())) / len(own)


def _agree(first: Mean, second: Mean, rules: SteadinessRules) -> bool:
    mean = (first[0] + second[0]) / 2
    if mean == 0:
        return True
    error = float(np.hypot(first[1], second[1])) / 2 / mean
    return abs(first[0] - mean) / mean <= rules.bound(error)


class Watch:
    """Follows a trial cycle by cycle until its shares are steady."""

    def __init__(self, rules: SteadinessRules) -> None:
        self._rules = rules
        self._cycles: dict[Kind, list[float]] = defaultdict(list)
        self._in_a_row = 0
        self.made = 0

    def take(self, cycle: Mapping[Kind, float]) -> Steadiness:
        """Take in the next cycle.

        Args:
            cycle: Payload bytes of each strategy and group, the same ones every time.

        Returns:
            How steady the shares are now; settled: they are at the third cycle in a row, and the
            trial is long enough to tell.
        """
        self.made += 1
        for kind, value in cycle.items():
            self._cycles[kind].append(value)
        found = judge_steadiness(self._cycles, self._rules)
        self._in_a_row = self._in_a_row + 1 if found.settled else 0
        settled = self._in_a_row >= IN_A_ROW and self.made >= LEAST_SETTLED_CYCLES
        return found.model_copy(update={"settled": settled})


def cycles_of_goodput(
    goodput: NDArray[Any], kinds: Sequence[Kind], cycle_ns: int, end_ns: int
) -> dict[Kind, list[int]]:
    """Payload of each kind of flow in each whole cycle of a trial.

    Args:
        goodput: Records of the sink (contract.records.GOODPUT), times after t0, shape (n,).
        kinds: Group and strategy of each flow.
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


def _drift(kind: Kind, values: FloatArray, used: int, rules: SteadinessRules) -> StrategyDrift:
    group, strategy = kind
    last = values[len(values) - used :]
    mean = float(last.mean()) if used else 0.0
    if mean == 0.0:
        steady = len(values) >= LEAST_CYCLES
        return StrategyDrift(
            group=group, strategy=strategy, drift=0.0, error=0.0, steady=steady, mean_bytes=mean
        )
    first, second = last[: used // 2], last[used // 2 :]
    remaining, bound = None, 0.0
    if len(values) >= LEAST_CYCLES:
        change, error = _remaining(values, used)
        remaining, bound = change / mean, rules.bound(error / mean)
    return StrategyDrift(
        group=group,
        strategy=strategy,
        drift=float(second.mean() - first.mean()) / mean,
        error=_error(first, second) / mean,
        steady=remaining is not None and remaining <= bound,
        mean_bytes=mean,
        remaining=remaining,
    )


def _remaining(values: FloatArray, used: int) -> tuple[float, float]:
    """How far the mean of the last cycles may be from where the course ends.

    Args:
        values: Bytes of each cycle.
        used: How many of the last cycles the mean is over.

    Returns:
        The most by any exponential that the cycles do not reject, with 95 % confidence, and the
        largest standard error of these.
    """
    skipped = len(values) // UNFITTED
    times = np.arange(len(values) - skipped, dtype=float)
    decay = np.exp(-times[:, None] / _time_constants(len(values)))
    at_mean = decay[len(times) - used :].mean(axis=0)
    x, y = decay - decay.mean(axis=0), values[skipped:] - values[skipped:].mean()
    spread = (x**2).sum(axis=0)
    amplitude = (x * y[:, None]).sum(axis=0) / spread
    residual = y[:, None] - amplitude * x
    squares = (residual**2).sum(axis=0)
    freedom, best = len(times) - 3, int(squares.argmin())
    quantile = _student(freedom)
    inflated = _inflation(residual[:, best])
    error = np.sqrt(squares / freedom / spread) * at_mean * inflated
    kept = squares <= squares[best] * (1 + (REJECTED * inflated) ** 2 / freedom)
    if kept[:TIME_CONSTANTS].any():
        kept[TIME_CONSTANTS:] = False
    most = np.abs(amplitude) * at_mean + quantile * error
    return float(most[kept].max()), float(error[kept].max())


def _time_constants(cycles: int) -> FloatArray:
    fast = np.geomspace(1.0, SLOWEST * cycles, TIME_CONSTANTS)
    return np.concatenate([fast, np.array(SLOW) * cycles])


def _inflation(residual: FloatArray) -> float:
    """By how much cycles that are like the one before make a standard error larger.

    Cycles that alternate make it smaller, as far as that is no chance: within twice 1/sqrt(n).
    """
    total = float((residual**2).sum())
    if total == 0.0:
        return 1.0
    count = len(residual)
    like = float((residual[1:] * residual[:-1]).sum()) / total + 1 / count
    like = min(like + 2 / np.sqrt(count), 0.0) if like < 0 else min(like, 0.8)
    return float(np.sqrt((1 + like) / (1 - like)))


def _student(freedom: int) -> float:
    """95 % of Student's t are below it (Cornish and Fisher's expansion, Abramowitz 26.7.5)."""
    z = NORMAL
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _error(first: FloatArray, second: FloatArray) -> float:
    """Standard error of the difference of two means."""
    if len(first) < 2:
        return 0.0
    return float(np.sqrt(first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)))
