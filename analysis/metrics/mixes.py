"""What is said of mixes: where per-flow lines cross, who runs on short RTTs, who gains alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise


@dataclass(frozen=True)
class Crossing:
    """Where the second strategy's per-flow lead ends.

    Attributes:
        at: Number of flows of the second strategy, a fraction between two mixes.
        between: The measured mixes on both sides (the same twice: exactly at a mix).
    """

    at: float
    between: tuple[int, int]


def crossings(first: Mapping[int, float], second: Mapping[int, float]) -> list[Crossing]:
    """Every place where the second strategy's per-flow value falls to the first's or below.

    Between two neighbouring measured mixes both lines are taken as straight. Where the
    second rises through the first is no crossing of this kind: switching to it there gains.

    Args:
        first: Flows of the second strategy -> value of a flow of the first strategy.
        second: The same -> value of a flow of the second strategy.

    Returns:
        The crossings in order of the number of flows; empty if the second leads everywhere, or
        trails from its first flow on.

    Source: "NE where lambda_b / N_b = C / N" of Mishra, Tiu, Leong, IMC 2022, section 4;
    the first one rounded up is `first_crossing` of Srivastava et al., CNERT 2023.
    """
    counts = sorted(set(first) & set(second))
    lead = {k: second[k] - first[k] for k in counts}
    result: list[Crossing] = []
    for low, high in pairwise(counts):
        if lead[low] > 0 >= lead[high]:
            at = low + (high - low) * lead[low] / (lead[low] - lead[high])
            result.append(Crossing(at, (low, high) if lead[high] < 0 else (high, high)))
    return result


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


def goodput_gain(first: float, second: float) -> float:
    """(second - first) / first (unit 1): 1.15 is 115 % more, -0.5 is half.

    Args:
        first: Goodput with the first CCA.
        second: Goodput with the second one, in the same unit.

    Returns:
        The gain; NaN if the first got nothing or one of them was not measured.

    Source: Cao et al., IMC 2019, section 3.1.
    """
    return (second - first) / first if first > 0 else float("nan")
