"""A scenario: what competes at which bottleneck, for how long, and what is kept.

It never names a machine, a port or a target: the testbed file does.
"""

from __future__ import annotations

from pydantic import model_validator

from .scenario_checks import check_scenario
from .scenario_keys import ScenarioKeys


class Scenario(ScenarioKeys):
    """A whole scenario."""

    @model_validator(mode="after")
    def _check(self) -> Scenario:
        check_scenario(self)
        return self
