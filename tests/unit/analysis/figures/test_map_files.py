"""The files of an atlas, and what may not be overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.analysis.atlas.compute import compute_map
from nashbed.analysis.figures.map_files import FILES, check_folder, write_map
from nashbed.controlplane.contract.errors import ConfigError, HostError
from tests.unit.analysis.atlas.made_maps import plane, small_map


@pytest.mark.slow
def test_every_file_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "atlas"
    written = write_map(small_map(), (), folder, "today", {})
    assert [path.name for path in written] == list(FILES)
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert all(path.stat().st_size > 500 for path in written)


@pytest.mark.slow
def test_the_same_map_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (
        {path.name: path.read_bytes() for path in write_map(small_map(), (), folder, "today", {})}
        for folder in (tmp_path / "a", tmp_path / "b")
    )
    assert first == second


def test_an_atlas_is_not_overwritten_by_chance(tmp_path: Path) -> None:
    check_folder(tmp_path / "none", overwrite=False)
    check_folder(tmp_path, overwrite=False)
    (tmp_path / "atlas.csv").touch()
    with pytest.raises(ConfigError, match=r"has atlas\.csv; give a new folder, or --overwrite"):
        check_folder(tmp_path, overwrite=False)
    check_folder(tmp_path, overwrite=True)
    with pytest.raises(ConfigError, match="is a file; give a folder"):
        check_folder(tmp_path / "atlas.csv", overwrite=True)


def test_nothing_is_written_without_an_answer(tmp_path: Path) -> None:
    computed = compute_map(plane("buffer=0.1..0.9bdp"), "mishra-synchronised")
    with pytest.raises(ConfigError, match=r"answers nowhere on the map: the buffer is 0\.1 BDP"):
        write_map(computed, (), tmp_path / "atlas", "today", {})
    assert not (tmp_path / "atlas").exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HostError, match="cannot be written"):
        write_map(small_map(), (), tmp_path / "file" / "atlas", "today", {})
