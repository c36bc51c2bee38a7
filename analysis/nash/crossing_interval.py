"""Where the second strategy's lead ends, as an interval: local regression over neighbouring mixes.

One group of N flows, two strategies A and B, k flows of B. The lead of mix k is U_B - U_A, the
difference of a flow's utility. The regression is on the lead times k (N - k)/N. For throughput this
is the excess of all B flows together over their fair share; it is zero where the lead is zero, and
its noise is about equal at every mix, while the noise of the lead grows towards both ends.

At every place a parabola is fitted to the neighbouring mixes, near ones weighted most. It gives the
lead there, its standard error, and from the spread of the trials about it their noise. Where the
means of the mixes are further from it than their trials explain, that counts as noise too.

The interval consists of the places at which a test cannot tell the lead from zero (Fieller's set).
It is therefore wide where the lead is flat, may be open to an end of the line, and may not be the
only one. A mix whose own trials tell the sign of its lead (Student's t at 99 %, with Bonferroni's
correction for the number of mixes) is no part of it, whatever the parabola says: where few mixes
are measured, one parabola may fit none of them.

A crossing lies at most half a flow from where no flow gains by switching: see `mixes_between`.

Source: local regression, Cleveland and Devlin, Journal of the American Statistical Association 83
(1988); variance, Loader, Local Regression and Likelihood (1999), 2.3 and 9.1; intervals of a root,
Fieller, Journal of the Royal Statistical Society B 16 (1954). Coverage and errors on published
mixes: `python -m tests.support.crossing_trials`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from .game import PayoffTable

FloatArray = NDArray[np.float64]

CONFIDENCE = 0.95
TOLD_CONFIDENCE = 0.99
"""That no mix tells a wrong sign; so high that intervals cover as often as without it."""
REACH = 0.15
"""How far a window reaches to each side, as a share of the line."""
WINDOW_MIXES = 7
"""Mixes that a window has at least, if so many were measured; it reaches further for them."""
LEAST_MIXES = 4
"""Mixes with flows of both that an interval takes (fewer where the game has no more)."""
LEAST_FREEDOM = 0.5
"""Degrees of freedom below which the noise at a place counts as not known."""
PLACES_PER_FLOW, MOST_PLACES = 20, 1000
"""How densely places are judged, unless said otherwise."""


@dataclass(frozen=True)
class CrossingInterval:
    """Where the lead of the second strategy ends, from plus to minus.

    Attributes:
        low: Lower end, in flows of the second strategy; 0 where there may never be a lead.
        high: Upper end; N where it may never be gone.
        at: Where the fitted lead ends; None where it ends between the measured mixes and the end
            of the line.
        sure: Whether the lead is surely positive before and surely negative behind.
    """

    low: float
    high: float
    at: float | None
    sure: bool

    @property
    def place(self) -> float:
        """Where the lead ends, or the middle of the interval where that is not known."""
        return (self.low + self.high) / 2 if self.at is None else self.at


@dataclass(frozen=True)
class FittedLead:
    """The lead along the line.

    Attributes:
        flows: Flows N of the group.
        places: Flows of the second strategy, shape (P,), between the outermost measured mixes.
        value: Fitted lead times k (N - k)/N, in the utility's unit, shape (P,).
        error: Its standard error, shape (P,).
        freedom: Degrees of freedom of that, shape (P,).
        told: Mean of each mix whose own trials tell its sign, at its place, shape (P,); else NaN.
    """

    flows: int
    places: FloatArray
    value: FloatArray
    error: FloatArray
    freedom: FloatArray
    told: FloatArray

    @cached_property
    def best(self) -> FloatArray:
        """The lead as a mix tells it, or else as it is fitted, shape (P,)."""
        return np.where(np.isnan(self.told), self.value, self.told)

    @cached_property
    def sign(self) -> NDArray[np.int64]:
        """Surely positive: 1, surely negative: -1; else 0, shape (P,)."""
        sure = np.isfinite(self.told) | (np.abs(self.value) > self.half_width)
        return np.where(sure, np.sign(self.best), 0).astype(np.int64)

    @cached_property
    def half_width(self) -> FloatArray:
        """Half the width of the lead's 95 % interval, shape (P,); infinite if not known."""
        from scipy.special import stdtrit  # noqa: PLC0415 - planning a run needs none of scipy

        known = self.freedom >= LEAST_FREEDOM
        quantile = stdtrit(np.where(known, self.freedom, 1.0), (1 + CONFIDENCE) / 2)
        return np.where(known, quantile * self.error, np.inf)

    @cached_property
    def positive(self) -> FloatArray:
        """How probably the lead is positive, by place, shape (P,); NaN if not known."""
        from scipy.special import stdtr  # noqa: PLC0415

        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(self.value == 0, 0.0, self.value / self.error)
        known = self.freedom >= LEAST_FREEDOM
        return np.where(known, stdtr(np.where(known, self.freedom, 1.0), ratio), np.nan)

    def positive_at(self, places: FloatArray) -> FloatArray:
        """How probably the lead is positive at places between; by the mixes where it crosses once.

        Args:
            places: In flows of the second strategy, any shape.
        """
        found = np.interp(places, self.places, self.positive, np.nan, np.nan)
        leads = max(self.places[self.told > 0], default=-np.inf)
        trails = min(self.places[self.told < 0], default=np.inf)
        if leads < trails:
            found[places <= leads], found[places >= trails] = 1.0, 0.0
        return found


@dataclass(frozen=True)
class LeadEnds:
    """What is known of where the lead ends.

    Attributes:
        intervals: Every place where it may end, in order; more than one is more than one crossing.
        mixes: Mixes with flows of both strategies.
        problem: Why there is no interval; empty if there is one.
        fit: The fitted lead; None if there is no interval.
    """

    intervals: tuple[CrossingInterval, ...]
    mixes: int
    trials: int
    problem: str = ""
    fit: FittedLead | None = field(default=None, repr=False)

    @cached_property
    def probability(self) -> dict[int, float]:
        """Flows of the second strategy -> how probably that mix is the equilibrium.

        It is the part of the crossing's confidence distribution between the two places at which a
        flow would begin to gain by switching.
        """
        if self.fit is None:
            return {}
        n = self.fit.flows
        edges = self.fit.positive_at(np.array([_place_of_edge(e, n) for e in range(n)]))
        after = np.concatenate([[1.0], edges, [0.0]])
        shares = after[:-1] - after[1:]
        return {k: max(float(s), 0.0) for k, s in enumerate(shares) if np.isfinite(s)}


def lead_ends(table: PayoffTable) -> LeadEnds | None:
    """Where the second strategy's lead ends, with 95 % confidence.

    Args:
        table: What was measured; uneven repetitions and few mixes are allowed.

    Returns:
        The intervals, or why there is none; None if the game is no line (several groups, a
        single flow, or more or fewer than two strategies).
    """
    if len(table.sizes) != 1 or len(table.strategies) != 2 or table.sizes[0] < 2:
        return None
    n = table.sizes[0]
    leads = {
        state[0][1]: values[:, 0, 1] - values[:, 0, 0]
        for state, values in table.samples.items()
        if min(state[0]) > 0
    }
    return ends_of_leads(leads, n)


def ends_of_leads(
    leads: Mapping[int, FloatArray], flows: int, places_per_flow: int = PLACES_PER_FLOW
) -> LeadEnds:
    """Where the leads of mixes end.

    Args:
        leads: Flows of the second strategy (1 to N - 1) -> the lead in each trial of the mix.
        flows: Flows N.
        places_per_flow: How densely places are judged.
    """
    trials = sum(map(len, leads.values()))
    needed = min(LEAST_MIXES, flows - 1)
    if flows < 2 or len(leads) < needed:
        several = f"{len(leads)} mixes with both are too few for an interval (it takes {needed})"
        return LeadEnds((), len(leads), trials, several)
    x = np.concatenate([np.full(len(v), k, dtype=float) for k, v in sorted(leads.items())])
    y = np.concatenate([np.asarray(v) * k * (flows - k) / flows for k, v in sorted(leads.items())])
    fit = fit_lead(x, y, flows, places_per_flow)
    if not np.isfinite(fit.half_width).any():
        return LeadEnds((), len(leads), trials, "without repetitions there is no interval")
    return LeadEnds(tuple(_intervals(fit)), len(leads), trials, fit=fit)


def fit_lead(
    mix: FloatArray, excess: FloatArray, flows: int, places_per_flow: int = PLACES_PER_FLOW
) -> FittedLead:
    """Local parabolas through the excess of the second strategy over its fair share.

    Args:
        mix: Flows of the second strategy of each trial, shape (T,).
        excess: Lead times k (N - k)/N of each trial, shape (T,).
        flows: Flows N.
    """
    mixes, index, trials = np.unique(mix, return_inverse=True, return_counts=True)
    mean = np.bincount(index, excess) / trials
    within = np.bincount(index, (excess - mean[index]) ** 2)
    places = np.linspace(mixes[0], mixes[-1], _place_count(mixes, places_per_flow))
    offset = (mixes[None, :] - places[:, None]) / _widths(mixes, places, flows)[:, None]
    near = np.clip(1 - np.abs(offset) ** 3, 0, None) ** 3
    basis = offset[:, :, None] ** np.arange(min(2, len(mixes) - 1) + 1)
    weighted = (basis * (near * trials)[:, :, None]).transpose(0, 2, 1)
    inverse = np.linalg.pinv(weighted @ basis)
    rows = (inverse[:, :1, :] @ weighted)[:, 0, :]
    residual = mean - (basis @ (inverse @ (weighted @ mean)[:, :, None]))[:, :, 0]
    taken = np.einsum("gpq,gqp->g", inverse, (weighted * near[:, None, :]) @ basis)
    between = (near * trials * residual**2).sum(axis=1), near.sum(axis=1) - taken
    inside = near @ within, near @ (trials - 1.0)
    variance, freedom = _noise(between, inside)
    error = np.sqrt(variance * (rows**2 / trials).sum(axis=1))
    told = np.full(len(places), np.nan)
    told[np.abs(places[:, None] - mixes).argmin(axis=0)] = _told(mean, within / trials, trials)
    return FittedLead(flows, places, rows @ mean, error, freedom, told)


def _told(mean: FloatArray, variance: FloatArray, trials: NDArray[np.int64]) -> FloatArray:
    """The means of the mixes whose own trials tell its sign, all with 99 % confidence; else NaN.

    Args:
        mean: Of each mix.
        variance: Of its trials about it, the mean of the squares.
    """
    from scipy.special import stdtrit  # noqa: PLC0415

    freedom = np.maximum(trials - 1.0, 1.0)
    quantile = stdtrit(freedom, 1 - (1 - TOLD_CONFIDENCE) / 2 / len(mean))
    sure = (trials > 1) & (np.abs(mean) > quantile * np.sqrt(variance / freedom))
    return np.where(sure, mean, np.nan)


def _place_count(mixes: FloatArray, per_flow: int) -> int:
    """How many places are judged between the outermost mixes."""
    return int(min(MOST_PLACES, round((mixes[-1] - mixes[0]) * per_flow))) + 1


Spread = tuple[FloatArray, FloatArray]
"""Sums of squares by place, and their degrees of freedom."""


def _noise(between: Spread, inside: Spread) -> tuple[FloatArray, FloatArray]:
    """Variance of a trial about the parabola, and its degrees of freedom, by place.

    All trials tell it. Where the means of the mixes are further from the parabola than their
    trials explain, the parabola does not fit well enough; then that is part of the variance,
    with the few degrees of freedom of the means (Welch-Satterthwaite).

    Args:
        between: Of the mixes' means about the parabola.
        inside: Of the trials about their mixes' means.
    """
    least = 1e-9
    freedom = between[1] + inside[1]
    common = (between[0] + inside[0]) / np.maximum(freedom, least)
    misfit = np.maximum(between[0] / np.maximum(between[1], least) - common, 0.0)
    misfit = np.where(between[1] >= LEAST_FREEDOM, misfit, 0.0)
    variance = common + misfit
    parts = common**2 / np.maximum(freedom, least) + misfit**2 / np.maximum(between[1], least)
    with np.errstate(divide="ignore", invalid="ignore"):
        return variance, np.where(variance > 0, variance**2 / parts, freedom)


def mixes_between(low: float, high: float, flows: int) -> tuple[int, int]:
    """The first and the last mix that are equilibria if the lead ends within an interval.

    A switch at edge e (from e to e + 1 flows of B) gains U_B(e + 1) - U_A(e). Where the total
    stays the same and the lead is straight near its end, that is zero if the lead ends at
    e + 1 - (e + 1/2)/N: between e and e + 1.

    Args:
        low: Lower end, in flows of the second strategy.
        high: Upper end.
        flows: Flows N.
    """
    edges = [_place_of_edge(e, flows) for e in range(flows)]
    first, last = (int(np.searchsorted(edges, place, side="left")) for place in (low, high))
    return (flows if low >= flows else first), (flows if high >= flows else last)


def open_ends(intervals: Sequence[CrossingInterval], flows: int) -> tuple[bool, bool]:
    """Whether it is not sure that B leads before the ends of a lead, and not that it trails behind.

    Args:
        intervals: Where the lead surely ends; none: nothing is sure.
    """
    if not intervals:
        return True, True
    first, last = intervals[0], intervals[-1]
    return first.low == 0 < first.high, last.low < flows == last.high


def _place_of_edge(edge: int, flows: int) -> float:
    """Where the lead ends if a switch at an edge gains just nothing; a mix with flows of both."""
    return float(np.clip(edge + 1 - (edge + 0.5) / flows, 1, flows - 1))


def _widths(mixes: FloatArray, places: FloatArray, flows: int) -> FloatArray:
    """Half width of the window at each place, shape (P,): to a flow beyond the mixes it needs."""
    distance = np.sort(np.abs(places[:, None] - mixes[None, :]), axis=1)
    furthest = distance[:, min(WINDOW_MIXES, len(mixes)) - 1]
    widths: FloatArray = np.maximum(REACH * flows, furthest + 1)
    return widths


def _intervals(fit: FittedLead) -> list[CrossingInterval]:
    """Runs of places between a surely positive and a surely negative lead.

    Left of the line a flow of B counts as leading and right of it as trailing, as on every line
    of the search; so there is always one end. Where the lead is not surely negative behind a
    fitted end, that end is one that may be, unless the mixes beside it refute the parabola.
    """
    refuted = fit.told * fit.value < 0
    known = np.flatnonzero(fit.sign)
    anchors = [(-1, 1), *((int(i), int(fit.sign[i])) for i in known), (len(fit.sign), -1)]
    found = []
    for (left, before), (right, behind) in pairwise(anchors):
        sure = before > 0 > behind
        beside = [i for i in (left, right) if 0 <= i < len(refuted)]
        perhaps = before == behind and right - left > 1 and not refuted[beside].any()
        if sure or (perhaps and _fitted_end(fit, left, right) is not None):
            found.append(_interval(fit, left, right, sure))
    return found


def _interval(fit: FittedLead, left: int, right: int, sure: bool) -> CrossingInterval:
    """The interval between two places by index; -1 and P stand for the ends of the line."""
    low = 0.0 if left < 0 else float(fit.places[left])
    high = float(fit.flows) if right >= len(fit.places) else float(fit.places[right])
    if high == 1.0 and left < 0:
        return CrossingInterval(0.0, 0.0, 0.0, sure)
    if low == fit.flows - 1 and right >= len(fit.places):
        return CrossingInterval(high, high, high, sure)
    return CrossingInterval(low, high, _fitted_end(fit, left, right), sure)


def _fitted_end(fit: FittedLead, left: int, right: int) -> float | None:
    """Where the fitted lead ends between two places; of several the middle one.

    If it does not, though the mixes there tell that it does: by a straight line between them.
    """
    inside = slice(max(left, 0), right + 1)
    places, value = fit.places[inside], fit.value[inside]
    ends = [
        float(places[i] + (places[i + 1] - places[i]) * value[i] / (value[i] - value[i + 1]))
        for i in np.flatnonzero((value[:-1] > 0) & (value[1:] <= 0))
    ]
    if ends:
        return ends[len(ends) // 2]
    if left < 0 and value[0] <= 0 and places[0] == 1:
        return 0.0
    if right >= len(fit.places) and value[-1] > 0 and places[-1] == fit.flows - 1:
        return float(fit.flows)
    if left >= 0 and right < len(fit.places):
        before, behind = fit.best[[left, right]]
        if before > 0 > behind:
            return float(np.interp(0.0, [behind, before], fit.places[[right, left]]))
    return None
