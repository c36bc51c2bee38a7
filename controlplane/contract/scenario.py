"""A scenario: what competes at which bottleneck, for how long, and what is kept.

It never names a machine, a port or a target: the testbed file does.
"""

from __future__ import annotations

from pydantic import model_validator

from .scenario_checks import check_scenario
from .scenario_keys import ScenarioKeys
from .sweep import called, combinations, varied


class Scenario(ScenarioKeys):
    """A whole scenario."""

    @model_validator(mode="after")
    def _check(self) -> Scenario:
        for values in combinations(self):
            try:
                check_scenario(varied(self, values))
            except ValueError as error:
                raise ValueError(called(str(error), self, values)) from error
        return self
