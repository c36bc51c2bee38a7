"""Mixes that show what harm flows do to a victim: alone, beside its own kind, beside others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .model import ContractModel, Name
from .traffic import OF_MIX
from .units import Duration

if TYPE_CHECKING:
    from .scenario import FlowGroup, Scenario

HarmedMetric = Literal[
    "per_flow_throughput",
    "mean_rtt",
    "per_flow_loss_rate",
    "flow_completion_time",
    "p99_flow_completion_time",
    "p95_one_way_delay",
    "p99_one_way_delay",
    "datagram_loss_rate",
    "video_bitrate",
    "rebuffering_share",
]
"""Metrics of a victim; it has those of its kind."""


class HarmMixes(ContractModel):
    """Mixes that show what harm each strategy does to a victim (Ware et al., HotNets 2019).

    Attributes:
        harm_to: The victim. A strategy: one flow of it runs alone, and beside all other flows of
            the group, which run each of the strategies in turn, its own included. Or a group with
            a `strategy` of its own: it runs alone, and beside flows that all run each strategy.
    """

    harm_to: Name

    def is_strategy(self, scenario: Scenario) -> bool:
        """Whether the victim is a flow of the mix."""
        return self.harm_to in scenario.strategies

    def mixes(self, scenario: Scenario) -> list[dict[str, int]]:
        """Strategy -> flows of each mix; first, the victim alone."""
        flows, victim = scenario.mixed[0].count, self.harm_to
        if not self.is_strategy(scenario):
            return [{}, *({strategy: flows} for strategy in scenario.strategies)]
        others = [s for s in scenario.strategies if s != victim]
        beside = [{victim: 1, other: flows - 1} for other in others]
        return [{victim: 1}, {victim: flows}, *beside]


def check_harm(scenario: Scenario, mixes: HarmMixes) -> None:
    """Refuse a victim that there is not, and mixes in which it has no company.

    Raises:
        ValueError: In one line that names the key.
    """
    if len(scenario.mixed) != 1:
        raise ValueError("sweep.mixes: harm_to needs a scenario with one flow group in the mix")
    background = [group.name for group in scenario.flows if _runs_alone(group)]
    if mixes.harm_to not in {*scenario.strategies, *background}:
        known = ", ".join([*scenario.strategies, *background])
        raise ValueError(
            f"sweep.mixes.harm_to: {mixes.harm_to!r} is neither a strategy nor a group with a "
            f"`strategy` of its own ({known})"
        )
    if not mixes.is_strategy(scenario):
        _check_alone(scenario)
    elif scenario.mixed[0].count < 2:
        raise ValueError(
            "sweep.mixes.harm_to: a flow that is alone in its group has nobody beside it; write "
            "`count: 2` or more"
        )


def _runs_alone(group: FlowGroup) -> bool:
    """Whether a group is the same whatever the mix is."""
    return not group.mixed and (group.udp is not None or group.strategy != OF_MIX)


def _check_alone(scenario: Scenario) -> None:
    """Without a flow of the mix, nothing says when a trial has settled or its flows have begun."""
    if not isinstance(scenario.duration, Duration):
        raise ValueError(
            "sweep.mixes.harm_to: a group that is alone cannot settle; write a fixed `duration`"
        )
    if scenario.window == "whole" or scenario.start == "iperf3":
        key = "window: whole" if scenario.window == "whole" else "start: iperf3"
        raise ValueError(
            f"sweep.mixes.harm_to: a group that is alone has no flows of the mix, whose times "
            f"`{key}` is about; remove it"
        )


def check_harm_bound(scenario: Scenario, where: str, by: str) -> None:
    """Refuse a bound on harm that the run will not show.

    Args:
        scenario: The scenario.
        where: The bound's place in it.
        by: The strategy that does the harm.

    Raises:
        ValueError: In one line that names the key.
    """
    if not isinstance(scenario.sweep.mixes, HarmMixes):
        raise ValueError(
            f"{where}: harm takes a victim alone; write `sweep: {{mixes: {{harm_to: ...}}}}`"
        )
    if by not in scenario.strategies:
        known = ", ".join(scenario.strategies)
        raise ValueError(f"{where}.by: {by!r} is not among the strategies ({known})")
