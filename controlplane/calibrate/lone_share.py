"""What load does to shares, which no gate sees: the lone CUBIC flow of a lane of BBR flows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from ..contract.certificate import LevelAttempt, LoneShare

MARGIN = 0.02
"""The largest difference of its share that does not matter."""
GATE = "lone_share"
"""By this name a level fails, as by that of a gate."""


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
