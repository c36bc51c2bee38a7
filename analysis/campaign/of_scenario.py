"""The campaign of a scenario: a game for each setting, with a model's equilibrium as a hint."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.trial import Setting

from ..models.expected import Mixes, expected_crossing, mixes_of, quick_crossing
from ..state import State
from .campaign import Campaign, Game, Rules

MODELLED = ("cubic", "bbr")

Start = Callable[[Mixes, int], float | None]
"""(the questions of a setting's mixes, flows N) -> BBR flows at which it is expected to settle."""


def fluid_start(mixes: Mixes, flows: int) -> float | None:
    """By the fluid model: a fifth of a second for a setting."""
    return expected_crossing(mixes, flows).second


def campaign_of(
    scenario: Scenario, settings: Sequence[Setting], at_once: int, start: Start = fluid_start
) -> Campaign:
    """The campaign of a scenario.

    Args:
        scenario: The scenario.
        settings: Its settings, in the order of the sweep.
        at_once: Trials side by side.
        start: Where a search starts; of a game that the models speak of.
    """
    rules = Rules(scenario.trials, at_once, scenario.equilibrium.epsilon.fraction)
    return Campaign([_game(scenario, setting, start) for setting in settings], rules)


def quick_campaign(scenario: Scenario, settings: Sequence[Setting], at_once: int) -> Campaign:
    """The same without a simulation: where a game is only played, not measured."""
    return campaign_of(scenario, settings, at_once, quick_crossing)


def _game(scenario: Scenario, setting: Setting, start: Start) -> Game:
    sizes = tuple(group.count for group in scenario.flows)
    fair_share = setting.rate_bps / sum(sizes)
    return Game(sizes, len(scenario.strategies), fair_share, _hints(scenario, setting, start))


def _hints(scenario: Scenario, setting: Setting, start: Start) -> list[State]:
    """The mix nearest to where a model has the game settle, if it is one of CUBIC and BBR."""
    if tuple(scenario.strategies) != MODELLED:
        return []
    mixes, flows = mixes_of(scenario, setting), scenario.total_flows
    at = None if mixes is None else start(mixes, flows)
    return [] if at is None else [((flows - round(at), round(at)),)]
