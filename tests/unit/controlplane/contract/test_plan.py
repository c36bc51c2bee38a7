"""plan.json is read as it was written."""

import json

import pytest
from nashbed.controlplane.contract.plan import Plan
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.trial import Setting
from pydantic import ValidationError
from tests.unit.controlplane.conftest import plan_of


def test_a_plan_is_read_as_it_was_written(scenario: Scenario, testbed: Testbed) -> None:
    plan = plan_of(scenario, testbed)
    assert Plan.model_validate(json.loads(plan.model_dump_json())) == plan


@pytest.mark.parametrize("limit", [None, 7, {}, {"unit": "kg", "value": 1}])
def test_a_damaged_limit_is_an_error(scenario: Scenario, testbed: Testbed, limit: object) -> None:
    told = json.loads(plan_of(scenario, testbed).trials[0].setting.model_dump_json())
    with pytest.raises(ValidationError, match="limit"):
        Setting.model_validate(told | {"limit": limit})
