"""Whether a strategy's flows are the ones with the shortest base RTTs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby


def rtt_order(counts: Sequence[int], sizes: Sequence[int], base_rtt_ns: Sequence[int]) -> float:
    """Share of a strategy's flows that are among as many flows with the shortest base RTTs.

    Of K flows that run the strategy, those count that would run it too if it were on the K
    shortest base RTTs. Groups of one base RTT are one group here.

    Args:
        counts: Flows of the strategy in each flow group.
        sizes: Flows of each group.
        base_rtt_ns: Base RTT of each group.

    Returns:
        The share, unit 1; 1: no flow of another strategy has a shorter base RTT than one of these.
        NaN if no flow runs the strategy.

    Source: "CUBIC flows at the NE are the ones with the shortest RTTs", Mishra et al., APNet 2021,
    and Mishra, Tiu, Leong, IMC 2022, fig. 10, as a number.
    """
    total = left = sum(counts)
    in_order = 0
    groups = sorted(zip(base_rtt_ns, counts, sizes, strict=True))
    for _, equal in groupby(groups, key=lambda group: group[0]):
        members = list(equal)
        places = min(left, sum(size for _, _, size in members))
        in_order += min(places, sum(count for _, count, _ in members))
        left -= places
    return in_order / total if total else float("nan")
