"""Means with their intervals, differences of means, and straight lines through points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from nashbed.controlplane.contract.model import ContractModel
from numpy.typing import NDArray
from pydantic import Field
from scipy import special

Limits = tuple[float, float]
"""Smallest and largest possible value."""

SIGNIFICANCE = 0.05
"""p value below which samples differ."""
FEW = 4
"""Observations below which an interval that leaves the possible range gives way to them."""


class Estimate(ContractModel):
    """A mean over repetitions.

    Attributes:
        mean: The mean, in the metric's unit.
        n: Number of observations (trials).
        ci95: Half the width of the 95 % interval; null with one observation, and where `points`
            stand in its place.
        points: The observations in rising order, where they say more than an interval: two or
            three of which the interval would leave the possible range. Otherwise left out.
    """

    mean: float
    n: int
    ci95: float | None
    points: tuple[float, ...] = Field(default=(), exclude_if=lambda points: not points)

    def scaled(self, factor: float) -> Estimate:
        """This estimate in another unit."""
        half = None if self.ci95 is None else self.ci95 * factor
        points = tuple(p * factor for p in self.points)
        return Estimate(mean=self.mean * factor, n=self.n, ci95=half, points=points)


def estimate(
    observations: Sequence[float],
    confidence: float = 0.95,
    possible: Limits = (-math.inf, math.inf),
) -> Estimate | None:
    """Mean and Student t interval of independent observations.

    The interval is mean +- t(n - 1) s / sqrt(n), s with n - 1 in its denominator. One
    observation has no interval. Two would have one of 12.7 standard errors (6.49 +- 5.51), which
    says nothing that they do not: they are given instead, as are three whose interval would end
    where no value can be (a loss of 1.9 +- 14.9 %).

    Args:
        observations: One value for each trial; NaN (not measured) is left out.
        confidence: Coverage of the interval.

    Returns:
        The estimate; None without any observation.

    Source: Student, Biometrika 6 (1908).
    """
    values = np.array([x for x in observations if np.isfinite(x)])
    n = len(values)
    if n == 0:
        return None
    mean = float(values.mean())
    if n == 1:
        return Estimate(mean=mean, n=1, ci95=None)
    half = float(special.stdtrit(n - 1, (1 + confidence) / 2)) * float(values.std(ddof=1)) / n**0.5
    inside = possible[0] <= mean - half and mean + half <= possible[1]
    if n == 2 or (half > 0 and n < FEW and not inside):
        return Estimate(mean=mean, n=n, ci95=None, points=tuple(sorted(values.tolist())))
    return Estimate(mean=mean, n=n, ci95=half)


class StandardError(NamedTuple):
    """How uncertain a mean is.

    Attributes:
        size: The standard error, in the metric's unit.
    """

    size: float
    freedom: float


@dataclass(frozen=True)
class MeanDifference:
    """Second mean less first mean, of independent observations.

    Attributes:
        difference: The difference, in the metric's unit.
        half_width: Half the width of its interval; None if it cannot be told.
        p: Probability of a difference at least as large if there were none; None likewise.
        error: Its standard error; None likewise.
    """

    difference: float
    half_width: float | None
    p: float | None
    error: StandardError | None = None


def welch(
    first: Sequence[float], second: Sequence[float], confidence: float = 0.95
) -> MeanDifference | None:
    """Compare two means without assuming equal variances.

    The interval is d +- t(v) s with s^2 = s1^2/n1 + s2^2/n2 and
    v = s^4 / ((s1^2/n1)^2/(n1 - 1) + (s2^2/n2)^2/(n2 - 1)). Where neither side varies (a
    repeatable target with one seed, a value cut off at its limit), nothing says what chance does:
    there is a difference, but no interval and no p.

    Args:
        first: Observations; NaN (not measured) is left out.

    Returns:
        The difference; None if one of them has fewer than two observations.

    Source: Welch, Biometrika 34 (1947).
    """
    a, b = (np.array([x for x in values if np.isfinite(x)]) for values in (first, second))
    if min(len(a), len(b)) < 2:
        return None
    difference = float(b.mean() - a.mean())
    parts = np.array([a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)])
    error = float(np.sqrt(parts.sum()))
    if error == 0:
        return MeanDifference(difference, None, None)
    freedom = error**4 / float((parts**2 / (np.array([len(a), len(b)]) - 1)).sum())
    quantile = float(special.stdtrit(freedom, (1 + confidence) / 2))
    p = 2 * float(special.stdtr(freedom, -abs(difference) / error))
    return MeanDifference(difference, quantile * error, p, StandardError(error, freedom))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p values for how many there are, so that a false alarm is no more likely.

    Args:
        p_values: One for each comparison.

    Returns:
        Adjusted values in the same order.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979).
    """
    order = np.argsort(p_values, kind="stable")
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order.tolist()):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - rank)))
        adjusted[index] = largest
    return adjusted


class SampleComparison(ContractModel):
    """Two samples of independent observations, compared.

    Attributes:
        first: Mean of the first.
        second: Mean of the second.
        difference: Second mean less first mean.
        ci95: Half the width of its 95 % interval, that of this comparison alone; null: it cannot
            be told.
        p: Probability of a difference at least as large if there were none; null likewise.
        p_adjusted: The same, adjusted (Holm) for the number of comparisons.
        differs: Whether the difference is more than chance, all comparisons considered.
    """

    first: Estimate
    second: Estimate
    difference: float
    ci95: float | None
    p: float | None
    p_adjusted: float | None = None
    differs: bool = False


def compare_samples(first: Sequence[float], second: Sequence[float]) -> SampleComparison | None:
    """Compare the means of two samples by Welch's test.

    Args:
        first: Observations; NaN (not measured) is left out.

    Returns:
        The comparison, without interval and p where a sample has fewer than two observations; None
        where one has none.
    """
    one, other = estimate(first), estimate(second)
    if one is None or other is None:
        return None
    change = welch(first, second) or MeanDifference(other.mean - one.mean, None, None)
    return SampleComparison(
        first=one,
        second=other,
        difference=change.difference,
        ci95=change.half_width,
        p=change.p,
    )


Compared = TypeVar("Compared", bound=SampleComparison)


def adjusted(comparisons: Sequence[Compared]) -> list[Compared]:
    """The comparisons with Holm's values of those that can be tested."""
    known = iter(holm([each.p for each in comparisons if each.p is not None]))
    return [each if each.p is None else _with_p(each, next(known)) for each in comparisons]


def _with_p(each: Compared, p: float) -> Compared:
    return each.model_copy(update={"p_adjusted": p, "differs": p < SIGNIFICANCE})


EquivalenceVerdict = Literal["equivalent", "different", "too few to tell"]
TOST_CONFIDENCE = 1 - 2 * SIGNIFICANCE
"""Coverage of the interval that lies within the margin exactly if both one-sided tests reject."""

POWER = 0.8
"""Of a test, where it is said how many observations it needs."""


class EquivalenceTest(SampleComparison):
    """Whether two means differ by less than a margin.

    Attributes:
        margin: The largest difference that does not matter.
        ci90: Half the width of the difference's 90 % interval, which lies within the margin exactly
            if both one-sided tests at 95 % reject; that of this test alone. Null: it cannot be
            told.
        p_equivalent: The larger p of the two one-sided tests: probability of a difference at least
            this far within the margin if it were the margin; null likewise.
        p_equivalent_adjusted: The same, adjusted (Holm) for the number of tests.
        p_different: Probability of a difference at least this far beyond the margin if it were the
            margin (two-sided); null likewise.
        p_different_adjusted: The same, adjusted (Holm) for the number of tests.
        spread: Standard deviation of the difference of two single observations; null likewise.
        needed: Observations of each with which means that do not differ would be called equivalent
            in 80 % of cases, with this spread and so many tests; null likewise.
        verdict: `equivalent` and `different` where the adjusted p is below 0.05.
    """

    margin: float
    ci90: float | None
    p_equivalent: float | None
    p_equivalent_adjusted: float | None = None
    p_different: float | None
    p_different_adjusted: float | None = None
    spread: float | None
    needed: int | None = None
    verdict: EquivalenceVerdict = "too few to tell"


def equivalence_test(
    first: Sequence[float], second: Sequence[float], margin: float
) -> EquivalenceTest | None:
    """Test whether two means differ by less than a margin, and whether by more.

    With d the difference, s its standard error and v Welch's degrees of freedom, two one-sided
    tests (TOST) compare (d + margin)/s and (d - margin)/s with Student's t of v. The means are
    equivalent if both say that the difference is inside. Beyond the margin it is if |d| - margin is
    too large for chance, on either side.

    Args:
        first: Observations; NaN (not measured) is left out.
        margin: The largest difference that does not matter, above 0.

    Returns:
        The test, without p where a sample has fewer than two observations or neither varies; its
        verdict is for `judged` to say. None where a sample has none.

    Source: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987); the three
    verdicts as in Goeman, Solari, Stijnen, Statistics in Medicine 29 (2010).
    """
    samples = compare_samples(first, second)
    if samples is None:
        return None
    change = welch(first, second, TOST_CONFIDENCE)
    inside = beyond = spread = None
    if change is not None and change.error is not None:
        spread = math.sqrt(sum(np.nanvar(values, ddof=1) for values in (first, second)))
        distance = (abs(change.difference) - margin) / change.error.size
        inside = float(special.stdtr(change.error.freedom, distance))
        beyond = min(1.0, 2 * float(special.stdtr(change.error.freedom, -distance)))
    return EquivalenceTest(
        **vars(samples),
        margin=margin,
        ci90=None if change is None else change.half_width,
        p_equivalent=inside,
        p_different=beyond,
        spread=spread,
    )


Judged = TypeVar("Judged", bound=EquivalenceTest)


def judged(tests: Sequence[Judged]) -> list[Judged]:
    """The tests with their verdicts, adjusted by Holm's method for how many can be tested.

    The probability that any of them is called equivalent and is not is 5 % at most, and likewise
    that any is called different and is not.
    """
    known = [each for each in tests if each.p_equivalent is not None]
    inside = iter(holm([each.p_equivalent or 0.0 for each in known]))
    beyond = iter(holm([each.p_different or 0.0 for each in known]))
    return [
        each
        if each.spread is None
        else each.model_copy(
            update=_verdict(next(inside), next(beyond))
            | {"needed": _needed(each.spread, each.margin, len(known))}
        )
        for each in adjusted(tests)
    ]


def _verdict(inside: float, beyond: float) -> dict[str, float | str]:
    verdict: EquivalenceVerdict = "too few to tell"
    if inside < SIGNIFICANCE:
        verdict = "equivalent"
    elif beyond < SIGNIFICANCE:
        verdict = "different"
    return {"p_equivalent_adjusted": inside, "p_different_adjusted": beyond, "verdict": verdict}


def _needed(spread: float, margin: float, tests: int) -> int:
    """Observations of each, by the normal distribution; Holm's first step is the strictest."""
    quantile = float(special.ndtri(1 - SIGNIFICANCE / tests) + special.ndtri((1 + POWER) / 2))
    return max(2, math.ceil((quantile * spread / margin) ** 2))


class StraightLine(NamedTuple):
    """A fitted line.

    Attributes:
        intercept: Its value at x = 0.
        r2: Squared correlation of the points; 0 where y does not vary.
    """

    slope: float
    intercept: float
    r2: float


def least_squares(x: NDArray[np.float64], y: NDArray[np.float64]) -> StraightLine:
    """Fit y = intercept + slope x.

    Args:
        x: Finite values that are not all the same, shape (n,).
        y: Finite values, shape (n,).
    """
    dx, dy = x - x.mean(), y - y.mean()
    across, up, both = float(dx @ dx), float(dy @ dy), float(dx @ dy)
    slope = both / across
    r2 = both**2 / (across * up) if up > 0 else 0.0
    return StraightLine(slope, float(y.mean() - slope * x.mean()), r2)
