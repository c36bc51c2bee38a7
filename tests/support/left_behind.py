"""What a session of tests leaves on the machine: nothing, or the session has failed."""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from nashbed.controlplane.machine.guest.scratch import KEPT, guests_folder
from nashbed.controlplane.machine.host.runs import STATE_DIR, read_states
from nashbed.controlplane.store.staging import remove_stale, remove_stale_scratch

SHARED_MEMORY = Path("/dev/shm")
NAMESPACES = Path("/run/netns")
ENDING_S = 15.0
"""How long processes of the last tests may take to end."""
OURS = re.compile(r"nb|nashbed|sem\.(mp|loky)-")
STAY = {"admission.lock", KEPT}
"""A lock whose file was removed would be two; credentials that their user's commands share."""
DASK = "dask-scratch-space"
"""A folder that Dask makes for its workers' and keeps, with locks in it."""


class LeftBehind:
    """Fails a session that leaves something behind, and names it.

    Temporary files of the session go into a folder of its own, where all that is left is its; what
    pytest keeps of failed tests stays where it was. Of shared memory what is new counts, unless a
    living process has it, and so with sessions and namespaces after live tests, which have the
    machine alone. Scratch folders of killed processes are removed as the product would, by the next
    of their kind.
    """

    def __init__(self) -> None:
        usual = tempfile.gettempdir()
        self.folder = Path(tempfile.mkdtemp(prefix="nb-"))
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", usual)
        os.environ["TMPDIR"] = tempfile.tempdir = str(self.folder)
        self._live = False
        self._before = {*_in_memory(), *_of_runs()}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._live = any(item.get_closest_marker("live") for item in session.items)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        yield
        left = self.left()
        shutil.rmtree(self.folder, ignore_errors=True)
        if left:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            reporter = session.config.pluginmanager.get_plugin("terminalreporter")
            for path in left:
                reporter.write_line(f"left behind by the tests: {path}", red=True)

    def left(self) -> list[Path]:
        """What is left, once the processes of the last tests have ended."""
        deadline = time.monotonic() + ENDING_S
        while found := self._left_now():
            if time.monotonic() > deadline:
                break
            time.sleep(0.1)
        return found

    def _left_now(self) -> list[Path]:
        remove_stale_scratch()
        found = {*_in_memory(), *(_of_runs() if self._live else ())} - self._before
        found |= {
            path
            for path in self.folder.iterdir()
            if path.name != DASK
            and not (path == guests_folder() and {each.name for each in path.iterdir()} <= STAY)
        }
        found |= {path for path in _entries(self.folder / DASK) if path.suffix != ".lock"}
        return sorted(found)


def _of_runs() -> Iterator[Path]:
    """Sessions and namespaces that are ours, and that no living process has."""
    for folder in (STATE_DIR, guests_folder()):
        living = {s.id for _, s in read_states(folder) if s is not None and s.is_alive()}
        living |= STAY
        stale = set(remove_stale(folder, dry_run=True))
        for path in _entries(folder):
            in_use = path.name.startswith(".") and path not in stale
            if not in_use and path.name.removesuffix(".json") not in living:
                yield path
    known = {n for _, s in read_states() if s is not None and s.is_alive() for n in s.namespaces}
    yield from (path for path in _entries(NAMESPACES) if _is_ours(path) and path.name not in known)


def _in_memory() -> Iterator[Path]:
    """What is ours in shared memory, and no living process has."""
    memory = [path for path in _entries(SHARED_MEMORY) if _is_ours(path)]
    mapped = _mapped() if memory else ""
    yield from (path for path in memory if f"{path}\n" not in mapped)


def _is_ours(path: Path) -> bool:
    return OURS.match(path.name) is not None


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _mapped() -> str:
    """What all processes that we may look at have in their memory."""
    text = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            text.append((process / "maps").read_text())
        except OSError:
            continue
    return "".join(text)
