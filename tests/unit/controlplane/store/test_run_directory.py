"""A run directory while it is written: nothing has its name before it is complete."""

from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.contract.plan import Plan
from nashbed.controlplane.contract.trial import TrialRecord
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.run_directory import RunDirectory, create, open_existing
from tests.support.synthetic_run import write_run
from tests.unit.controlplane.conftest import MakeRun


@pytest.fixture
def record(tmp_path: Path) -> TrialRecord:
    run = write_run(tmp_path / "synthetic", duration="2s")
    (path, *_) = sorted(run.glob("trials/*/trial.json"))
    return TrialRecord.model_validate_json(path.read_text())


def test_a_sealed_trial_is_read_as_it_was_written(make_run: MakeRun, record: TrialRecord) -> None:
    directory = make_run().directory
    with directory.unsealed(record.id) as folder:
        folder.mkdir()
        (folder / "flows.parquet").write_text("a table")
        assert directory.sealed() == []
        sealed = directory.seal(record.id, record)
    assert [path.name for path in directory.trials.iterdir()] == [record.id]
    assert {path.name for path in sealed.iterdir()} == {"flows.parquet", "trial.json", "SHA256SUMS"}
    assert directory.sealed() == [record]


def test_a_trial_that_is_not_sealed_leaves_nothing(make_run: MakeRun) -> None:
    directory = make_run().directory
    with pytest.raises(HostError, match="no"), directory.unsealed("one") as folder:
        folder.mkdir()
        raise HostError("no")
    assert list(directory.trials.iterdir()) == []


def test_unfinished_trials_are_removed_but_those_of_others(
    make_run: MakeRun, record: TrialRecord
) -> None:
    directory = make_run().directory
    (directory.trials / ".two.0123abcd.tmp" / "two").mkdir(parents=True)
    with directory.unsealed("one") as folder:
        folder.mkdir()
        RunDirectory(directory.path).remove_unfinished()
        directory.seal("one", record)
    assert [path.name for path in directory.trials.iterdir()] == ["one"]


def test_a_new_run_can_be_opened_again(make_run: MakeRun) -> None:
    run = make_run()
    again = open_existing(run.directory.path)
    assert again.read("plan.json", Plan) == run.plan


def test_runs_of_one_second_have_names_of_their_own(make_run: MakeRun) -> None:
    runs = [make_run() for _ in range(3)]
    assert len({run.directory.path for run in runs}) == 3


def test_a_folder_that_cannot_be_created_is_one_line(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run()
    results = tmp_path / "file"
    results.touch()
    with pytest.raises(HostError, match=r"cannot create this folder: .*; name another with --out"):
        create(results, run.scenario, run.testbed, run.plan)


def test_a_damaged_document_names_its_remedy(make_run: MakeRun) -> None:
    directory = make_run().directory
    (directory.path / "plan.json").write_text("{")
    with pytest.raises(
        RunError, match=r"plan\.json: is damaged .*; restore it, or start a new run"
    ):
        directory.read("plan.json", Plan)
