"""Parameters of kernel modules: which there are, and what a scenario may write."""

from pathlib import Path

import pytest
from nashbed.controlplane.api.files import scenario_text
from nashbed.controlplane.config import Loaded, parse_scenario
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.machine.c_files.kinds import CCA
from nashbed.controlplane.machine.c_files.parameters import (
    module_arguments,
    parameters_of,
    require_parameters,
)
from nashbed.controlplane.plan.sweep import scenario_settings
from tests.unit.controlplane.conftest import SCENARIO

MODULE = """\
static int beta = 717;
module_param(beta, int, 0644);
static bool is_fast;
module_param_named(fast, is_fast, bool, 0444);
static int go(void) { return tcp_register_congestion_control(&own); }
"""


def scenario(folder: Path, params: str, swept: str = "") -> Loaded[Scenario]:
    (folder / "own.c").write_text(MODULE)
    text = SCENARIO.replace("bbr]", f"{{file: ./own.c, params: {{{params}}}}}]")
    if swept:
        text = text.replace("sweep: {", f"sweep: {{params: {{{swept}}}, ")
    return parse_scenario(text, str(folder / "s.yaml"))


def test_what_a_module_has_is_what_it_declares(tmp_path: Path) -> None:
    loaded = scenario(tmp_path, "beta: 717, fast: true").model
    own = CCA.read(tmp_path / "own.c")
    assert parameters_of(own) == {"beta": "int", "fast": "bool"}
    require_parameters(loaded, [own])
    assert loaded.module_parameters == {"own": {"beta": 717, "fast": True}}
    assert module_arguments(loaded.module_parameters["own"]) == 'beta="717" fast="1"'
    again = parse_scenario(scenario_text(loaded), str(tmp_path / "s.yaml")).model
    assert again.module_parameters == loaded.module_parameters


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ("gamma: 1", "own: params.gamma: there is no such parameter; it has beta, fast"),
        ("beta: 0.7", "own: params.beta: 0.7 is no whole number"),
        ("fast: 1", "own: params.fast: 1 is neither true nor false"),
    ],
)
def test_what_it_has_not_is_refused(tmp_path: Path, params: str, said: str) -> None:
    loaded = scenario(tmp_path, params).model
    with pytest.raises(ConfigError) as refused:
        require_parameters(loaded, [CCA.read(tmp_path / "own.c")])
    assert refused.value.message == said


def test_one_of_cc_h_has_none(tmp_path: Path) -> None:
    loaded = scenario(tmp_path, "beta: 1").model
    (tmp_path / "own.c").write_text('#include "cc.h"\n')
    with pytest.raises(ConfigError, match=r"^own: params\.beta: it has no parameters; an ordinary"):
        require_parameters(loaded, [CCA.read(tmp_path / "own.c")])


def test_a_swept_parameter_makes_a_setting_of_each_value(tmp_path: Path) -> None:
    loaded = scenario(tmp_path, "fast: true", "own.beta: [512, 717]").model
    first, second = scenario_settings(loaded)[:2]
    assert first.swept == {"strategies.own.beta": 512}
    assert second.label.startswith("own.beta717-")
    for wrong, said in {
        "own: [1]": r"sweep\.params\.own: write STRATEGY\.PARAMETER, of cubic, own",
        "cubic.beta: [1]": "cubic is of no file, and has no parameters",
    }.items():
        with pytest.raises(ConfigError, match=said):
            scenario(tmp_path, "fast: true", wrong)


def test_what_is_no_strategy_of_a_file(tmp_path: Path) -> None:
    text = SCENARIO.replace("bbr]", "{file: ./own.c, beta: 1}]")
    with pytest.raises(ConfigError, match=r"write \{file: \./mycc\.c, params: \{NAME: VALUE\}\}"):
        parse_scenario(text, str(tmp_path / "s.yaml"))
