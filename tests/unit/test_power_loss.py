"""What has its name is on the disk, whoever wrote it: every write, sync and rename is looked at.

A loss of power takes what was written and not synced, in any order. Here it cannot be had: there is
no device that drops writes. So each place that writes aside and renames runs with a library before
C's (`support/recorded_writes.c`) that notes the order of its calls, and of those that it starts.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from tests.support.killed_writer import IN_PLACE, PLACES
from tests.unit.test_architecture import ROOT

SHIM = ROOT / "tests" / "support" / "recorded_writes.c"
ASIDE = re.compile(r"/\.[^/]+\.[0-9a-f]{8}\.tmp/")
Recorded = Callable[[str, Path, str], list[str]]

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs cc: `make setup`")


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]


class Disk:
    """What would be lost of the files that a process writes.

    Attributes:
        unsynced: Files with content, and folders with names, that would be lost.
        torn: What had its name before all of it was on the disk.
        renamed: How often something got its name.
    """

    def __init__(self) -> None:
        self.unsynced: set[str] = set()
        self.torn: list[str] = []
        self.renamed = 0
        self._known: set[str] = set()

    def take(self, line: str) -> None:
        """Take a recorded call in."""
        what, _, path = line.partition(" ")
        if what in ("write", "mkdir"):
            if path not in self._known:
                self._known.add(path)
                self.unsynced.add(_folder_of(path))
            self.unsynced.add(path)
        elif what == "sync":
            self.unsynced.discard(path)
        elif what == "remove":
            self.unsynced -= set(self._within(path))
        elif what == "rename":
            self._rename(*path.split("\t"))

    def _within(self, path: str) -> list[str]:
        return [each for each in self.unsynced if f"{each}/".startswith(f"{path}/")]

    def _rename(self, made: str, target: str) -> None:
        left = self._within(made)
        if ASIDE.search(made) and not ASIDE.search(target):
            self.renamed += 1
            self.torn += left
        moved = {each.replace(made, target, 1) for each in left}
        self.unsynced = self.unsynced - set(left) | moved | {_folder_of(target)}
        self._known.add(target)

    def lost(self) -> set[str]:
        """What would be lost now, but for what is still aside."""
        return {path for path in self.unsynced if not ASIDE.search(f"{path}/")}


def disk_after(calls: Iterable[str]) -> Disk:
    """The disk after some recorded calls."""
    disk = Disk()
    for line in calls:
        disk.take(line)
    return disk


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """Writes in a process of its own; what that did to files below the folder."""
    built = tmp_path_factory.mktemp("shim")
    library, log = built / "shim.so", built / "log"
    command = ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([*command, "-o", library, SHIM, "-ldl"], check=True)
    environment = os.environ | {
        "LD_PRELOAD": str(library),
        "RECORDED_WRITES": str(log),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    words = [sys.executable, "-m", "tests.support.killed_writer"]
    with subprocess.Popen(
        words, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def ask(place: str, folder: Path, moment: str) -> list[str]:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps([place, str(folder), moment]) + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == "0\n"
            return [line for line in log.read_text().splitlines() if f"{folder.parent}/" in line]

        yield ask


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_what_gets_its_name_is_on_the_disk(place: str, recorded: Recorded, tmp_path: Path) -> None:
    folder = tmp_path / "place"
    folder.mkdir()
    calls = recorded(place, folder, "never")
    disk = disk_after(calls)
    assert disk.renamed >= 2
    assert disk.torn == []
    targets = {line.split("\t")[1] for line in calls if line.startswith("rename ")}
    assert disk.lost().isdisjoint({_folder_of(target) for target in targets} | targets)


def test_a_new_run_is_on_the_disk(recorded: Recorded, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (place,) = IN_PLACE
    calls = recorded(place, folder, "never")
    assert any("scenario.yaml" in line for line in calls)
    assert disk_after(calls).lost() == set()


def test_it_would_be_seen(recorded: Recorded, tmp_path: Path) -> None:
    folder = tmp_path / "place"
    folder.mkdir()
    disk = disk_after(recorded("trial", folder, "unflushed"))
    torn = {re.sub(ASIDE, "/*/", path).removeprefix(str(tmp_path)) for path in disk.torn}
    table = "place/trials/*/trial-old/flows.parquet"
    assert f"/{table}" in torn
    assert f"{folder}/trials" in disk.lost()


@pytest.mark.slow
def test_what_a_disk_loses() -> None:
    aside, written = "/r/.t.0123abcd.tmp/t", ["mkdir {0}", "write {0}/a", "sync {0}/a", "sync {0}"]
    calls = [line.format(aside) for line in written]
    rename = f"rename {aside}\t/r/t"
    assert disk_after([*calls, rename]).torn == []
    assert "/r" in disk_after([*calls, rename]).lost()
    assert disk_after([*calls, rename, "sync /r"]).lost() == set()
    assert disk_after([*calls, f"write {aside}/a", rename]).torn == [f"{aside}/a"]
    assert disk_after([*calls[:2], f"remove {aside}/a", f"sync {aside}", rename]).torn == []
    assert set(disk_after([*calls[:3], rename]).torn) == {aside}
