"""plan.json: a lane is described once, by its setting; limits beside it are still read."""

from __future__ import annotations

import json

import pytest
from nashbed.controlplane.contract.plan import Plan, PlannedTrial
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.target import BottleneckProgram, Limit
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.trial import Setting
from pydantic import ValidationError
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


def test_a_plan_with_limits_beside_the_settings_is_still_read(
    scenario: Scenario, testbed: Testbed
) -> None:
    plan = plan_of(scenario, testbed)
    old = json.loads(plan.model_dump_json())
    for trial in old["trials"]:
        trial["limit"] = trial["setting"].pop("limit")
    assert Plan.model_validate(old) == plan


def test_settings_without_a_limit_are_in_bytes(scenario: Scenario, testbed: Testbed) -> None:
    setting = plan_of(scenario, testbed).trials[0].setting
    old = json.loads(setting.model_dump_json(exclude={"limit"}))
    assert Setting.model_validate(old) == setting


@pytest.mark.parametrize("limit", [None, 7, {}, {"unit": "kg", "value": 1}])
def test_a_damaged_limit_is_an_error(scenario: Scenario, testbed: Testbed, limit: object) -> None:
    old = json.loads(plan_of(scenario, testbed).trials[0].model_dump_json())
    with pytest.raises(ValidationError, match="limit"):
        PlannedTrial.model_validate(old | {"limit": limit})
