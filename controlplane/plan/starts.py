"""When each flow of a trial is to start, and which flows are one process."""

from __future__ import annotations

import random
from collections.abc import Sequence

from ..contract.course import SettledDuration, most_jitter_ns, planned_start_ns
from ..contract.scenario import FlowGroup, Scenario
from .seeds import derive


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
    settles = isinstance(scenario.duration, SettledDuration)
    most = most_jitter_ns(scenario.start, scenario.start_jitter, settles, repetition)
    jitter = random.Random(derive(seed, "start", index)).randint(0, most)  # noqa: S311 - no secret
    return group.start_offset.ns + planned_start_ns(scenario.start, strategy, index) + jitter


def processes(flows: Sequence[tuple[int, str]]) -> list[int]:
    """The iperf3 process of each flow: one for each strategy and group, in order of appearance.

    Args:
        flows: Group and strategy of each flow.
    """
    numbers: dict[tuple[int, str], int] = {}
    return [numbers.setdefault(flow, len(numbers)) for flow in flows]
