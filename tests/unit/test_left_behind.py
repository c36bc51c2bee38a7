"""A session of tests that leaves something behind fails, and says what."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.test_architecture import ROOT

CONFTEST = """
from tests.support import left_behind
left_behind.ENDING_S = 0.5
from tests.conftest import pytest_configure
"""
KILLED = """
import multiprocessing, os, signal, subprocess, sys
def test_it():
    script = (
        "import multiprocessing, os\\n"
        "from multiprocessing import resource_tracker\\n"
        "lock = multiprocessing.get_context('spawn').Lock()\\n"
        "print(lock._semlock.name, flush=True)\\n"
        "os.kill(resource_tracker._resource_tracker._pid, 9)\\n"
        "os.kill(os.getpid(), 9)\\n"
    )
    name = subprocess.run([sys.executable, "-c", script], stdout=-1, text=True).stdout.strip()
    open(os.environ["SAYS"], "w").write("/dev/shm/sem." + name.removeprefix("/"))
"""
FORGOTTEN = """
import os, tempfile
def test_it():
    open(os.environ["SAYS"], "w").write(tempfile.mkdtemp(prefix="forgotten-"))
"""
TIDY = """
import os, tempfile
from pathlib import Path
def test_it(tmp_path):
    (tmp_path / "file").touch()
    with tempfile.TemporaryDirectory() as folder:
        open(os.environ["SAYS"], "w").write(folder)
    (Path(tempfile.gettempdir()) / ".nashbed-work.0123abcd.tmp").mkdir()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "leaves", "workers"),
    [(KILLED, True, 0), (FORGOTTEN, True, 1), (TIDY, False, 0)],
    ids=["killed", "forgotten", "tidy"],
)
def test_what_is_left_fails_the_session(
    test: str, leaves: bool, workers: int, tmp_path: Path
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(test)
    says = tmp_path / "says"
    place = [f"--rootdir={tmp_path}", f"--confcutdir={tmp_path}", "-c", os.devnull]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", str(workers), *place, str(tmp_path / "test_it.py")],
        cwd=ROOT, env=os.environ | {"SAYS": str(says), "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    left = says.read_text()
    assert (f"left behind by the tests: {left}" in done.stdout) is leaves, done.stdout
    assert done.returncode == (1 if leaves else 0)
    if leaves and test is KILLED:
        Path(left).unlink()
    assert not Path(left).exists()
