"""A user's own discipline through a run: found, checked, kept, and the same when it goes on."""

import json
import shutil
from pathlib import Path

import pytest
from nashbed.controlplane.config import Loaded, load_scenario, load_testbed, parse_scenario
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.manifest import Manifest
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.c_files.finding import find_disciplines
from nashbed.controlplane.machine.c_files.loadable import loadable_bottleneck
from nashbed.controlplane.machine.paths import AQM_TEMPLATE, AQM_TOOL, CONFIGS
from nashbed.controlplane.run.active_run import new_run, resumed_run
from nashbed.controlplane.run.planning import plan_run
from nashbed.controlplane.study.adaptive import expect, make_chooser
from tests.support.policies import OWN_POLICY
from tests.unit.controlplane.conftest import SCENARIO

pytestmark = pytest.mark.skipif(
    not AQM_TOOL.is_file() or shutil.which("cc") is None,
    reason="needs nashbed-aqm (run `make build`) and a C compiler",
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def scenario(folder: Path, discipline: str = "{file: own/mine.c, params: {chance: 1%}}") -> Path:
    (folder / "own").mkdir(exist_ok=True)
    shutil.copyfile(AQM_TEMPLATE, folder / "own" / "mine.c")
    path = folder / "s.yaml"
    path.write_text(SCENARIO.replace("2bdp", f"2bdp, discipline: {discipline}"))
    return path


def virtual_bed() -> Loaded[Testbed]:
    return load_testbed(CONFIGS / "testbeds" / "virtual.yaml")


def test_it_is_kept_with_the_run(tmp_path: Path) -> None:
    loaded, bed = load_scenario(scenario(tmp_path)), virtual_bed()
    run = new_run(tmp_path / "results", loaded, bed, plan_run(loaded, bed, expect), make_chooser)
    folder = run.directory.path
    facts = run.directory.read("manifest.json", Manifest).disciplines
    assert facts["mine"].source == "disciplines/mine/mine.c"
    assert (folder / facts["mine"].source).read_text() == AQM_TEMPLATE.read_text()
    (own,) = find_disciplines(loaded)
    assert facts["mine"].digest == own.digest

    again = resumed_run(folder, make_chooser)
    assert [each.digest for each in again.disciplines] == [own.digest]
    (folder / facts["mine"].source).write_text("changed")
    with pytest.raises(ConfigError, match=r"mine or a header of it was changed"):
        resumed_run(folder, make_chooser)


def test_a_run_without_one_says_so(tmp_path: Path) -> None:
    loaded, bed = load_scenario(scenario(tmp_path, "codel")), virtual_bed()
    run = new_run(tmp_path / "results", loaded, bed, plan_run(loaded, bed, expect), make_chooser)
    assert json.loads((run.directory.path / "manifest.json").read_text())["disciplines"] == {}


@pytest.mark.parametrize(
    ("discipline", "said"),
    [
        ("own/none.c", "discipline: {}/own/none.c: no such file; `nashbed aqm new NAME` writes"),
        (
            "{file: own/mine.c, params: {chances: 1%}}",
            "discipline: mine: params.chances: there is no such parameter; it has patience, chance",
        ),
        (
            "{file: own/mine.c, params: {patience: 11s}}",
            "discipline: mine: params.patience: 11s is out of range; write 1us to 10s",
        ),
    ],
)
def test_what_is_refused_while_planning(tmp_path: Path, discipline: str, said: str) -> None:
    path = scenario(tmp_path, discipline)
    with pytest.raises(ConfigError) as caught:
        plan_run(load_scenario(path), virtual_bed(), expect)
    assert caught.value.message.startswith(f"{path}: {said.format(tmp_path)}")


def test_a_cluster_loads_none(tmp_path: Path) -> None:
    loaded = load_scenario(scenario(tmp_path))
    with pytest.raises(ConfigError, match=r"mine.c is a file of yours, and workers of a cluster"):
        plan_run(loaded, virtual_bed(), expect, seats=4)


def test_two_of_one_name(tmp_path: Path) -> None:
    path = scenario(tmp_path)
    shutil.copyfile(AQM_TEMPLATE, tmp_path / "mine.c")
    swept = "sweep: {discipline: [./mine.c, {file: own/mine.c, params: {chance: 1%}}], mixes"
    path.write_text(SCENARIO.replace("sweep: {mixes", swept))
    with pytest.raises(ConfigError, match=r"there is another mine; rename one of the files"):
        find_disciplines(load_scenario(path))


def with_policy(folder: Path, source: str = OWN_POLICY, params: str = "least: 20kB") -> Path:
    """A scenario with several queues, one with a discipline and all with a policy of one's own."""
    path = scenario(folder)
    (folder / "own" / "half.c").write_text(source)
    queues = (
        "queues: [{name: fast, flows: [bbr], discipline: {file: own/mine.c}}, {name: rest}], "
        f"shared_buffer: {{file: own/half.c, params: {{{params}}}}}"
    )
    path.write_text(SCENARIO.replace("2bdp", f"2bdp, {queues}"))
    return path


def test_a_policy_of_the_memory_is_kept_as_well(tmp_path: Path) -> None:
    loaded, bed = load_scenario(with_policy(tmp_path)), virtual_bed()
    plan = plan_run(loaded, bed, expect)
    run = new_run(tmp_path / "results", loaded, bed, plan, make_chooser)
    folder = run.directory.path
    facts = run.directory.read("manifest.json", Manifest).disciplines
    assert sorted(facts) == ["half", "mine"]
    assert (folder / facts["half"].source).read_text() == OWN_POLICY
    told = loadable_bottleneck(plan.trials[0].setting, run.disciplines).queues
    assert told is not None
    assert [each.suffix for each in map(Path, [told.memory.file])] == [".so"]
    assert dict(told.memory.parameters) == {"least_bytes": 20_000}
    fast, rest = told.queues
    assert fast.discipline is not None
    assert (Path(fast.discipline.file).suffix, rest.discipline) == (".so", None)


@pytest.mark.parametrize(
    ("source", "params", "problem"),
    [
        (OWN_POLICY, "most: 1kB", "half: params.most: there is no such parameter; it has least"),
        ("int x(void);\nint x(void) { return 1; }\n", "", "exports no discipline: end it with"),
    ],
)
def test_a_policy_that_cannot_be_taken(
    tmp_path: Path, source: str, params: str, problem: str
) -> None:
    loaded = load_scenario(with_policy(tmp_path, source, params))
    with pytest.raises(ConfigError, match=problem) as error:
        plan_run(loaded, virtual_bed(), expect)
    assert error.value.message.startswith(f"{loaded.name}: discipline: ")
    assert "\n" not in error.value.message


def test_a_cluster_loads_no_policy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a file of yours, and workers of a cluster load none"):
        plan_run(load_scenario(with_policy(tmp_path)), virtual_bed(), expect, seats=4)


@pytest.mark.parametrize(
    ("discipline", "problem"),
    [
        ("{red: {min: 10B}}", "red: min is below avpkt: a burst of one would pass it"),
        ("{red: {min: 1GB}}", "red: min is above max"),
    ],
)
def test_parameters_that_a_data_plane_refuses_are_refused_before(
    discipline: str, problem: str
) -> None:
    """RED's `max` is a quarter of the buffer unless it is given: validation alone cannot tell."""
    text = SCENARIO.replace("buffer: 2bdp", f"buffer: 60kB, discipline: {discipline}")
    with pytest.raises(ConfigError) as caught:
        plan_run(parse_scenario(text, "s.yaml"), virtual_bed(), expect)
    assert caught.value.message.startswith(f"s.yaml: bottleneck: {problem}")
