"""What is shipped loads, plans, and is fresh."""

import json
from functools import cache
from pathlib import Path

import pytest
from nashbed.controlplane.config import load_scenario, load_testbed
from nashbed.controlplane.config.load import KINDS, load_battery, render
from nashbed.controlplane.config.named_files import NamedFiles
from nashbed.controlplane.contract.bounds import AcceptanceBound
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.plan import Plan
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.c_files.finding import written_files
from nashbed.controlplane.machine.c_files.kinds import SHIPPED_CCAS
from nashbed.controlplane.plan.planner import make_plan
from nashbed.controlplane.plan.sweep import scenario_mixes
from nashbed.controlplane.targets.dpdk import dpdk_capabilities
from nashbed.controlplane.targets.virtual import virtual_capabilities

ROOT = Path(__file__).resolve().parents[4]
CONFIGS = ROOT / "configs"
BATTERIES = sorted((CONFIGS / "evaluations").glob("*/battery.yaml"))
EVALUATED = sorted({*CONFIGS.glob("evaluations/*/*.yaml")} - set(BATTERIES))
SCENARIOS = sorted((CONFIGS / "scenarios").rglob("*.yaml"))
TESTBEDS = sorted((CONFIGS / "testbeds").glob("*.yaml"))


# What is more than the default testbed carries: 1 Gbit/s, and buffers of 100 to 250 MB.
NEEDS_LARGE = {
    "scenarios/cao2019/grid.yaml",
    "scenarios/cao2019/shares.yaml",
    "scenarios/srivastava2023/experiment2-500mbit.yaml",
    "scenarios/srivastava2023/panel-500mbit-short.yaml",
    "scenarios/srivastava2023/panel-500mbit-unlimited-short.yaml",
    "scenarios/srivastava2023/panel-500mbit-unlimited.yaml",
    "scenarios/srivastava2023/panel-500mbit.yaml",
}

NEEDS_VIRTUAL = {
    f"scenarios/kernels/{form}.yaml"
    for form in ("deep-panel", "deep-panel-short", "experiment1", "experiment1-short")
} | {f"scenarios/blind/{path.name}" for path in (CONFIGS / "scenarios" / "blind").glob("*.yaml")}
"""What names the hosts' kernels, which a testbed of this machine's own kernel cannot have."""


def name(path: Path) -> str:
    return str(path.relative_to(CONFIGS))


loaded = cache(load_scenario)
"""Several tests look at each scenario."""


@cache
def shipped_testbed(testbed_name: str) -> Testbed:
    return load_testbed(CONFIGS / "testbeds" / f"{testbed_name}.yaml").model


def plan_on(path: Path, testbed_name: str) -> Plan:
    testbed = shipped_testbed(testbed_name)
    capabilities = (
        virtual_capabilities()
        if testbed.target == "virtual"
        else dpdk_capabilities(testbed.dataplane)
    )
    return make_plan(loaded(path).model, testbed, capabilities)


@pytest.mark.parametrize("path", [*SCENARIOS, *EVALUATED], ids=name)
def test_every_scenario_can_be_planned_on_its_testbed(path: Path) -> None:
    other = {**dict.fromkeys(NEEDS_LARGE, "large"), **dict.fromkeys(NEEDS_VIRTUAL, "virtual")}
    plan = plan_on(path, other.get(name(path), "embedded"))
    assert len({trial.key for trial in plan.trials}) == len(plan.trials) > 0


@pytest.mark.parametrize("path", BATTERIES, ids=name)
def test_a_battery_reads_what_its_scenarios_run(path: Path) -> None:
    battery = load_battery(path).model
    assert {file.stem for file in path.parent.glob("*.yaml")} == {*battery.scenarios, "battery"}
    for criterion in battery.criteria:
        if criterion.scenario is None:
            continue
        scenario = loaded(path.parent / f"{criterion.scenario}.yaml").model
        assert {battery.subject, *battery.references} <= set(scenario.strategies)
        mixes = [mix[0].counts.items() for mix in scenario_mixes(scenario)]
        for reading in criterion.reads:
            assert any((reading.mix or {}).items() <= mix for mix in mixes), criterion
            assert reading.group in {None, *(group.name for group in scenario.flows)}
    for size in battery.sizes.values():
        for scenario_name, changes in size.changes.items():
            loaded(path.parent / f"{scenario_name}.yaml").model.replace(changes)


@pytest.mark.parametrize("file", sorted(NEEDS_LARGE))
def test_what_needs_the_large_testbed_says_so(file: str) -> None:
    with pytest.raises(ConfigError, match=r"more than testbed 'embedded'|the testbed has room"):
        plan_on(CONFIGS / file, "embedded")
    assert "configs/testbeds/large.yaml" in " ".join((CONFIGS / file).read_text().split("\n# "))


@pytest.mark.parametrize("file", sorted(NEEDS_VIRTUAL))
def test_what_needs_virtual_time_says_so(file: str) -> None:
    with pytest.raises(ConfigError, match="use a testbed of target virtual"):
        plan_on(CONFIGS / file, "embedded")
    assert "configs/testbeds/virtual.yaml" in " ".join((CONFIGS / file).read_text().split("\n# "))


@pytest.mark.parametrize("path", SCENARIOS, ids=name)
def test_every_scenario_has_its_ccas(path: Path) -> None:
    """Debian's kernel has these four; any other is one that nashbed ships, or names its file."""
    scenario = loaded(path)
    files = written_files(scenario)
    assert all(file.is_file() for file in files.values())
    known = {"cubic", "bbr", "reno", "dctcp", *SHIPPED_CCAS, *files, *scenario.model.programs}
    assert set(scenario.model.strategies) <= known


# None is the reproduction of a figure: a first run, data that models are held against, and what
# queues, paths that change and other traffic do.
NO_FIGURES = {"scenarios", "measured", "queues", "paths", "traffic", "media", "harm", "bbr-draft",
              "programs", "blind", "shapers"}  # fmt: skip


@pytest.mark.parametrize(
    "path", [p for p in SCENARIOS if p.parent.name not in NO_FIGURES], ids=name
)
def test_every_reproduction_has_a_short_and_a_full_form_with_bounds(path: Path) -> None:
    stem = path.stem.removesuffix("-short")
    assert {path.with_name(f"{stem}.yaml"), path.with_name(f"{stem}-short.yaml")} <= set(SCENARIOS)
    scenario = loaded(path).model
    # Of what nobody published there is nothing to be met.
    assert scenario.acceptance or path.parent.name in {"controls", "equivalence", "hosts"}
    assert scenario.name == f"{path.parent.name}-{path.stem}"


def test_a_bound_in_json_is_the_same_bound() -> None:
    bounds = [bound for path in SCENARIOS for bound in loaded(path).model.acceptance]
    assert [
        AcceptanceBound.model_validate_json(each.model_dump_json()) for each in bounds
    ] == bounds


@pytest.mark.parametrize("path", TESTBEDS, ids=name)
def test_every_testbed_loads(path: Path) -> None:
    load_testbed(path)


@pytest.mark.parametrize("path", SCENARIOS, ids=name)
def test_a_scenario_survives_json(path: Path) -> None:
    scenario = loaded(path).model
    again = Scenario.model_validate_json(scenario.model_dump_json())
    assert NamedFiles(str(path)).read(again) == scenario


def test_the_quickstart_takes_about_a_minute() -> None:
    plan = plan_on(CONFIGS / "scenarios" / "quickstart.yaml", "virtual")
    assert len(plan.trials) == 50
    assert plan.estimated_seconds * plan.lanes < 120  # on a single core; the rest is the report


def test_experiment1_asks_for_what_was_published() -> None:
    folder = CONFIGS / "scenarios" / "srivastava2023"
    scenario = loaded(folder / "experiment1.yaml").model
    bounds = [b for b in scenario.acceptance if b.metric == "per_flow_throughput"]
    assert {(b.strategy, b.mix["bbr"]) for b in bounds} == {
        (s, k) for s in ("bbr", "cubic") for k in range(1, 9)
    }
    assert (
        scenario.bottleneck.buffer.to_bytes(scenario.bottleneck.rate, scenario.flows[0].base_rtt)
        == 1_000_000
    )


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_fresh(kind: str) -> None:
    committed = (CONFIGS / "schema" / f"{kind}.schema.json").read_text()
    assert committed == render(KINDS[kind]), "run `make schema`"
    json.loads(committed)


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_is_described(kind: str) -> None:
    schema = json.loads(render(KINDS[kind]))
    models = {kind: schema, **schema.get("$defs", {})}
    keys = {
        (model, key): value.get("description", "")
        for model, said in models.items()
        for key, value in said.get("properties", {}).items()
    }
    assert [key for key, text in keys.items() if not text] == []
    assert [model for model, said in models.items() if not said.get("description")] == []
    assert not any("Attributes:" in said["description"] for said in models.values())
