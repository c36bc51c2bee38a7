"""The utility that an equilibrium is of."""

from pathlib import Path

import pytest
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.config import check_utility, parse_scenario
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.sweep import DelayUtility, UserUtility
from tests.unit.controlplane.conftest import SCENARIO


def scenario_with(utility: str) -> str:
    return f"{SCENARIO.rstrip()}\nequilibrium: {{utility: {utility}}}\n"


def utility_of(text: str) -> object:
    return parse_scenario(scenario_with(text), "s.yaml").model.equilibrium.utility


def test_what_can_be_written() -> None:
    assert utility_of("throughput") == "throughput"
    delay = utility_of("{delay_cost: 100kbit}")
    assert isinstance(delay, DelayUtility)
    assert delay.delay_cost.bps == 100_000
    own = utility_of('{function: "a.b:c"}')
    assert isinstance(own, UserUtility)
    assert own.function == "a.b:c"


@pytest.mark.parametrize(
    "text", ["thruput", "{delay_cost: 3}", '{function: "import os"}', '{function: "lambda x: x"}',
             "{delay: 100kbit}", '{function: "a:b()"}'],
)  # fmt: skip
def test_anything_else_is_refused_with_its_line(text: str) -> None:
    line = len(SCENARIO.rstrip().splitlines()) + 1
    with pytest.raises(ConfigError, match=rf"s.yaml:{line}: equilibrium.utility"):
        utility_of(text)


def test_a_function_is_tried_while_validating(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(scenario_with('{function: "no_such_module_here:f"}'))
    assert run(["validate", str(path)]) == 2
    err = capsys.readouterr().err
    assert f"{path}: equilibrium.utility.function: no_such_module_here:f: no module" in err


def test_a_good_function_passes() -> None:
    check_utility(parse_scenario(scenario_with('{function: "math:sqrt"}'), "s.yaml").model, "s")
    check_utility(parse_scenario(SCENARIO, "s.yaml").model, "s")
