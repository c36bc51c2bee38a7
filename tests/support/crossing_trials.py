"""A Monte Carlo of where the lead ends: the published mixes, drawn anew with their own noise.

The truth of a setting is the smoothest cubic spline through the published excess of all BBR flows
over their fair share that leaves residuals as large as second differences say the noise is (another
kind of smoother than the one under test). A trial of a mix is that spline plus a residual of one of
the 17 mixes around it, of either sign. Without the mixes that are published as invalid.

    python -m tests.support.crossing_trials 100     # draws of each setting and design
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from nashbed.analysis.campaign.campaign import Campaign, Game, Rules
from nashbed.analysis.models.mix_files import PUBLISHED_MIXES, PanelKey
from nashbed.analysis.nash.crossing_interval import LeadEnds, lead_ends, mixes_between
from nashbed.analysis.nash.equilibria import judge_all
from nashbed.analysis.nash.game import PayoffTable
from nashbed.analysis.state import State
from numpy.typing import NDArray
from scipy.interpolate import make_smoothing_spline
from scipy.optimize import brentq
from tests.support.published_panels import PublishedMixes, read_mixes

FloatArray = NDArray[np.float64]
AROUND = 8
"""Mixes to each side whose residuals a trial may have."""
FLOWS = 50
Rng = np.random.Generator


@dataclass(frozen=True)
class Truth:
    """One published setting as it would be without noise, in shares of the rate.

    Attributes:
        flows: Flows N of the game.
        excess: All BBR flows' goodput beyond their fair share, by BBR flows, shape (N + 1,).
        residual: What the published trials differ by, shape (N + 1,).
        total: Goodput of all flows.
        crossings: Where the lead ends, in BBR flows; the end of the line where it does not.
    """

    key: PanelKey
    flows: int
    excess: FloatArray
    residual: FloatArray
    total: float
    crossings: tuple[float, ...]

    @property
    def inside(self) -> bool:
        """Whether the lead ends within the line."""
        return len(self.crossings) == 1 and 0 < self.crossings[0] < self.flows

    @property
    def equilibria(self) -> set[int]:
        """BBR flows of every mix in which no flow gains, without noise."""
        mixes = range(self.flows + 1)
        samples = {self.state(k): self.payoffs(k, self.excess[k])[None] for k in mixes}
        verdicts = judge_all(self.table(samples))
        return {v.state[0][1] for v in verdicts if v.equilibrium == "yes"}

    def coarse(self, step: int) -> Truth:
        """This curve as a game of fewer flows: of N/step, each for so many."""
        ends = tuple(end / step for end in self.crossings)
        parts = self.excess[::step], self.residual[::step]
        return Truth(self.key, self.flows // step, *parts, self.total, ends)

    def draw(self, k: int, rng: Rng, louder: float = 1.0) -> NDArray[np.float64]:
        """Payoffs of one trial of a mix, shape (1, 2)."""
        if k in (0, self.flows):
            return self.payoffs(k, 0.0)
        around = AROUND * self.flows // FLOWS
        other = int(np.clip(k + rng.integers(-around, around + 1), 1, self.flows - 1))
        noise = louder * self.residual[other] * rng.choice([-1, 1])
        return self.payoffs(k, self.excess[k] + noise)

    def payoffs(self, k: int, excess: float) -> NDArray[np.float64]:
        """Goodput of a (CUBIC, BBR) flow as shares of the rate, shape (1, 2)."""
        n, bbr = self.flows, excess + self.total * k / self.flows
        each = [(self.total - bbr) / (n - k) if k < n else np.nan, bbr / k if k else np.nan]
        return np.array([each])

    def state(self, k: int) -> State:
        return ((self.flows - k, k),)

    def table(self, samples: dict[State, NDArray[np.float64]]) -> PayoffTable:
        names, share = ("cubic", "bbr"), 1 / self.flows
        return PayoffTable(names, ("main",), (self.flows,), samples, share)


@cache
def truths() -> tuple[Truth, ...]:
    return tuple(_truth(panel) for _, panel in sorted(read_mixes(PUBLISHED_MIXES).items()))


def _truth(panel: PublishedMixes) -> Truth:
    valid = [k for k in range(1, FLOWS) if k not in panel.invalid]
    x = np.array(valid, dtype=float)
    pairs = np.array([panel.aggregate_mbps[k] for k in valid]) / panel.key.rate_mbps
    y = pairs[:, 1] - x / FLOWS * pairs.sum(axis=1)
    differences = (y[:-2] - 2 * y[1:-1] + y[2:]) / np.sqrt(6)
    noise = float(np.sqrt((differences[3:] ** 2).mean()))  # the first three bend too much
    excess = _smoothest(x, y, noise)
    residual = y - excess(x)
    residual *= noise / np.sqrt((residual**2).mean())
    everywhere = np.arange(FLOWS + 1.0)
    nearest = np.abs(everywhere[:, None] - x[None, :]).argmin(axis=1)
    value = excess(everywhere)
    value[[0, -1]] = 0.0
    return Truth(
        panel.key,
        FLOWS,
        value,
        residual[nearest],
        float(np.median(pairs.sum(axis=1))),
        _ends(excess),
    )


def _smoothest(x: FloatArray, y: FloatArray, noise: float) -> Callable[[FloatArray], FloatArray]:
    """The smoothest cubic spline whose residuals are not larger than the noise."""

    def too_smooth(log_penalty: float) -> float:
        spline = make_smoothing_spline(x, y, lam=10**log_penalty)
        return float(np.sqrt(((y - spline(x)) ** 2).mean())) - 0.95 * noise

    spline: Callable[[FloatArray], FloatArray] = make_smoothing_spline(
        x, y, lam=10 ** brentq(too_smooth, -3, 7)
    )
    return spline


def _ends(excess: Callable[[FloatArray], FloatArray]) -> tuple[float, ...]:
    places = np.linspace(1, FLOWS - 1, 4801)
    value = excess(places)
    falls = tuple(float(x) for x in places[:-1][(value[:-1] > 0) & (value[1:] <= 0)])
    if falls:
        return falls
    return (0.0,) if value[0] <= 0 else (float(FLOWS),)


Samples = dict[State, list[NDArray[np.float64]]]


@dataclass(frozen=True)
class Design:
    """Which trials are run.

    Attributes:
        repetitions: Of each mix; of an adaptive run at most.
        lanes: Trials side by side of an adaptive run; 0: every mix.
        louder: The noise, in published noises.
        step: Every so manieth mix, as a game of fewer flows.
        mixes: BBR flows of that game's mixes; none: every mix.
    """

    name: str
    repetitions: int
    lanes: int = 0
    louder: float = 1.0
    step: int = 1
    mixes: tuple[int, ...] = ()

    def samples(self, truth: Truth, rng: Rng) -> Samples:
        """One run of a setting."""
        if self.lanes:
            return self._adaptive(truth, rng)
        return {
            truth.state(k): [truth.draw(k, rng, self.louder) for _ in range(self.repetitions)]
            for k in self.mixes or range(truth.flows + 1)
        }

    def _adaptive(self, truth: Truth, rng: Rng) -> Samples:
        campaign = Campaign(
            [Game((truth.flows,), 2, 1 / truth.flows)],
            Rules(self.repetitions, self.lanes, epsilon=0.0),
        )
        while requests := campaign.ask():
            for request in requests:
                campaign.tell(request, truth.draw(request.state[0][1], rng, self.louder))
        return campaign.games[0].samples


FEW = (0, 1, 3, 5, 7, 9, 10)
"""As the tournament has them."""
DESIGNS = (
    Design("every mix, 1 trial", 1),
    Design("every mix, 3 trials", 3),
    Design("every mix, 10 trials", 10),
    Design("every mix, 1 trial, noise x 2", 1, louder=2.0),
    Design("10 flows, 1 trial", 1, step=5),
    Design("10 flows, 3 trials", 3, step=5),
    Design("10 flows, 10 trials", 10, step=5),
    Design("7 mixes of 10 flows, 4 trials", 4, step=5, mixes=FEW),
    Design("7 mixes of 10 flows, 12 trials", 12, step=5, mixes=FEW),
    Design("adaptive, 1 trial", 1, lanes=1),
    Design("adaptive, at most 3", 3, lanes=1),
    Design("adaptive, at most 10", 10, lanes=1),
    Design("adaptive, at most 3, 7 lanes", 3, lanes=7),
    Design("adaptive, at most 3, noise x 2", 3, lanes=1, louder=2.0),
)


@dataclass(frozen=True)
class JudgedRun:
    """One run of one setting, judged.

    Attributes:
        equilibria: BBR flows of its true equilibria.
    """

    truth: Truth
    equilibria: set[int]
    ends: LeadEnds
    table: PayoffTable

    @property
    def covered(self) -> bool:
        """Whether an interval holds the true end."""
        true = self.truth.crossings[0]
        return any(i.low <= true <= i.high for i in self.ends.intervals)

    @property
    def error(self) -> float | None:
        """Estimate less truth in flows, absolute; None without an estimate."""
        true = self.truth.crossings[0]
        sure = [i.at for i in self.ends.intervals if i.sure and i.at is not None]
        errors = [abs(at - true) for at in sure]
        return float(np.mean(errors)) if errors else None

    @property
    def width(self) -> float:
        """Width of all intervals in flows."""
        return sum(i.high - i.low for i in self.ends.intervals)

    @cached_property
    def found(self) -> list[int]:
        """BBR flows of the equilibria of the means: what a search finds."""
        return [v.state[0][1] for v in judge_all(self.table) if v.equilibrium == "yes"]

    @property
    def search_error(self) -> float:
        """Equilibria of the means less truth in flows, absolute; NaN without any."""
        true = self.truth.crossings[0]
        return float(np.mean([abs(k - true) for k in self.found])) if self.found else np.nan

    @property
    def stated(self) -> list[tuple[float, bool]]:
        """Probability and truth of every mix that is an equilibrium of the means."""
        known = self.ends.probability
        return [(known[k], k in self.equilibria) for k in self.found if k in known]


def play(
    design: Design, draws: int, seed: int = 1, settings: Sequence[Truth] | None = None
) -> Iterator[JudgedRun]:
    """Runs of a design at every setting; the same each time.

    Args:
        draws: Runs of each setting.
        seed: Of the noise.
    """
    rng = np.random.default_rng(seed)
    for each in truths() if settings is None else settings:
        truth = each.coarse(design.step)
        equilibria = truth.equilibria
        for _ in range(draws):
            yield _judged(truth, equilibria, design.samples(truth, rng))


def _judged(truth: Truth, equilibria: set[int], samples: Samples) -> JudgedRun:
    table = truth.table({state: np.stack(values) for state, values in samples.items()})
    ends = lead_ends(table)
    assert ends is not None
    return JudgedRun(truth, equilibria, ends, table)


def coverage_by_setting(played: Sequence[JudgedRun]) -> dict[PanelKey, float]:
    """Setting -> share of its runs that cover."""
    by_setting: dict[PanelKey, list[bool]] = defaultdict(list)
    for each in played:
        by_setting[each.truth.key].append(each.covered)
    return {key: float(np.mean(covered)) for key, covered in by_setting.items()}


def calibration(pairs: Sequence[tuple[float, bool]]) -> tuple[float, float, int]:
    """Mean of what was stated, how often it was true, and of how many mixes."""
    if not pairs:
        return np.nan, np.nan, 0
    stated, true = np.array(pairs, dtype=float).T
    return float(stated.mean()), float(true.mean()), len(pairs)


def _line(name: str, played: Sequence[JudgedRun]) -> str:
    cover = [p.covered for p in played]
    errors = [p.error for p in played if p.error is not None]
    widths = [p.width for p in played]
    lowest = sorted(coverage_by_setting(played).values())[:3]
    said = calibration([pair for p in played for pair in p.stated])
    return (
        f"{name:34s} n {len(played):5d}  coverage {np.mean(cover):.3f} "
        f"(lowest settings {', '.join(f'{c:.2f}' for c in lowest)})  "
        f"error {np.mean(errors):.2f} (search {np.nanmean([p.search_error for p in played]):.2f})  "
        f"width median {np.median(widths):.1f} mean {np.mean(widths):.1f}  "
        f"several {np.mean([len(p.ends.intervals) > 1 for p in played]):.3f}  "
        f"probability {said[0]:.2f} true {said[1]:.2f} (n {said[2]})"
    )


def main(draws: int) -> None:
    """Print a line for each design, of the settings with a crossing and of those without."""
    inside = [t for t in truths() if t.inside]
    corner = [t for t in truths() if not t.inside]
    print(f"{len(inside)} settings with a crossing, {len(corner)} without; {draws} draws of each")
    agree = [
        mixes_between(t.crossings[0], t.crossings[0], FLOWS)[0] in t.equilibria for t in inside
    ]
    print(f"the crossing's mix is an equilibrium of the truth in {sum(agree)} of {len(agree)}")
    for design in DESIGNS:
        for place, settings in (("inside", inside), ("corner", corner)):
            print(_line(f"{design.name}, {place}", list(play(design, draws, settings=settings))),
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
