"""What an adaptive search will take: the same campaign, played against made-up games."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.trial import Setting

from ..nash.game import Payoffs
from ..state import State
from .campaign import Campaign
from .of_scenario import quick_campaign

PLAYS = 5
SLOPE = 1.0
"""Utility that a strategy loses from no flow to all flows running it, in fair shares."""
NOISE = 0.05
"""Standard deviation from one repetition to the next, in fair shares."""

Oracle = Callable[[State], Payoffs]


def expected_rounds(scenario: Scenario, settings: Sequence[Setting], at_once: int) -> list[int]:
    """Trials of each round, of the middle one of five plays by the number of trials.

    The made-up games have an equilibrium at a random place, noise, and utilities that fall as more
    flows run the same strategy; real ones are as kind or less so. It is an estimate.

    Args:
        scenario: The scenario.
        settings: Its settings.
        at_once: Trials side by side.
    """
    plays = [_play(quick_campaign(scenario, settings, at_once), seed) for seed in range(PLAYS)]
    return sorted(plays, key=sum)[PLAYS // 2]


def _play(campaign: Campaign, seed: int) -> list[int]:
    rng = np.random.default_rng(seed)
    oracles = [_oracle(g.sizes, g.strategies, g.fair_share, rng) for g in campaign.games]
    rounds = []
    while requests := campaign.ask():
        rounds.append(len(requests))
        for request in requests:
            campaign.tell(request, oracles[request.game](request.state))
    return rounds


def _oracle(
    sizes: tuple[int, ...], strategies: int, fair_share: float, rng: np.random.Generator
) -> Oracle:
    target = rng.dirichlet(np.ones(strategies), len(sizes))

    def payoffs(state: State) -> Payoffs:
        counts = np.array(state)
        shares = counts / counts.sum(axis=1, keepdims=True)
        utility = 1 + SLOPE * (target - shares) + rng.normal(0, NOISE, shares.shape)
        return np.where(counts > 0, fair_share * utility, np.nan)

    return payoffs
