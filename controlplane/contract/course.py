"""The course of a trial: how its flows start, how long it lasts, and which part of it counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from .model import ContractModel
from .units import Duration, Share

StrategyName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,14}$")]

PROBE_RTT_CYCLE_NS = 10_200_000_000
"""Time from one ProbeRTT phase of BBR to the next: 10 s without a new minimum RTT, and the 200 ms
of the phase itself (bbr_min_rtt_win_sec and bbr_probe_rtt_mode_ms of Linux's tcp_bbr.c)."""
EITHER_FIRST = "either first"
"""In tables: some trials started one way and some the other way round."""

LEAST_SETTLED_CYCLES = 15
"""Fewest cycles of a trial that is to settle: twelve of them are fitted and six are measured."""


class StaggeredStart(ContractModel):
    """One flow after the other, in the order of the mix.

    Attributes:
        staggered: The gap between two starts.
    """

    staggered: Duration


class OrderedStart(ContractModel):
    """One strategy after the other.

    Attributes:
        order: Every strategy, the one that starts first in front.
        gap: How much later the next one starts.
    """

    order: Annotated[tuple[StrategyName, ...], Field(min_length=2)]
    gap: Duration


class OffsetStart(ContractModel):
    """Strategies with a delay of their own.

    Attributes:
        offsets: How long after the common start a strategy's flows start; those that are not named
            start at once.
    """

    offsets: dict[StrategyName, Duration]


class RandomStart(ContractModel):
    """Every flow at an instant of its own.

    Attributes:
        random: The span over which the starts are spread evenly, at random from the seed.
    """

    random: Duration


WIDE_JITTER_NS = 10 * 10**9
"""All of a ProbeRTT cycle: flows that start within it do not probe together for good."""


AHEAD_NS = 5 * 10**9
"""How much earlier one strategy starts than the next in trials that are to settle."""


StartSpec = (
    Literal["together", "iperf3"] | StaggeredStart | OrderedStart | OffsetStart | RandomStart
)
"""How flows start. `together`: at once, but for `start_jitter`. `iperf3`: as by one iperf3 process
for each strategy and flow group, all started at once; each connects its streams one after the
other and sends for the trial's duration when all are there."""


def start_label(start: StartSpec) -> str:
    """A start as a part of file names, e.g. `bbr-cubic-5s`."""
    if isinstance(start, str):
        return start
    if isinstance(start, StaggeredStart):
        return f"staggered{start.staggered}"
    if isinstance(start, OrderedStart):
        return "-".join([*start.order, str(start.gap)])
    if isinstance(start, OffsetStart):
        return "-".join(f"{name}{offset}" for name, offset in start.offsets.items()) or "together"
    return f"random{start.random}"


def start_text(start: StartSpec) -> str:
    """A start in words, e.g. `bbr, then cubic 5s later`."""
    if isinstance(start, str):
        return "from a start by iperf3" if start == "iperf3" else "from a common start"
    if isinstance(start, StaggeredStart):
        return f"starts {start.staggered} apart"
    if isinstance(start, OrderedStart):
        return f"{', then '.join(start.order)} {start.gap} later"
    if isinstance(start, OffsetStart):
        late = ", ".join(f"{name} {offset} late" for name, offset in start.offsets.items())
        return late or start_text("together")
    return f"starts within {start.random}"


def starts_label(starts: Sequence[StartSpec]) -> str:
    """Starts that repetitions have in turns, as a value of a table."""
    return start_label(starts[0]) if len(starts) == 1 else EITHER_FIRST


def starts_text(starts: Sequence[StartSpec]) -> str:
    """Starts that repetitions have in turns, in words."""
    return start_text(starts[0]) if len(starts) == 1 else "from either start"


def planned_start_ns(start: StartSpec, strategy: str, index: int) -> int:
    """When a flow is to start after its group's start, without its jitter.

    Args:
        start: How flows start; an iperf3 process decides by itself when its flows do: 0.
        index: Its number in the trial.
    """
    if isinstance(start, StaggeredStart):
        return start.staggered.ns * index
    if isinstance(start, OrderedStart):
        return start.gap.ns * start.order.index(strategy)
    if isinstance(start, OffsetStart) and strategy in start.offsets:
        return start.offsets[strategy].ns
    return 0


def settling_start(
    start: StartSpec, strategies: Sequence[StrategyName], repetition: int
) -> StartSpec:
    """How a repetition of a trial that is to settle starts: every other one the other way round.

    Shares that do not depend on the start any more are the same from both. As the other way round
    is with a wide jitter (see `most_jitter_ns`), those that start later start so much later.

    Args:
        start: The scenario's; `together`: in the order of the strategies, 5 s apart.
    """
    if start == "together":
        start = OrderedStart(order=tuple(strategies), gap=Duration(AHEAD_NS))
    if repetition % 2 == 0:
        return start
    if isinstance(start, OrderedStart):
        gap = Duration(start.gap.ns + WIDE_JITTER_NS)
        return OrderedStart(order=start.order[::-1], gap=gap)
    if isinstance(start, OffsetStart):
        latest = max((offset.ns for offset in start.offsets.values()), default=0)
        before = {s: start.offsets[s].ns if s in start.offsets else 0 for s in strategies}
        later = {s: latest - ns for s, ns in before.items() if ns < latest}
        return OffsetStart(offsets={s: Duration(ns + WIDE_JITTER_NS) for s, ns in later.items()})
    return start


def most_jitter_ns(start: StartSpec, jitter: Duration, settles: bool, repetition: int) -> int:
    """How much later than planned a flow may start.

    Every other repetition of a trial that is to settle starts spread out: ProbeRTT phases that
    fall together from a common start stay together for long.

    Args:
        start: How flows start; with `iperf3` they have none.
        settles: Whether the trial runs until it is settled.
    """
    if start == "iperf3":
        return 0
    if isinstance(start, RandomStart):
        return start.random.ns + jitter.ns
    return max(jitter.ns, WIDE_JITTER_NS) if settles and repetition % 2 == 1 else jitter.ns


class SettledDuration(ContractModel):
    """A trial that ends when every strategy's share is steady.

    What counts is the mean over the second half of the trial so far, in whole ProbeRTT cycles, for
    every strategy relative to its own throughput. The trial ends when exponentials fitted to its
    course say with 95 % confidence that this will not change any more, at three cycles in a row.
    Repetitions start the other way round in turn; a mix has settled when both agree.

    Attributes:
        until: `settled`.
        at_least: The shortest trial.
        at_most: The longest; a trial that is not settled by then says so.
        within: Remaining change that counts as none. Up to twice as much does where its standard
            error is as large as half of that.
    """

    until: Literal["settled"]
    at_least: Duration = Duration(60_000_000_000)
    at_most: Duration = Duration(1_800_000_000_000)
    within: Share = Share(30_000_000)

    @model_validator(mode="after")
    def _check(self) -> SettledDuration:
        if self.at_least.ns > self.at_most.ns:
            raise ValueError(
                f"at_least: {self.at_least} is longer than at_most ({self.at_most}); swap them"
            )
        least = LEAST_SETTLED_CYCLES * PROBE_RTT_CYCLE_NS
        if self.at_most.ns < least:
            raise ValueError(
                f"at_most: {self.at_most} is too short to tell; write at least {Duration(least)}, "
                f"{LEAST_SETTLED_CYCLES} ProbeRTT cycles"
            )
        if not 0 < self.within.ppb < 10**9:
            raise ValueError(f"within: {self.within} is out of range; write e.g. 3%")
        return self

    def __str__(self) -> str:
        return f"until settled, {self.at_least} to {self.at_most}"


WindowSpec = Literal["after_warmup", "whole"]
"""Which part of a trial counts: all but the warm-up, or each strategy from its own first to its own
last byte, what drains from the queue after its end included, as iperf3's `sum_received` has it."""
