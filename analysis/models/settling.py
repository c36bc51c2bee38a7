"""How long a mix takes to settle, by the fluid model: how long a trial of it must be.

What a reader wants to know is from which length on the result of a trial depends neither on when
the trial ends nor on who started first. So several courses of the mix are simulated: with the
flows started as planned, and with each CCA some seconds ahead of the others, each
with several seeds. A trial of length T stands for its second half, in whole ProbeRTT cycles, as
with `duration: {until: settled}`. The mix is settled from T on if at T and at every longer length
the throughput of each kind of flows, by each of the starts, is within `WITHIN` of its mean over
the second half of all of the longest courses. Differences that may be chance do not count. That
mean must itself be steady: the halves of the second half agree, and so do the starts. While it is
not, or while T is more than half of them, courses are made longer.

A trial (contract.steadiness) is judged by its own course, to which exponentials are fitted, and by
one more from the opposite start; here many courses are at hand. An earlier rule of trials compared
halves of one course alone, which the noise of a few flows kept from its end for long after shares
had stopped to drift. At 100 Mbit/s, 40 ms, 0.5 BDP and 10 of 50 flows BBR, where 120 s give the
share of an hour within 1 %, it stopped nine courses of a prototype after 215 to 1,239 s, and at 50
BDP, where 120 s give a third to a half of it, after 1,300 s to never. By the
definition here, four groups of seeds say 41 s each and 360 to 460 s. And courses from opposite
starts agree only where both have settled, while a slow drift looks steady to a course by itself.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from nashbed.controlplane.contract.course import PROBE_RTT_CYCLE_NS, SettledDuration
from nashbed.controlplane.contract.units import NS_PER_S
from numpy.typing import NDArray

from .competition import Competition
from .fluid import FITTED, Course, simulate

FloatArray = NDArray[np.float64]
Simulate = Callable[[Competition, int], Course]
"""A competition and a seed -> its course."""

WITHIN = SettledDuration(until="settled").within.fraction
"""Difference that counts as none: as by default of a trial that runs until it is settled."""
NOISE_BOUND = 3.0
"""Standard errors within which a difference may be chance; dozens of them are looked at."""
LENGTHS_S = (225.0, 450.0, 900.0, 1800.0)
"""Lengths of the simulations; the next is used where the one before is too short to tell."""
SEEDS = (1, 2)
AHEAD_S = 5.0
"""How much earlier one CCA starts in the courses by who starts first."""
STEP = 1.25
"""From one length that is looked at to the next."""
LEAST_CYCLES = 4
"""Fewest cycles of a trial that is judged: two in its second half."""


@dataclass(frozen=True)
class SettlingTime:
    """When a mix has settled.

    Attributes:
        after_s: Length in seconds from which on the second half of a trial shows the settled
            shares; infinite: not within the courses.
        low_s: The least that is found with one seed left out.
        high_s: The most.
        simulated_s: Length of the longest courses.
        settled: Part of the throughput that each kind of flows has in their second halves,
            shape (G,).
        planned: The same over the competition's measured time, or what of it is within the courses,
            by each of the starts (as planned, then with each CCA ahead), shape (S, G).
        transient: Whether that is not the settled part, by one of the starts at least.
    """

    competition: Competition
    after_s: float
    low_s: float
    high_s: float
    simulated_s: float
    settled: FloatArray
    planned: FloatArray
    transient: bool

    def settled_share(self, cca: str) -> float:
        """Settled part of the throughput of the flows of a CCA."""
        return float(self.settled[self._of(cca)].sum())

    def planned_shares(self, cca: str) -> FloatArray:
        """Part over the measured time of the flows of a CCA, by each start, shape (S,)."""
        return np.asarray(self.planned[:, self._of(cca)].sum(axis=1))

    def _of(self, cca: str) -> NDArray[np.bool_]:
        return np.array([kind.cca == cca for kind in self.competition.kinds])


def course_of(competition: Competition, seed: int) -> Course:
    """The course of a competition by the fluid model.

    Raises:
        FluidNotBuiltError: The library has not been built.
        ModelError: A CCA is not known, or there is too much to simulate.
    """
    return simulate(competition, seed, FITTED).course


def settling_of(
    competition: Competition,
    course: Simulate = course_of,
    lengths_s: Sequence[float] = LENGTHS_S,
) -> SettlingTime:
    """When a mix has settled.

    Args:
        competition: What competes, with its starts and measured time.
        lengths_s: Lengths of the courses, shortest first.

    Raises:
        FluidNotBuiltError: The library has not been built.
        ModelError: The model does not speak of this.
    """
    long_enough = [length_s for length_s in lengths_s if length_s >= competition.duration_s]
    for length_s in long_enough or lengths_s[-1:]:
        ensemble = _simulated(competition, length_s, course)
        after_s = ensemble.after_s
        if after_s <= length_s / 2:
            break
    fewer = (ensemble.without(i).after_s for i in range(len(SEEDS)))
    found = [after_s, *(each for each in fewer if each < math.inf)]
    planned = ensemble.planned(competition)
    return SettlingTime(
        competition,
        after_s,
        min(found),
        max(found),
        length_s,
        ensemble.settled / ensemble.settled.sum(),
        planned / planned.sum(axis=1, keepdims=True),
        ensemble.is_transient(competition),
    )


def by_who_starts_first(competition: Competition) -> tuple[Competition, ...]:
    """A competition as it is planned, and with the flows of each CCA ahead of all others."""
    ccas = dict.fromkeys(kind.cca for kind in competition.kinds)
    ahead = (
        replace(
            competition,
            kinds=tuple(
                replace(kind, start_s=0.0 if kind.cca == first else AHEAD_S)
                for kind in competition.kinds
            ),
        )
        for first in ccas
    )
    return (competition, *ahead)


def _simulated(competition: Competition, length_s: float, course: Simulate) -> _Ensemble:
    """Courses by each start and with each seed."""
    starts = [
        replace(each, duration_s=length_s, measured_from_s=0.0)
        for each in by_who_starts_first(competition)
    ]
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        courses = list(workers.map(lambda pair: course(*pair), product(starts, SEEDS)))
    total = np.stack([np.cumsum(each.departed_bytes, axis=0) for each in courses])
    total = np.concatenate([np.zeros_like(total[:, :1]), total], axis=1)
    shape = (len(starts), len(SEEDS), *total.shape[1:])
    rtt_s = max(kind.base_rtt_s for kind in competition.kinds)
    return _Ensemble(total.reshape(shape), courses[0].bin_s, PROBE_RTT_CYCLE_NS / NS_PER_S + rtt_s)


@dataclass(frozen=True)
class _Ensemble:
    """Courses of a competition, by start and seed.

    Attributes:
        total: Bytes of each kind that had departed at the edges of bins, shape (S, K, T + 1, G).
        bin_s: Length of a bin in seconds.
        cycle_s: Length of a ProbeRTT cycle.
    """

    total: FloatArray
    bin_s: float
    cycle_s: float

    def without(self, seed: int) -> _Ensemble:
        """This ensemble with one seed left out."""
        return replace(self, total=np.delete(self.total, seed, axis=1))

    @property
    def cycles(self) -> int:
        """Whole cycles of a course."""
        return int((self.total.shape[2] - 1) * self.bin_s / self.cycle_s)

    @property
    def settled(self) -> FloatArray:
        """Mean bytes of each kind in a cycle of the second halves, shape (G,)."""
        return np.asarray(self.mean(self.cycles / 2, self.cycles).mean(axis=(0, 1)))

    @property
    def after_s(self) -> float:
        """Length from which on a trial is settled; infinite where these courses do not tell."""
        if not self._is_steady:
            return math.inf
        after, cycles = math.inf, self.cycles / STEP
        while cycles >= LEAST_CYCLES and self.agrees(int(cycles) / 2, int(cycles)):
            after, cycles = int(cycles) * self.cycle_s, cycles / STEP
        return after

    def mean(self, begin: float, end: float) -> FloatArray:
        """Mean bytes in a cycle from one cycle to another, shape (S, K, G)."""
        sums = self._total_at(end * self.cycle_s) - self._total_at(begin * self.cycle_s)
        return np.asarray(sums / (end - begin))

    def planned(self, competition: Competition) -> FloatArray:
        """Mean bytes in a cycle of the measured time by each of the starts, shape (S, G)."""
        means = [self.mean(*span).mean(axis=1) for span in self._spans(competition)]
        return np.array([mean[start] for start, mean in enumerate(means)])

    def is_transient(self, competition: Competition) -> bool:
        """Whether the measured time does not give what is settled, by one of the starts."""
        return not all(
            self.agrees(*span, slice(start, start + 1))
            for start, span in enumerate(self._spans(competition))
        )

    def _spans(self, competition: Competition) -> list[tuple[float, float]]:
        """What of the measured time is within the courses, in cycles, for each of the starts.

        Where flows start that much later than others, the time before does not count.
        """
        end = min(competition.duration_s / self.cycle_s, float(self.cycles))
        begin = competition.measured_from_s / self.cycle_s
        later = max(begin, 2 * AHEAD_S / self.cycle_s)
        begins = [begin] + [later if later < end else begin] * (self.total.shape[0] - 1)
        return [(each if each < end else max(0.0, end - 1), end) for each in begins]

    def agrees(self, begin: float, end: float, starts: slice = slice(None)) -> bool:
        """Whether some cycles, from one to another, give what is settled, by each of the starts."""
        means = self.mean(begin, end).mean(axis=1)[starts]
        return self._is_small(means - self.settled, self._error(end - begin, self.total.shape[1]))

    @property
    def _is_steady(self) -> bool:
        """Whether the second halves are alike: their first and second parts, and by start."""
        end, part = self.cycles, self.cycles / 4
        drift = self.mean(end - part, end) - self.mean(end - 2 * part, end - part)
        error = self._error(part, drift.shape[0] * drift.shape[1]) * math.sqrt(2)
        return self._is_small(drift.mean(axis=(0, 1)), error) and self.agrees(end / 2, end)

    def _is_small(self, difference: FloatArray, error: FloatArray) -> bool:
        """Whether differences, shape (..., G), are below the bound or may be chance, shape (G,)."""
        bound = np.maximum(WITHIN * self.settled, NOISE_BOUND * error)
        return bool((np.abs(difference) <= bound).all())

    def _error(self, cycles: float, courses: int) -> FloatArray:
        """Standard error of what so many cycles of so many courses differ from the settled by.

        Of less than a cycle it is that of one: within a cycle bytes are not independent.
        """
        cycles = max(1.0, cycles)
        settled = self.cycles / 2 * self.total.shape[0] * self.total.shape[1]
        return np.asarray(np.sqrt(self._variance * (1 / (cycles * courses) + 1 / settled)))

    @cached_property
    def _variance(self) -> FloatArray:
        """Variance that a cycle adds to a sum, whatever the start, shape (G,).

        Cycles in a row are not independent, so that it is from the quarters of the second halves
        (batch means: Law, Simulation Modeling and Analysis, 9.5.3).
        """
        size = self.cycles / 8
        ends = [self.cycles - i * size for i in range(4)]
        batches = np.stack([self.mean(end - size, end) for end in ends], axis=2)
        starts, seeds, quarters, kinds = batches.shape
        by_start = batches.reshape(starts, seeds * quarters, kinds)
        return np.asarray(by_start.var(axis=1, ddof=1).mean(axis=0) * size)

    def _total_at(self, time_s: float) -> FloatArray:
        """Bytes that had departed by then, straight between the edges of bins, shape (S, K, G)."""
        place = min(time_s / self.bin_s, self.total.shape[2] - 1.0)
        before = int(place)
        after = min(before + 1, self.total.shape[2] - 1)
        part = place - before
        return np.asarray(self.total[:, :, before] * (1 - part) + self.total[:, :, after] * part)
