"""A run's part of the shared folder holds what its sealed trials refer to, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from nashbed.controlplane.cluster import parcel as parcel_module
from nashbed.controlplane.cluster.bundle import bundle_of
from nashbed.controlplane.cluster.leftovers import remove_leftovers
from tests.unit.controlplane.cluster.conftest import Bed, MakeVirtualRun


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_trials_refer_to_stays(tmp_path: Path) -> None:
    shared, trials = tmp_path / "shared", tmp_path / "trials"
    for folder in ("t0-kept", "t0-orphan", ".t1-unfinished.0123abcd.tmp"):
        (shared / folder).mkdir(parents=True)
        (shared / folder / "postcards.parquet").write_text(folder)
    (trials / "t0").mkdir(parents=True)
    (trials / "t0" / "postcards.parquet").symlink_to(shared / "t0-kept" / "postcards.parquet")
    (trials / "t0" / "elsewhere").symlink_to(tmp_path / "of another run")
    remove_leftovers(shared, trials)
    assert names(shared) == ["t0-kept"]
    assert (trials / "t0" / "postcards.parquet").read_text() == "t0-kept"


def test_a_folder_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    remove_leftovers(tmp_path / "shared", tmp_path)


@pytest.mark.slow
def test_a_run_leaves_what_its_trials_refer_to(
    make_bed: Callable[..., Bed],
    make_virtual_run: MakeVirtualRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parcel_module, "LARGE_BYTES", 1)
    bed, run = make_bed(2), make_virtual_run()
    bed.shared = str(tmp_path / "shared")
    own = bundle_of(run, bed.shared).shared_folder
    assert own is not None
    (own / "of-a-client-that-died").mkdir(parents=True)
    (own.parent / "another run").mkdir()
    records = bed.run(run)
    assert [folder.rsplit("-", 1)[0] for folder in names(own)] == [each.id for each in records]
    assert names(own.parent) == sorted(["another run", own.name])
    links = [path for path in run.directory.trials.rglob("*") if path.is_symlink()]
    assert links
    assert all(link.is_file() for link in links)
