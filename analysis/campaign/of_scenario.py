"""The campaign of a scenario, with a model's equilibria as hints, and what it will take."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path

import numpy as np
from nashbed.controlplane.contract.course import SettledDuration
from nashbed.controlplane.contract.plan import ExpectedSearch
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.trial import Setting, scenario_at
from nashbed.controlplane.store.sealed_trial import open_trial

from ..measures import measure_trial
from ..models.expected import Mixes, expected_crossing, mixes_of, quick_crossing
from ..nash.game import Payoffs
from ..nash.of_run import payoffs_of
from ..nash.utility import utility_of
from ..state import State
from .campaign import Campaign, Game, Rules

MODELLED = ("cubic", "bbr")

Start = Callable[[Mixes, int], float | None]
"""(the questions of a setting's mixes, flows N) -> BBR flows at which it is expected to settle."""
PLAYS = 5
SLOPE = 1.0
"""Utility that a strategy loses from no flow to all flows running it, in fair shares."""
NOISE = 0.05
"""Standard deviation from one repetition to the next, in fair shares."""
OFF = 0.04
"""Standard deviation of an equilibrium from where the fluid model has it, as a part of the flows:
1.7 of 50 in the 49 settings of Srivastava 2023."""
Oracle = Callable[[State], Payoffs]


def fluid_start(mixes: Mixes, flows: int) -> float | None:
    """By the fluid model: a fifth of a second for a setting."""
    return expected_crossing(mixes, flows).second


def campaign_of(
    scenario: Scenario, settings: Sequence[Setting], at_once: int, start: Start = fluid_start
) -> Campaign:
    """The campaign of a scenario.

    Args:
        settings: Its settings, in the order of the sweep.
        at_once: Trials side by side.
        start: Where a search starts; of a game that the models speak of.
    """
    spec = scenario.equilibrium
    least = 2 if isinstance(scenario.duration, SettledDuration) else 1
    rules = Rules(scenario.trials, at_once, spec.epsilon.fraction, spec.budget, least)
    return Campaign([_game(scenario, setting, start) for setting in settings], rules)


def quick_campaign(scenario: Scenario, settings: Sequence[Setting], at_once: int) -> Campaign:
    """A campaign without a simulation: where a game is only played, not measured."""
    return campaign_of(scenario, settings, at_once, quick_crossing)


def _game(scenario: Scenario, setting: Setting, start: Start) -> Game:
    sizes = tuple(group.count for group in scenario_at(scenario, setting).mixed)
    fair_share = setting.rate_bps / sum(sizes)
    return Game(sizes, len(scenario.strategies), fair_share, _hints(scenario, setting, start))


def _hints(scenario: Scenario, setting: Setting, start: Start) -> list[State]:
    """The mix nearest to where a model has the game settle, if it is one of CUBIC and BBR."""
    if tuple(scenario.strategies) != MODELLED:
        return []
    mixes, flows = mixes_of(scenario, setting), scenario_at(scenario, setting).total_flows
    at = None if mixes is None else start(mixes, flows)
    return [] if at is None else [((flows - round(at), round(at)),)]


def expected_search(
    scenario: Scenario, settings: Sequence[Setting], at_once: int
) -> ExpectedSearch:
    """What the middle one of five plays takes, by the number of trials.

    The made-up games have an equilibrium near the model's, or at a random place where no model
    speaks of them, noise, and utilities that fall as more flows run the same strategy; real ones
    are as kind or less so. It is an estimate.
    """
    campaign = quick_campaign(scenario, settings, at_once)
    plays = [_play(deepcopy(campaign), seed) for seed in range(PLAYS)]
    return sorted(plays, key=lambda play: sum(play.rounds))[PLAYS // 2]


def _play(campaign: Campaign, seed: int) -> ExpectedSearch:
    rng = np.random.default_rng(seed)
    oracles = [_oracle(game, rng) for game in campaign.games]
    rounds = []
    while requests := campaign.ask():
        rounds.append(len(requests))
        for request in requests:
            campaign.tell(request, oracles[request.game](request.state))
    mixes = sum(len(game.tried) for game in campaign.games)
    return ExpectedSearch(tuple(rounds), mixes / len(campaign.games))


def _oracle(game: Game, rng: np.random.Generator) -> Oracle:
    target = _target(game, rng)

    def payoffs(state: State) -> Payoffs:
        counts = np.array(state)
        shares = counts / counts.sum(axis=1, keepdims=True)
        utility = 1 + SLOPE * (target - shares) + rng.normal(0, NOISE, shares.shape)
        return np.where(counts > 0, game.fair_share * utility, np.nan)

    return payoffs


def _target(game: Game, rng: np.random.Generator) -> Payoffs:
    """Part of each group's flows on each strategy at the made-up equilibrium, shape (G, S)."""
    if not (game.is_line and game.hints):
        return rng.dirichlet(np.ones(game.strategies), len(game.sizes))
    second = np.clip(game.hints[0][0][1] / game.sizes[0] + rng.normal(0, OFF), 0, 1)
    return np.array([[1 - second, second]])


def payoffs_of_trial(folder: Path, scenario: Scenario) -> Payoffs:
    """Utilities of the flows of a sealed trial.

    Args:
        scenario: The run's scenario; says what a flow wants.

    Returns:
        Utility of a flow of each group and strategy, shape (G, S); NaN where there is none.

    Raises:
        RunError: A table is damaged.
        ConfigError: The scenario's own utility cannot be imported.
    """
    measures = measure_trial(open_trial(folder), scenario)
    utility = utility_of(scenario.equilibrium.utility)
    return payoffs_of(measures, scenario.strategies, len(scenario.mixed), utility)
