"""Runs whose large tables stayed in a shared folder: read and compared, or said to lack them."""

import shutil
from pathlib import Path

import pytest
from nashbed.analysis.report import build_report
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.cluster.parcel import pack, unpack
from nashbed.controlplane.contract.trial import RanOn, TrialRecord
from nashbed.controlplane.store.comparison import compare_trials
from nashbed.controlplane.store.digests import digest_tables, digest_trial
from nashbed.controlplane.store.documents import read_document, write_document
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.finished_run import open_run
from tests.unit.analysis.report.test_report import PAGE, text_of

RAN_ON = RanOn(host="far", testbed="lab", testbed_digest="1" * 64, certificate="none")


@pytest.fixture
def linked(run_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of which every trial came in a parcel, the postcards left in `tmp_path/shared`."""
    monkeypatch.setattr("nashbed.controlplane.cluster.parcel.LARGE_BYTES", 10_000)
    for trial in sorted((run_copy / "trials").iterdir()):
        parcel = pack(trial, tmp_path / "shared")
        shutil.rmtree(trial)
        unpack(parcel, trial, tmp_path / "shared")
        assert (trial / "postcards.parquet").is_symlink()
    return run_copy


def digested(trial: Path, ran_on: RanOn | None = None) -> Path:
    """The trial with the digests that a run gives it."""
    record = read_document(trial / "trial.json", TrialRecord, "")
    changes = {"digests": digest_trial(trial, {}), "ran_on": ran_on}
    write_document(trial / "trial.json", record.model_copy(update=changes))
    return trial


def test_links_are_read_and_digested_like_files(linked: Path, whole_run: Path) -> None:
    ours, before = (open_run(run).trials for run in (linked, whole_run))
    assert [trial.id for trial in ours] == [trial.id for trial in before]
    for one, other in zip(ours, before, strict=True):
        assert digest_tables(one.path) == digest_tables(other.path)


def test_where_a_trial_ran_is_not_compared(linked: Path, whole_run: Path, tmp_path: Path) -> None:
    trial = next((linked / "trials").iterdir())
    here = digested(Path(shutil.copytree(whole_run / "trials" / trial.name, tmp_path / "here")))
    assert compare_trials(digested(trial, RAN_ON), here).equal


@pytest.mark.slow
def test_a_run_without_its_shared_folder_says_what_is_missing(
    linked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.move(tmp_path / "shared", tmp_path / "elsewhere")
    run = open_run(linked)
    assert run.trials == ()
    assert len(run.damaged) == 5
    assert f".parquet: is kept as {tmp_path}/shared/" in run.damaged[0].problem
    assert "mount that at the same place" in run.damaged[0].problem
    text = text_of(build_report(linked, PAGE))
    assert "Left out: 5 damaged trials." in text
    assert f"is kept as {tmp_path}/shared/" in text
    assert cli(["report", str(linked), "--format", "html"]) == 0
    assert f"left out: 5 trials; {run.damaged[0].id}: " in capsys.readouterr().out


def test_a_digest_is_not_that_of_the_tables_that_are_left(linked: Path, tmp_path: Path) -> None:
    """A table that is not seen is not a trial without it."""
    trial = digested(next((linked / "trials").iterdir()))
    shutil.rmtree(tmp_path / "shared")
    with pytest.raises(RunError, match=r"\.parquet: is kept as"):
        compare_trials(trial, trial)


def test_a_copy_that_follows_links_needs_no_shared_folder(linked: Path, tmp_path: Path) -> None:
    whole = Path(shutil.copytree(linked, tmp_path / "whole", symlinks=False))
    shutil.rmtree(tmp_path / "shared")
    assert len(open_run(whole).trials) == 5
