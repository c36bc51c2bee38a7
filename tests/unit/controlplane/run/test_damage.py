"""Damages of a finished run are noticed where it is read, and damaged trials are run again."""

import hashlib
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import nashbed as nb
import pytest
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.config import parse_scenario, parse_testbed
from nashbed.controlplane.contract.manifest import Manifest
from nashbed.controlplane.run.active_run import new_run, resumed_run
from nashbed.controlplane.run.runner import execute
from nashbed.controlplane.run.this_machine import ThisMachine
from nashbed.controlplane.store.checksums import SUMS
from nashbed.controlplane.store.documents import read_document
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.finished_run import open_run
from nashbed.controlplane.store.integrity import check_run
from nashbed.controlplane.study.adaptive import make_chooser
from tests.fakes.session import FakeSession
from tests.support.damage import KINDS, damages
from tests.unit.controlplane.conftest import SCENARIO, TESTBED, plan_of

ON_FAKES = ThisMachine(lambda request: FakeSession(), lambda testbed: Path("x"))
FIRST, SECOND = "b2bdp-k00-r0-a0", "b2bdp-k01-r0-a0"
NOT_SEALED = {"run.log"}
"""What a run tells about itself, from which nothing is read."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two trials."""
    text = SCENARIO.replace("[0, 1, 3]}", "[0, 1]}\nmax_attempts: 1")
    scenario, testbed = parse_scenario(text, "small.yaml"), parse_testbed(TESTBED, "fake.yaml")
    plan = plan_of(scenario.model, testbed.model)
    run = new_run(tmp_path_factory.mktemp("finished"), scenario, testbed, plan, make_chooser)
    execute(run, lambda snapshot: None, ON_FAKES)
    return run.directory.path


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may damage."""
    return Path(shutil.copytree(finished, tmp_path / finished.name))


def noticed_by_verify(run: Path) -> list[str]:
    """What `nashbed verify --files` says."""
    try:
        return [str(each) for each in check_run(run).damaged]
    except RunError as error:
        return [error.message]


def noticed_by_reading(run: Path) -> list[str]:
    """What whoever reads all of the run is told."""
    try:
        opened = open_run(run)
    except RunError as error:
        return [error.message]
    told = [each.problem for each in opened.damaged]
    for trial in opened.trials:
        try:
            trial.check()
        except RunError as error:
            told.append(error.message)
    return told


@pytest.mark.slow
def test_no_damage_is_silent(run: Path) -> None:
    silent, kinds = set(), Counter[str]()
    for damage in damages(run, seed=2):
        kinds[damage.kind] += 1
        found = noticed_by_verify(run), noticed_by_reading(run)
        for said in found:
            names = [name.removeprefix("trials/") for name in damage.files]
            if not any(name in line for name in names for line in said):
                silent |= set(damage.files)
    assert silent == NOT_SEALED
    assert set(kinds) == set(KINDS)
    assert kinds.total() > 250
    assert (noticed_by_verify(run), noticed_by_reading(run)) == ([], [])


def test_any_tool_can_check_a_trial(run: Path) -> None:
    folder = run / "trials" / FIRST
    check = ["sha256sum", "--check", "--strict", "--quiet", SUMS]
    subprocess.run(check, cwd=folder, check=True)
    assert {line.split()[1] for line in (folder / SUMS).read_text().splitlines()} == {
        path.name for path in folder.iterdir() if path.name != SUMS
    }


def test_the_manifest_lists_what_the_run_was_given_and_the_lists(run: Path) -> None:
    manifest = read_document(run / "manifest.json", Manifest, "")
    lists = {f"trials/{name}/{SUMS}" for name in (FIRST, SECOND)}
    assert set(manifest.sealed) == {"plan.json", "scenario.yaml", "testbed.yaml"} | lists
    for name, digest in manifest.sealed.items():
        assert hashlib.sha256((run / name).read_bytes()).hexdigest() == digest


def zero_a_page(path: Path) -> None:
    """Zero the head of a table's first page, which leaves its footer."""
    content = bytearray(path.read_bytes())
    content[4:12] = bytes(8)
    path.write_bytes(content)


def test_a_report_names_the_file_and_leaves_the_trial_out(run: Path) -> None:
    zero_a_page(run / "trials" / FIRST / "pauses.parquet")
    summary = nb.open_run(run)
    (left_out,) = summary.damaged
    assert left_out.id == FIRST
    assert left_out.problem == (
        f"{run}/trials/{FIRST}/pauses.parquet: is damaged: it is not what was written; the trial "
        "is left out, and `nashbed resume` runs it again"
    )
    assert set(summary.measured) == {SECOND}


def test_the_command_names_the_file(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["verify", str(run), "--files"]) == 0
    assert capsys.readouterr().out == "0 of 2 trials damaged\n"
    (run / "trials" / FIRST / "goodput.parquet").unlink()
    zero_a_page(run / "trials" / SECOND / "postcards.parquet")
    assert cli(["verify", str(run), "--files"]) == 20
    assert capsys.readouterr().out.splitlines() == [
        f"{FIRST}/goodput.parquet: is missing",
        f"{SECOND}/postcards.parquet: is damaged: it is not what was written",
        "2 of 2 trials damaged",
        "they are left out of reports; `nashbed resume` runs them again",
    ]
    assert cli(["verify", str(run), "--files", "--json"]) == 20
    said = json.loads(capsys.readouterr().out)
    assert (said["ok"], [each["trial"] for each in said["damaged"]]) == (False, [FIRST, SECOND])


@pytest.mark.slow
def test_a_damaged_trial_is_run_again(run: Path) -> None:
    zero_a_page(run / "trials" / FIRST / "flow_samples.parquet")
    whole = (run / "trials" / SECOND / SUMS).read_bytes()
    again = resumed_run(run, make_chooser)
    assert again.damaged == (
        f"{FIRST}/flow_samples.parquet: is damaged: it is not what was written",
    )
    assert [job.id for job in again.work.start()] == [FIRST]
    execute(again, lambda snapshot: None, ON_FAKES)
    assert (noticed_by_verify(run), noticed_by_reading(run)) == ([], [])
    assert (run / "trials" / SECOND / SUMS).read_bytes() == whole
    assert resumed_run(run, make_chooser).work.start() == []


def test_a_damaged_list_is_not_taken_for_right_by_resume(run: Path) -> None:
    """Even if it is in keeping with a table that was changed with it."""
    table, listed = (run / "trials" / FIRST / name for name in ("flows.parquet", SUMS))
    before = hashlib.sha256(table.read_bytes()).hexdigest()
    zero_a_page(table)
    after = hashlib.sha256(table.read_bytes()).hexdigest()
    listed.write_text(listed.read_text().replace(before, after))
    assert [job.id for job in resumed_run(run, make_chooser).work.start()] == [FIRST]


def test_a_trial_of_a_run_that_was_killed_needs_its_list(run: Path) -> None:
    manifest = read_document(run / "manifest.json", Manifest, "")
    begun = {name: each for name, each in manifest.sealed.items() if "trials" not in name}
    directory = resumed_run(run, make_chooser).directory
    directory.write("manifest.json", manifest.model_copy(update={"sealed": begun}))
    assert check_run(run).damaged == ()
    (run / "trials" / FIRST / SUMS).unlink()
    assert [str(each) for each in check_run(run).damaged] == [f"{FIRST}/{SUMS}: is missing"]


def test_tables_in_a_shared_folder_that_is_not_seen_are_not_damaged(run: Path) -> None:
    table = run / "trials" / FIRST / "postcards.parquet"
    shared = run.parent / "shared.parquet"
    table.rename(shared)
    table.symlink_to(shared)
    assert check_run(run).damaged == ()
    shared.rename(shared.with_suffix(".away"))
    assert resumed_run(run, make_chooser).work.start() == []
    assert "which is not seen here" in open_run(run).damaged[0].problem
