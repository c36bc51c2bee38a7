"""What is shipped loads, plans, and is fresh."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from nashbed.controlplane.config import load_scenario, load_testbed
from nashbed.controlplane.config.schemas import SCHEMAS, render
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.run.planner import make_plan
from nashbed.controlplane.targets.dpdk import dpdk_capabilities

ROOT = Path(__file__).resolve().parents[3]
CONFIGS = ROOT / "configs"
SCENARIOS = sorted((CONFIGS / "scenarios").rglob("*.yaml"))
TESTBEDS = sorted((CONFIGS / "testbeds").glob("*.yaml"))


def name(path: Path) -> str:
    return str(path.relative_to(CONFIGS))


@pytest.mark.parametrize("path", SCENARIOS, ids=name)
def test_every_scenario_can_be_planned_on_the_default_testbed(path: Path) -> None:
    scenario = load_scenario(path).model
    testbed = load_testbed(CONFIGS / "testbeds" / "embedded.yaml").model
    plan = make_plan(scenario, testbed, dpdk_capabilities(testbed.dataplane))
    assert len({trial.key for trial in plan.trials}) == len(plan.trials) > 0


@pytest.mark.parametrize("path", TESTBEDS, ids=name)
def test_every_testbed_loads(path: Path) -> None:
    load_testbed(path)


@pytest.mark.parametrize("path", SCENARIOS, ids=name)
def test_a_scenario_survives_json(path: Path) -> None:
    scenario = load_scenario(path).model
    assert Scenario.model_validate_json(scenario.model_dump_json()) == scenario


def test_the_quickstart_takes_less_than_three_minutes() -> None:
    scenario = load_scenario(CONFIGS / "scenarios" / "quickstart.yaml").model
    testbed = load_testbed(CONFIGS / "testbeds" / "embedded.yaml").model
    plan = make_plan(scenario, testbed, dpdk_capabilities(testbed.dataplane))
    assert plan.estimated_seconds < 120  # the rest is for start, end and report


def test_experiment1_asks_for_what_was_published() -> None:
    folder = CONFIGS / "scenarios" / "srivastava2023"
    scenario = load_scenario(folder / "experiment1.yaml").model
    bounds = [b for b in scenario.acceptance if b.metric == "per_flow_throughput"]
    assert {(b.strategy, b.mix["bbr"]) for b in bounds} == {
        (s, k) for s in ("bbr", "cubic") for k in range(1, 9)
    }
    assert (
        scenario.bottleneck.buffer.to_bytes(scenario.bottleneck.rate, scenario.flows[0].base_rtt)
        == 1_000_000
    )


@pytest.mark.parametrize("file", SCHEMAS)
def test_schemas_are_fresh(file: str) -> None:
    committed = (CONFIGS / "schema" / file).read_text()
    assert committed == render(SCHEMAS[file]), "run `make schema`"
    json.loads(committed)


def test_every_package_is_listed() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    found = {
        "nashbed." + ".".join(init.parent.relative_to(ROOT).parts)
        for top in ("controlplane", "analysis")
        for init in (ROOT / top).rglob("__init__.py")
    }
    assert set(listed) == found
