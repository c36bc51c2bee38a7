"""What a plan says that an adaptive search takes, intervals included."""

from pathlib import Path

import pytest
from nashbed.controlplane.cli.plan import plan_table
from nashbed.controlplane.config.load import load_scenario, load_testbed
from nashbed.controlplane.contract.plan import Plan
from nashbed.controlplane.run.planning import plan_run
from nashbed.controlplane.study import adaptive

CONFIGS = Path(__file__).parents[4] / "configs"
PANEL = CONFIGS / "scenarios" / "srivastava2023" / "panel.yaml"


@pytest.fixture(scope="module")
def planned() -> Plan:
    bed = load_testbed(CONFIGS / "testbeds" / "embedded.yaml")
    return plan_run(load_scenario(PANEL), bed, adaptive.expect)


@pytest.mark.slow
def test_a_setting_of_the_panel_takes_six_to_nine_mixes(planned: Plan) -> None:
    assert planned.expected_mixes is not None
    assert 6 <= planned.expected_mixes <= 10
    assert planned.expected_trials == pytest.approx(7 * planned.expected_mixes, rel=0.01)
    said = f"about {planned.expected_mixes:.1f} mixes a setting until its interval is closed"
    assert said in plan_table(planned)


def test_a_budget_is_kept(tmp_path: Path) -> None:
    text = PANEL.read_text()
    assert "equilibrium: {search: adaptive}" in text
    scenario = tmp_path / "panel.yaml"
    scenario.write_text(text.replace("{search: adaptive}", "{search: adaptive, budget: 6}"))
    bed = load_testbed(CONFIGS / "testbeds" / "embedded.yaml")
    found = plan_run(load_scenario(scenario), bed, adaptive.expect)
    assert found.expected_mixes is not None
    assert found.expected_mixes <= 6


def test_of_an_exhaustive_search_nothing_is_expected() -> None:
    bed = load_testbed(CONFIGS / "testbeds" / "embedded.yaml")
    found = plan_run(load_scenario(CONFIGS / "scenarios" / "quickstart.yaml"), bed, adaptive.expect)
    assert found.expected_mixes is None
    assert "mixes a setting" not in plan_table(found)
