"""A Monte Carlo of when a trial ends: drifting and noisy shares, by rules before and now.

A course is a share in points of the throughput by ProbeRTT cycle, s + A exp(-t/tau) and noise (in
some cases like that of the cycle before); the other strategy has the rest. The trial from the
opposite start has -A. The rule before compared both halves of the second half of a trial, at every
cycle of that half; it is here to be compared with.

    python -m nashbed.analysis.fits.stopping 200            # courses of each family
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from nashbed.controlplane.contract.steadiness import (
    LEAST_CYCLES,
    SteadinessRules,
    Watch,
    judge_steadiness,
    starts_agree,
)
from nashbed.controlplane.contract.trial import Kind, Steadiness
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Rng = np.random.Generator

CYCLE_S = 10.24
"""ProbeRTT's cycle at 40 ms."""
WITHIN = 0.03
FIRST, SECOND = (0, "cubic"), (0, "bbr")


@dataclass(frozen=True)
class Family:
    """Courses that differ by their noise.

    Attributes:
        settled: The share s, in points.
        drift: A, in points.
        tau_s: How fast it is gone.
        noise: Standard deviation of a cycle.
        like: Correlation of a cycle with the one before.
        fast: Amplitude of a second drift that is gone in 30 s.
    """

    settled: float
    drift: float
    tau_s: float
    noise: float
    like: float = 0.0
    fast: float = 0.0

    @property
    def opposite(self) -> Family:
        """This family from the opposite start."""
        return replace(self, drift=-self.drift, fast=-self.fast)

    def course(self, cycles: int, rng: Rng) -> FloatArray:
        """Share of each cycle, shape (cycles,)."""
        t = (np.arange(cycles) + 0.5) * CYCLE_S
        noise = rng.normal(0, 1, cycles)
        for i in range(1, cycles):
            noise[i] = self.like * noise[i - 1] + np.sqrt(1 - self.like**2) * noise[i]
        drift = self.drift * np.exp(-t / self.tau_s) + self.fast * np.exp(-t / 30)
        return np.asarray(np.clip(self.settled + drift + self.noise * noise, 0, 100))

    def __str__(self) -> str:
        drift = f"{self.drift:+g} exp(-t/{self.tau_s:g} s)" if self.drift else "no drift"
        drift += f" {self.fast:+g} exp(-t/30 s)" if self.fast else ""
        like = f", {self.like:g} like the one before" if self.like else ""
        return f"{self.settled:g} {drift}, noise {self.noise:g}{like}"


FAMILIES = (
    *(Family(settled, 20, 600, 1) for settled in (30, 40, 50)),
    *(Family(settled, 20, 300, 1) for settled in (30, 40, 50)),
    Family(40, 20, 60, 1),
    Family(40, 20, 1200, 1),
    Family(40, 20, 600, 3),
    Family(40, 20, 600, 6),
    Family(40, 20, 600, 1, fast=20),
    *(Family(settled, 0, 1, noise) for settled in (20, 40) for noise in (1, 3, 6)),
    Family(40, 0, 1, 6, like=0.5),
)


UNSETTLED = Steadiness(settled=False, window_ns=(0, 1), drifts=())
"""What the rule before says as long as a trial goes on."""


class HalvesWatch:
    """The rule before: both halves of the second half alike, for half of the trial."""

    def __init__(self, rules: SteadinessRules) -> None:
        self._rules = rules
        self._cycles: dict[Kind, list[float]] = {}
        self._unsteady_at = self.made = 0

    def take(self, cycle: Mapping[Kind, float]) -> Steadiness:
        """Take in the next cycle."""
        self.made += 1
        for kind, value in cycle.items():
            self._cycles.setdefault(kind, []).append(value)
        if self.made < LEAST_CYCLES or not all(map(self._alike, self._cycles.values())):
            self._unsteady_at = self.made
        settled = 2 * self._unsteady_at < self.made
        if not settled:
            return UNSETTLED
        return judge_steadiness(self._cycles, self._rules).model_copy(update={"settled": True})

    def _alike(self, values: list[float]) -> bool:
        half = self.made // 4
        last = np.array(values[-2 * half :])
        first, second = last[:half], last[half:]
        error = float(np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / half) / last.mean())
        drift = float((second.mean() - first.mean()) / last.mean())
        return abs(drift) <= self._rules.bound(error)


@dataclass(frozen=True)
class Ended:
    """Where a trial ended.

    Attributes:
        steadiness: At its end.
        measured: Share over its window.
    """

    steadiness: Steadiness
    length_s: float
    measured: float


NewWatch = Callable[[SteadinessRules], Watch | HalvesWatch]


def follow(course: FloatArray, new_watch: NewWatch) -> Ended:
    """Follow a course until its rule ends it.

    Args:
        course: Share of each cycle in points, as many as the longest trial has.
        new_watch: The rule.
    """
    watch = new_watch(SteadinessRules(WITHIN, 1))
    for share in course:
        found = watch.take({FIRST: 100 - share, SECOND: share})
        if found.settled:
            break
    begin, end = found.window_ns
    return Ended(found, end * CYCLE_S, float(course[begin:end].mean()))


def play(family: Family, new_watch: NewWatch, courses: int, most_s: float) -> Iterator[list[Ended]]:
    """Two trials from opposite starts, so many times; the same each time.

    Args:
        family: The courses.
        new_watch: The rule.
        courses: How often.
        most_s: Length of the longest trial.
    """
    rng, cycles = np.random.default_rng(1), int(most_s / CYCLE_S)
    for _ in range(courses):
        yield [follow(f.course(cycles, rng), new_watch) for f in (family, family.opposite)]


def agree(pair: list[Ended]) -> bool:
    """Whether both ended by their rule and agree."""
    found = list(enumerate(each.steadiness for each in pair))
    return all(s.settled for _, s in found) and starts_agree(found, WITHIN)


def line(family: Family, pairs: list[list[Ended]]) -> str:
    """What trials of a family come to: alone, and in pairs that agree."""
    one = [first for first, _ in pairs if first.steadiness.settled]
    both = [pair for pair in pairs if agree(pair)]
    off = [sum(e.measured for e in pair) / 2 - family.settled for pair in both]
    worst = [max(abs(e.measured - family.settled) for e in pair) for pair in both]
    return (
        f"{family!s:58s} ends {len(one) / len(pairs):4.0%} "
        f"{_told([e.length_s for e in one], '{:5.0f} s')} "
        f"bias {_told([e.measured - family.settled for e in one], '{:5.1f}')}   "
        f"agree {len(both) / len(pairs):4.0%} bias {_told(off, '{:5.1f}')} "
        f"worst of a trial {max(worst, default=0):4.1f}"
    )


def _told(values: list[float], form: str) -> str:
    """Median and the middle 90 %."""
    if not values:
        return "-"
    low, middle, high = (form.format(v).strip() for v in np.percentile(values, [5, 50, 95]))
    return f"{middle} ({low} to {high})"


def main(courses: int) -> None:
    """Print a line for each rule and family."""
    rules: dict[str, tuple[NewWatch, float]] = {
        "before, at most 900 s": (HalvesWatch, 900.0),
        "now, at most 1800 s": (Watch, 1800.0),
    }
    for name, (new_watch, most_s) in rules.items():
        print(name)
        for family in FAMILIES:
            print(line(family, list(play(family, new_watch, courses, most_s))), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
