"""plan.json: a lane is described once, by its setting."""

from __future__ import annotations

import json

from nashbed.controlplane.contract.plan import Plan
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.target import BottleneckProgram, Limit
from nashbed.controlplane.contract.testbed import Testbed
from tests.unit.controlplane.conftest import plan_of


def test_the_program_is_that_of_setting_and_limit(scenario: Scenario, testbed: Testbed) -> None:
    trial = plan_of(scenario, testbed).trials[0]
    assert trial.program == BottleneckProgram(
        rate_bps=10**8,
        limit=Limit(unit="bytes", value=250_000),
        overhead_bytes=trial.setting.overhead_bytes,
    )
    assert "program" not in json.loads(trial.model_dump_json())


def test_a_plan_is_read_as_it_was_written(scenario: Scenario, testbed: Testbed) -> None:
    plan = plan_of(scenario, testbed)
    assert Plan.model_validate(json.loads(plan.model_dump_json())) == plan
