"""Mixes that show what harm flows do to a victim: alone, beside its own kind, beside others."""

from collections.abc import Sequence
from typing import Literal

from .model import ContractModel, Name

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

    def mixes(self, strategies: Sequence[str], flows: int) -> list[dict[str, int]]:
        """Strategy -> flows of each mix; first, the victim alone.

        Args:
            strategies: The scenario's.
            flows: Flows of its mix.
        """
        victim = self.harm_to
        if victim not in strategies:
            return [{}, *({strategy: flows} for strategy in strategies)]
        others = [s for s in strategies if s != victim]
        beside = [{victim: 1, other: flows - 1} for other in others]
        return [{victim: 1}, {victim: flows}, *beside]
