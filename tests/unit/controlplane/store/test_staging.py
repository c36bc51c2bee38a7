"""What is made aside: whole or not there, and removed once nobody makes it any more."""

import errno
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from nashbed.controlplane.store import staging
from nashbed.controlplane.store.staging import (
    remove_stale,
    remove_stale_scratch,
    scratch_folder,
    whole_folder,
    write_whole,
)

HOLD = """
import sys
from pathlib import Path
from nashbed.controlplane.store.staging import Staging
with Staging(Path(sys.argv[1]), "page") as staging:
    (staging.place / "page").write_text("half")
    print(staging.place, flush=True)
    sys.stdin.readline()
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_another_process_makes_is_left_alone_until_it_dies(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        place = Path(other.stdout.readline().strip())
        assert remove_stale(tmp_path) == remove_stale(tmp_path, dry_run=True) == []
        write_whole(tmp_path / "page", "whole")
        assert (place / "page").read_text() == "half"
        other.kill()
    assert remove_stale(tmp_path, "another") == []
    assert remove_stale(tmp_path, dry_run=True) == [place]
    assert place.exists()
    assert remove_stale(tmp_path) == [place]
    assert names(tmp_path) == ["page"]


def test_the_next_of_its_name_removes_it(tmp_path: Path) -> None:
    for name in (".page.0123abcd.tmp", ".other.0123abcd.tmp", ".page.tmp", "page.0123abcd.tmp"):
        (tmp_path / name / "half").mkdir(parents=True)
    write_whole(tmp_path / "page", "whole")
    assert names(tmp_path) == [".other.0123abcd.tmp", ".page.tmp", "page", "page.0123abcd.tmp"]


def test_links_and_what_is_another_users_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (tmp_path / ".a.0123abcd.tmp").symlink_to(victim)
    (tmp_path / ".b.0123abcd.tmp").touch()
    (tmp_path / ".c.0123abcd.tmp").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert remove_stale(tmp_path) == []
    monkeypatch.undo()
    assert [path.name for path in remove_stale(tmp_path)] == [".c.0123abcd.tmp"]
    assert names(victim) == []


def test_a_folder_is_replaced_without_a_moment_in_which_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "figures"
    for text in ("old", "new"):
        with whole_folder(target) as made:
            (made / text).touch()
            if text == "new":
                monkeypatch.setattr(Path, "rename", lambda *_: pytest.fail("not in one step"))
    assert names(target) == ["new"]
    assert names(tmp_path) == ["figures"]


def test_where_folders_cannot_change_places_they_are_still_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(made: Path, target: Path) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(staging, "_rename_exchange", refuses)
    for text in ("old", "new"):
        with whole_folder(tmp_path / "figures") as made:
            (made / text).touch()
    assert names(tmp_path / "figures") == ["new"]
    assert names(tmp_path) == ["figures"]


def test_an_error_keeps_what_is_there(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "t") as made:
        (made / "old").touch()
    with pytest.raises(ValueError, match="no"), whole_folder(tmp_path / "t") as made:
        raise ValueError("no")
    with pytest.raises(OSError, match="not empty"), whole_folder(tmp_path / "t", replace=False):
        pass
    assert names(tmp_path / "t") == ["old"]
    assert names(tmp_path) == ["t"]


def test_what_must_last_is_flushed_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[str, bool]] = []
    target = tmp_path / "t"
    monkeypatch.setattr(staging, "_flush", lambda p: flushed.append((p.name, target.exists())))
    with whole_folder(target) as made:
        (made / "folder").mkdir()
        (made / "folder" / "file").touch()
    expected = [("folder", False), ("file", False), ("t", False), (tmp_path.name, True)]
    assert sorted(flushed[:2]) == sorted(expected[:2])
    assert flushed[2:] == expected[2:]


def test_without_locks_nothing_is_taken_for_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*asked: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", none)
    (tmp_path / ".t.0123abcd.tmp").mkdir()
    write_whole(tmp_path / "t", "whole")
    assert (tmp_path / "t").read_text() == "whole"
    assert remove_stale(tmp_path) == []
    assert names(tmp_path) == [".t.0123abcd.tmp", "t"]


@pytest.mark.slow
def test_writers_and_cleaners_at_once_lose_nothing(tmp_path: Path) -> None:
    """Writers of one name clean up after one another all the time."""
    ended, failed = threading.Event(), list[BaseException]()

    def clean() -> None:
        while not ended.is_set():
            remove_stale(tmp_path)

    def write(text: str) -> None:
        try:
            for _ in range(100):
                write_whole(tmp_path / "t", text)
        except BaseException as error:
            failed.append(error)

    cleaners = [threading.Thread(target=clean) for _ in range(2)]
    writers = [threading.Thread(target=write, args=(text * 1000,)) for text in "abc"]
    for thread in (*cleaners, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    ended.set()
    for thread in cleaners:
        thread.join()
    assert failed == []
    assert set((tmp_path / "t").read_text()) < set("abc")
    assert names(tmp_path) == ["t"]


def test_what_is_replaced_as_a_whole_nobody_else_writes(tmp_path: Path) -> None:
    for umask, mode in ((0o000, 0o644), (0o002, 0o644), (0o077, 0o600)):
        before = os.umask(umask)
        try:
            path = write_whole(tmp_path / "t", "")
            with staging.Staging(tmp_path, "t") as made:
                assert made.place.stat().st_mode & 0o777 == 0o700
        finally:
            os.umask(before)
        assert path.stat().st_mode & 0o777 == mode


def test_scratch_folders_of_killed_processes_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = [tmp_path / f".nashbed-{name}.0123abcd.tmp" for name in ("bench", "work")]
    for path in (*left, tmp_path / ".others.0123abcd.tmp"):
        path.mkdir()
    with scratch_folder("work") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert not left[1].exists()
        assert remove_stale_scratch() == left[:1]
        assert folder.exists()
    assert names(tmp_path) == [".others.0123abcd.tmp"]
