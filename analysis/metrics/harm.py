"""Harm: what a flow's competitors take from it, by any metric of it."""

import math


def harm_of_more(alone: float, beside: float) -> float:
    """Harm in a metric of which more is better, such as throughput (unit 1).

    Args:
        alone: Its value without competitors.
        beside: Its value beside them.

    Returns:
        (alone - beside) / alone: 0, none; 1, all of it is gone; negative, a benefit.

    Source: Ware, Mukerjee, Seshan, Sherry, "Beyond Jain's Fairness Index", HotNets 2019.
    """
    return (alone - beside) / alone if alone > 0 else math.nan


def harm_of_less(alone: float, beside: float) -> float:
    """Harm in a metric of which less is better, such as delay and loss (unit 1).

    Returns:
        (beside - alone) / beside: 0, none; near 1, nearly all of it is the competitors' doing;
        negative, a benefit. Where both are 0 there is none.

    Source: as `harm_of_more`.
    """
    if alone == beside:
        return 0.0 if math.isfinite(alone) else math.nan
    return (beside - alone) / beside if beside > 0 else math.nan
