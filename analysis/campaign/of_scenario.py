"""The campaign of a scenario: a game for each setting, with the model's equilibrium as a hint."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.trial import Setting

from ..models.band import equilibrium_band
from ..models.question import Question
from ..state import State
from .campaign import Campaign, Game, Rules

MODELLED = ("cubic", "bbr")


def campaign_of(scenario: Scenario, settings: Sequence[Setting], at_once: int) -> Campaign:
    """The campaign of a scenario.

    Args:
        scenario: The scenario.
        settings: Its settings, in the order of the sweep.
        at_once: Trials side by side.
    """
    rules = Rules(scenario.trials, at_once, scenario.equilibrium.epsilon.fraction)
    return Campaign([_game(scenario, setting) for setting in settings], rules)


def _game(scenario: Scenario, setting: Setting) -> Game:
    sizes = tuple(group.count for group in scenario.flows)
    fair_share = setting.rate_bps / sum(sizes)
    start = _start(scenario, setting)
    hints = [] if start is None else [start]
    return Game(sizes, len(scenario.strategies), fair_share, hints)


def _start(scenario: Scenario, setting: Setting) -> State | None:
    """The middle of the model's band, for the game that the model is about."""
    if tuple(scenario.strategies) != MODELLED or len(scenario.flows) > 1:
        return None
    rtt_s = setting.base_rtt_ns[0] / 1e9
    flows = scenario.total_flows
    return start_of(Question(setting.rate_bps, rtt_s, setting.buffer_bytes, flows, 0))


@lru_cache(maxsize=1024)  # every play of an expectation asks anew
def start_of(question: Question) -> State | None:
    """The mix in the middle of the band of Mishra 2022.

    Args:
        question: The setting; how its flows are split plays no part.

    Returns:
        The state of (CUBIC, BBR) flows; None where the model refuses.
    """
    middle = equilibrium_band(question).middle
    return None if middle is None else ((question.flows - middle, middle),)
