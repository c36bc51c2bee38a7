"""The scenario's own utility function, tried before anything runs."""

from __future__ import annotations

from ..contract.errors import ConfigError
from ..contract.functions import load_function
from ..contract.scenario import Scenario, UserUtility


def check_utility(scenario: Scenario, where: str) -> None:
    """Refuse a scenario whose own utility cannot be called when the run is over.

    Args:
        scenario: The scenario.
        where: File name for messages.

    Raises:
        ConfigError: The function cannot be imported or takes other arguments.
    """
    utility = scenario.equilibrium.utility
    if not isinstance(utility, UserUtility):
        return
    try:
        load_function(utility.function, arguments=1)
    except ConfigError as error:
        raise ConfigError(f"{where}: equilibrium.utility.function: {error.message}") from error
