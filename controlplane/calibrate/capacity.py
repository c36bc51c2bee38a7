"""The largest level that passes, where passing is partly chance.

Gates alone do not say what a machine carries: lanes side by side once changed an outcome by a sixth
while every gate passed. So a level passes only if the lone CUBIC flow among BBR flows, whose share
tells most of the machine, gets what it gets with few lanes.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
from scipy import special

from ..config import Loaded, parse_testbed
from ..contract.certificate import LevelAttempt, LoneShare, ProbedShares
from ..contract.errors import ConfigError, HostError, PrerequisiteError
from ..contract.testbed import Testbed
from ..machine.kernels.cache import find_kernel
from ..machine.sessions import check_host
from ..run.active_run import needed_disk_bytes
from ..run.this_machine import ThisMachine
from ..targets import capabilities_of
from .level import HERE, Lanes, LevelRunner, ShowLine, measuring_bed, why_not

Measure = Callable[[int], LevelAttempt]
PANEL_LANES = Lanes()
FEW = 2
"""Lanes of the first level: what lateness and shares are without load."""
VIRTUAL = "name: virtual\ntarget: virtual\n"
VIRTUAL_TRIALS = 12
MARGIN = 0.02
"""The largest difference of the lone flow's share that does not matter."""
GATE = "lone_share"
"""By this name a level fails, as by that of a gate."""
FEW_TIMES = 4
"""How often that level is measured: a share of a few lanes is a matter of chance."""


@dataclass(frozen=True)
class Capacities:
    """What is looked for.

    Attributes:
        start: Number of lanes that the search begins with.
        most: No more lanes than this; None: as many as the testbed has.
        attempts: How often a level may be tried before it counts as failed.
        margin: The largest difference of the lone flow's share that does not matter.
    """

    lanes: Lanes = PANEL_LANES
    start: int = 12
    most: int | None = None
    attempts: int = 2
    margin: float = MARGIN


@dataclass(frozen=True)
class LaneCount:
    """How many lanes a testbed carries.

    Attributes:
        lanes: The largest number of lanes that passed and was confirmed; 0: not even one.
        levels: Every attempt at every level, in order.
    """

    lanes: int
    rate_bps: int
    levels: tuple[LevelAttempt, ...]
    few: LoneShare | None = None
    margin: float = MARGIN

    def shares(self, virtual: LoneShare | None = None) -> ProbedShares | None:
        """What load did to shares; None where no lane says it."""
        if self.few is None:
            return None
        most = [share for level in self.passed_at(self.lanes) for share in level.lone_shares]
        return ProbedShares(
            margin=self.margin, few=self.few, most=lone_share(most), virtual=virtual
        )

    def passed_at(self, lanes: int) -> tuple[LevelAttempt, ...]:
        """The attempts at a level that passed."""
        return tuple(level for level in self.levels if level.lanes == lanes and level.passed)


def measure_lanes(
    testbed: Loaded[Testbed],
    what: Capacities,
    show_line: ShowLine,
    executor: ThisMachine = HERE,
) -> LaneCount:
    """Count the lanes that a testbed carries; nothing is left behind, Ctrl-C included.

    Raises:
        ConfigError: Lanes cannot be counted on this testbed; the reason.
        NashbedError: The machine cannot run anything, the disk is full, or the person stopped it.
    """
    reason = why_not(testbed.model, capabilities_of(testbed.model), what.lanes.rate)
    if reason:
        raise ConfigError(f"{testbed.name}: {reason}")
    bed = measuring_bed(testbed, what.lanes.rate)
    runner = LevelRunner(bed, what.lanes, executor)
    largest = _largest(runner, what)
    seeds = count(1)

    def measure(lanes: int, few: LoneShare | None = None) -> LevelAttempt:
        made = judged(runner.once(lanes, next(seeds)), few, what.margin)
        show_line(as_line(made))
        return made

    first = Search(measure, what.attempts)
    passes = [first.passes(min(FEW, largest)) for _ in range(FEW_TIMES)]
    if not any(passes) and all(m.lateness is None for m in first.made):
        raise HostError(f"{testbed.name}: no lane finished: {first.made[-1].reason}")
    few = lone_share([share for m in first.made if m.passed for share in m.lone_shares])
    search = Search(lambda lanes: measure(lanes, few), what.attempts, first.made)
    lanes = search.most(what.start, largest)
    return LaneCount(lanes, lanes * what.lanes.rate.bps, tuple(search.made), few, what.margin)


def virtual_share(lanes: Lanes) -> LoneShare | None:
    """What the lone flow gets in virtual time, where no load can change it.

    Returns:
        Its share; None where no guest's kernel is built.
    """
    try:
        find_kernel()
    except PrerequisiteError:
        return None
    return lone_share(LevelRunner(parse_testbed(VIRTUAL, "virtual"), lanes).shares(VIRTUAL_TRIALS))


def check_machine(testbed: Loaded[Testbed], what: Capacities) -> None:
    """Everything about the machine that is checked before anything is touched."""
    runner = LevelRunner(measuring_bed(testbed, what.lanes.rate), what.lanes)
    _, plan = runner.plan(_largest(runner, what))
    check_host(testbed.model, Path(tempfile.gettempdir()), needed_disk_bytes(plan))


class Search:
    """Grows from a level that may be known, bisects, then confirms what it found.

    A level passes when one of its attempts does: on a machine that others use as well, a
    single failure says little. Whatever is found passed twice, in two tries of its own.

    Args:
        attempts: How often a level may be tried before it counts as failed.
        made: Attempts that were made before.
    """

    def __init__(self, measure: Measure, attempts: int, made: Sequence[LevelAttempt] = ()) -> None:
        self._measure = measure
        self._attempts = attempts
        self.made = list(made)

    def most(self, start: int, largest: int) -> int:
        """The largest level that passes and is confirmed; 0 when not even 1 does."""
        passed, failed = self._bracket(max(1, min(start, largest)), largest)
        while failed - passed > 1:
            middle = (passed + failed) // 2
            passed, failed = (middle, failed) if self.passes(middle) else (passed, middle)
        return self._confirmed(passed)

    def passes(self, level: int) -> bool:
        """Whether one of a level's attempts passes."""
        return any(self._once(level) for _ in range(self._attempts))

    def _once(self, level: int) -> bool:
        self.made.append(self._measure(level))
        return self.made[-1].passed

    def _bracket(self, start: int, largest: int) -> tuple[int, int]:
        """A level that passes (or 0) and one above that does not."""
        if not self.passes(start):
            below = (made.lanes for made in self.made if made.passed and made.lanes < start)
            return max(below, default=0), start
        level = start
        while level < largest:
            # By half: far above what a machine carries, a level takes long to fail.
            above = min(level + (level + 1) // 2, largest)
            if not self.passes(above):
                return level, above
            level = above
        return level, largest + 1

    def _confirmed(self, level: int) -> int:
        """The level, or the next one below that passes now."""
        return next(each for each in count(level, -1) if each == 0 or self._again(each))

    def _again(self, level: int) -> bool:
        """A level that passed before must pass once more; one that was not tried, twice."""
        known = any(made.passed for made in self.made if made.lanes == level)
        return (known or self.passes(level)) and self.passes(level)


def lone_share(shares: Sequence[float]) -> LoneShare | None:
    """Mean of the lanes and its Student t interval; None without a lane.

    Args:
        shares: Of each lane, 0 to 1.
    """
    values = np.array(shares)
    n = len(values)
    if n == 0:
        return None
    if n == 1:
        return LoneShare(mean=float(values[0]), ci95=None, lanes=1)
    error = float(values.std(ddof=1)) / n**0.5
    return LoneShare(
        mean=float(values.mean()), ci95=float(special.stdtrit(n - 1, 0.975)) * error, lanes=n
    )


def judged(made: LevelAttempt, few: LoneShare | None, margin: float = MARGIN) -> LevelAttempt:
    """The attempt, failed where load changed the lone flow's share.

    Args:
        few: What the flow gets with few lanes side by side; None: not known.
        margin: The largest difference that does not matter.
    """
    now = lone_share(made.lone_shares)
    if not made.passed or few is None or now is None or abs(now.mean - few.mean) <= margin:
        return made
    reason = (
        f"{GATE}: the CUBIC flow among BBR flows gets {now.in_percent()} of the throughput, "
        f"{few.in_percent()} with few lanes"
    )
    return made.model_copy(update={"passed": False, "failed": {GATE: made.lanes}, "reason": reason})


def _largest(runner: LevelRunner, what: Capacities) -> int:
    """How many lanes fit, by number, flow table and packet memory, and are wanted."""
    _, plan = runner.plan(runner.testbed.model.dataplane.lanes)
    return plan.lanes if what.most is None else min(plan.lanes, what.most)


def as_line(made: LevelAttempt) -> str:
    """An attempt for a person."""
    parts = [f"{made.lanes} lanes, {made.rate_bps / 1e6:g} Mbit/s"]
    if made.passed:
        parts.append("every gate passed")
    else:
        gates = ", ".join(f"{gate} of {lanes}" for gate, lanes in made.failed.items())
        parts.append(f"failed ({gates or made.reason})")
    if made.lateness is not None:
        parts.append(f"p99.9 lateness {made.lateness.p999_ns / 1000:.0f} us")
    if (error := made.round_trip_error) is not None:
        mean_us, max_ms = error.mean_ns / 1000, error.max_ns / 1e6
        parts.append(f"round trips {mean_us:.1f} us too long on average, {max_ms:.2g} ms at most")
    if (lone := lone_share(made.lone_shares)) is not None:
        parts.append(f"the lone CUBIC flow gets {lone.in_percent()}")
    parts += [
        f"core {core.core}: {core.user:.0%} user, {core.system:.0%} system, "
        f"{core.softirq:.0%} softirq, {core.idle:.0%} idle"
        for core in made.cores
    ]
    return "; ".join(parts)
