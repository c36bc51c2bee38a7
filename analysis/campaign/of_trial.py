"""The payoffs of one sealed trial, while the run goes on."""

from pathlib import Path

from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.store.sealed_trial import open_trial

from ..measures import measure_trial
from ..nash.game import Payoffs
from ..nash.of_run import payoffs_of
from ..nash.utility import utility_of


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
