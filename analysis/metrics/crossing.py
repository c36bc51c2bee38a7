"""Where the per-flow lines of two strategies cross."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise


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
