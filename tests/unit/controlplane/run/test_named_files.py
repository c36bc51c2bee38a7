"""A run's traces and files of sizes: kept with it, and the same when it goes on."""

import hashlib
import shutil
from pathlib import Path

import pytest
from nashbed.controlplane.cluster.request import unpacked_files
from nashbed.controlplane.config import load_scenario, parse_testbed
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.manifest import FileFacts
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.plan.planner import make_plan
from nashbed.controlplane.run.active_run import ActiveRun, new_run, resumed_run
from nashbed.controlplane.study.adaptive import make_chooser
from nashbed.controlplane.targets.dpdk import dpdk_capabilities
from tests.unit.controlplane.conftest import SCENARIO, TESTBED

TRACE, SIZES = "../my links/link.trace", "link.trace"
WEB = f"  - {{name: web, base_rtt: 20ms, arrivals: {{every: 50ms}}, size: {{file: {SIZES}}}}}\n"


@pytest.fixture
def run(tmp_path: Path) -> ActiveRun:
    """A run with a trace and a file of sizes that have one name; their folder is gone."""
    own = tmp_path / "own"
    for file, content in ((own / SIZES, "300\n"), (own / TRACE, "1\n2\n")):
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
    text = SCENARIO.replace("100mbit,", f'100mbit, trace: "{TRACE}",')
    (own / "s.yaml").write_text(text.replace("strategies:", f"{WEB}strategies:"))
    scenario, bed = load_scenario(own / "s.yaml"), parse_testbed(TESTBED, "t.yaml")
    plan = make_plan(scenario.model, bed.model, dpdk_capabilities(bed.model.dataplane))
    made = new_run(tmp_path / "results", scenario, bed, plan, make_chooser)
    shutil.rmtree(own)
    shutil.rmtree(tmp_path / "my links")
    return made


def resumed(run: ActiveRun) -> Scenario:
    return resumed_run(run.directory.path, make_chooser).scenario.model


def test_a_run_has_its_files_beside_a_scenario_that_is_verbatim(run: ActiveRun) -> None:
    assert (run.directory.path / "scenario.yaml").read_text() == run.scenario.text
    digests = [hashlib.sha256(content).hexdigest() for content in (b"1\n2\n", b"300\n")]
    assert run.manifest.files == {
        TRACE: FileFacts(kept="files/0/link.trace", digest=digests[0]),
        SIZES: FileFacts(kept="files/1/link.trace", digest=digests[1]),
    }
    assert resumed(run) == run.scenario.model


def test_a_file_that_was_changed_is_refused(run: ActiveRun) -> None:
    kept = run.directory.path / "files/1/link.trace"
    kept.write_text("301\n")
    with pytest.raises(ConfigError) as caught:
        resumed(run)
    assert caught.value.message == (
        f"{kept}: was changed after the run started; restore it, or start a new run"
    )
    kept.unlink()
    with pytest.raises(ConfigError, match=r"files/1/link\.trace: cannot be read: No such file"):
        resumed(run)


def test_workers_get_the_files(run: ActiveRun, tmp_path: Path) -> None:
    placed = unpacked_files({TRACE: "1\n2\n", SIZES: "300\n"}, tmp_path / "worker")
    name = str(run.directory.path / "scenario.yaml")
    assert load_scenario(Path(name), placed.__getitem__).model == run.scenario.model
