"""Which flows of a trial a socket's size held back for longer than does not matter."""

from __future__ import annotations

from ..contract.strain import SocketLimit, WindowLimited
from .measurement import TrialMeasurement

LEAST_SHARE = 0.01
"""Of the window; less is not told."""


def window_limited(trial: TrialMeasurement) -> tuple[WindowLimited, ...]:
    """Flows that were held back, and whether the scenario wanted it so."""
    hosts = trial.attempt.scenario.hosts
    stated: dict[SocketLimit, bool] = {
        "receive window": hosts.rmem_max is not None,
        "send buffer": hosts.wmem_max is not None,
    }
    return tuple(
        WindowLimited(
            flow=flow.index,
            group=flow.group,
            strategy=flow.cc,
            by=by,
            share=round(share, 6),
            stated=stated[by],
        )
        for by, shares in trial.evidence.limits.shares.items()
        for flow in trial.attempt.flows
        if (share := float(shares[flow.index])) > LEAST_SHARE
    )
