"""When each flow of a trial is to start, and which flows are one process."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ..contract.course import (
    OffsetStart,
    OrderedStart,
    RandomStart,
    SettledDuration,
    StaggeredStart,
)
from ..contract.scenario import FlowGroup, Scenario
from .seeds import derive

WIDE_JITTER_NS = 10 * 10**9
"""All of a ProbeRTT cycle: flows that start within it do not probe together for good."""


def start_ns(
    scenario: Scenario, group: FlowGroup, strategy: str, index: int, repetition: int, seed: int
) -> int:
    """When a flow starts after the common start t0.

    An iperf3 process decides by itself when its flows start: 0.

    Args:
        scenario: Says how flows start.
        group: The flow's group.
        strategy: Its strategy.
        index: Its number in the trial.
        repetition: Of the trial.
        seed: The attempt's; each flow's jitter has a seed of its own.
    """
    if scenario.start == "iperf3":
        return 0
    jitter = random.Random(derive(seed, "start", index))  # noqa: S311 - no secret
    start = group.start_offset.ns + _planned_ns(scenario, strategy, index)
    return start + jitter.randint(0, _jitter_ns(scenario, repetition))


def _planned_ns(scenario: Scenario, strategy: str, index: int) -> int:
    start = scenario.start
    if isinstance(start, StaggeredStart):
        return start.staggered.ns * index
    if isinstance(start, OrderedStart):
        return start.gap.ns * start.order.index(strategy)
    if isinstance(start, OffsetStart) and strategy in start.offsets:
        return start.offsets[strategy].ns
    return 0


def _jitter_ns(scenario: Scenario, repetition: int) -> int:
    """Every other repetition of a trial that is to settle starts spread out.

    ProbeRTT phases that fall together from a common start stay together for long.
    """
    start, jitter_ns = scenario.start, scenario.start_jitter.ns
    if isinstance(start, RandomStart):
        return start.random.ns + jitter_ns
    if isinstance(scenario.duration, SettledDuration) and repetition % 2 == 1:
        return max(jitter_ns, WIDE_JITTER_NS)
    return jitter_ns


def processes(flows: Sequence[tuple[int, str]]) -> list[int]:
    """The iperf3 process of each flow: one for each strategy and group, in order of appearance.

    Args:
        flows: Group and strategy of each flow.
    """
    numbers: dict[tuple[int, str], int] = {}
    return [numbers.setdefault(flow, len(numbers)) for flow in flows]
