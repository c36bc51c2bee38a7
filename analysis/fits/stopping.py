"""A Monte Carlo of when a trial ends: drifting and noisy shares.

A course is a share in points of the throughput by ProbeRTT cycle, s + A exp(-t/tau) and noise (in
some cases like that of the cycle before); the other strategy has the rest. The trial from the
opposite start has -A.

    python -m nashbed.analysis.fits.stopping 200            # courses of each family
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from nashbed.controlplane.contract.steadiness import SteadinessRules, Watch, starts_agree
from nashbed.controlplane.contract.trial import Steadiness
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Rng = np.random.Generator

CYCLE_S = 10.24
"""ProbeRTT's cycle at 40 ms."""
MOST_S = 1800.0
"""Length of the longest trial."""
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


def follow(course: FloatArray) -> Ended:
    """Follow a course until the rule ends it.

    Args:
        course: Share of each cycle in points, as many as the longest trial has.
    """
    watch = Watch(SteadinessRules(WITHIN, 1))
    for share in course:
        found = watch.take({FIRST: 100 - share, SECOND: share})
        if found.settled:
            break
    begin, end = found.window_ns
    return Ended(found, end * CYCLE_S, float(course[begin:end].mean()))


def play(family: Family, courses: int) -> Iterator[list[Ended]]:
    """Two trials from opposite starts, so many times; the same each time."""
    rng, cycles = np.random.default_rng(1), int(MOST_S / CYCLE_S)
    for _ in range(courses):
        yield [follow(f.course(cycles, rng)) for f in (family, family.opposite)]


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
    """Print a line for each family."""
    for family in FAMILIES:
        print(line(family, list(play(family, courses))), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
