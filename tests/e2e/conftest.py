"""Real runs on this machine: the command line as a person starts it, and what it must not leave.

Every scenario here is short, so its gates on timing are wide: a busy machine is no mistake of
the program. What is exact (bytes, order, conservation) stays exact.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from nashbed.controlplane.contract.errors import EXIT_ACCEPTANCE, HostError
from nashbed.controlplane.machine.guest.kernel import check_guests
from tests.conftest import is_real_run
from tests.support import guests, warm
from tests.support.left_behind import STAY

ROOT = Path(__file__).resolve().parents[2]
NASHBED = Path(sys.executable).parent / "nashbed"
TESTBEDS = ROOT / "configs" / "testbeds"
STATE = Path("/run/nashbed")

WIDE_GATES = (
    "gates: {round_trip_error: 50%, paused: 100%, longest_hold_up: 1s, lateness_p999: 200ms}\n"
)
SCENARIO = """\
name: e2e
title: An end-to-end test
bottleneck: {{rate: {rate}, buffer: {buffer}}}
flows:
  - {{name: main, count: {count}, base_rtt: {rtt}}}
strategies: [cubic, bbr]
duration: {duration}
warmup: {warmup}
start_jitter: 50ms
max_attempts: {attempts}
sweep: {{mixes: {mixes}}}
"""
USUAL = {
    "rate": "20mbit", "buffer": "2bdp", "count": 2, "rtt": "20ms", "duration": "3s",
    "warmup": "1s", "mixes": "[1]", "attempts": 2,
}  # fmt: skip


@dataclass
class Nashbed:
    """The command line with a results folder of its own.

    Attributes:
        alone: Whether nothing else needs the machine. Else real runs shield no core, and their
            packet loop sleeps until the next event.
        within: What the command line is started through.
    """

    folder: Path
    alone: bool = True
    within: tuple[str, ...] = ()

    def scenario(self, more: str = WIDE_GATES, **changes: Any) -> Path:
        path = self.folder / "scenario.yaml"
        once = "" if "trials:" in more else "trials: 1\n"
        path.write_text(SCENARIO.format(**(USUAL | changes)) + once + more)
        return path

    def testbed(self, name: str = "embedded") -> Path:
        """A shipped testbed's file, or a copy that lets others compute beside it."""
        shipped = TESTBEDS / f"{name}.yaml"
        if self.alone or name == "virtual":
            return shipped
        text = shipped.read_text()
        for polite in ("shield: false", "loop: sleep"):
            text, changed = re.subn(rf"(?m)^  {polite.split()[0]} \w+", f"  {polite}", text)
            assert changed == 1
        copy = self.folder / f"{name}.yaml"
        copy.write_text(text)
        return copy

    def start(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(NASHBED), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def call(self, *args: str, code: int = 0) -> str:
        done = self._done(args)
        # A busy machine may refuse every attempt at a mix; whether it may is for the test to say.
        unlucky = args[0] in ("run", "resume") and done.returncode == EXIT_ACCEPTANCE
        assert done.returncode == code or (unlucky and not code), done.stderr + done.stdout
        return done.stdout if code == 0 else done.stderr

    def _done(self, args: Sequence[str]) -> subprocess.CompletedProcess[str]:
        if not self.within:
            return warm.nashbed(args)
        return subprocess.run(
            [*self.within, str(NASHBED), *args],
            capture_output=True, text=True, timeout=warm.PATIENCE_S, check=False,
        )  # fmt: skip

    def run(self, scenario: Path, testbed: str = "embedded") -> Path:
        """Run a scenario to its end, whether its trials are valid or not; its run directory."""
        return Path(json.loads(self.call(*self.run_words(scenario, testbed), "--json"))["run_dir"])

    def run_words(self, scenario: Path, testbed: str = "embedded") -> list[str]:
        """How a run without a report is written."""
        bed = str(self.testbed(testbed))
        return ["run", str(scenario), "--testbed", bed, "--out", str(self.results), "--no-report"]

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def run_dirs(self) -> list[Path]:
        return sorted(self.results.glob("*-e2e*"))


def run_id(run_dir: Path) -> str:
    return hashlib.sha256(str(run_dir.resolve()).encode()).hexdigest()[:4]


def leftovers(run_dir: Path) -> list[str]:
    """Namespaces, processes and files of a run that are still there."""
    name = run_id(run_dir)
    found = [p.name for p in Path("/run/netns").glob(f"nb{name}-*")]
    found += [str(p) for pattern in (f"{name}*", f".{name}*") for p in STATE.glob(pattern)]
    found += [str(p) for p in (run_dir / "trials").glob(".*")]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if f"{STATE}/{name}/" in command or f"{run_dir}/trials" in command:
            found.append(command)
    return found


@pytest.fixture(autouse=True)
def _machine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """One worker has real runs at a time: a second run would be refused."""
    if "PYTEST_XDIST_WORKER" not in os.environ or not is_real_run(request.node):
        yield
        return
    with (tmp_path_factory.getbasetemp().parent / "machine.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def nashbed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Nashbed]:
    """The command line; afterwards nothing of its runs may be left."""
    tool = Nashbed(tmp_path, alone=request.node.get_closest_marker("live") is not None)
    yield tool
    left = [each for run_dir in tool.run_dirs() for each in leftovers(run_dir)]
    if left:
        tool.call("doctor", "--clean")
    assert left == []


@pytest.fixture
def guests_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short folder of the test's own for guests' sessions; no file of theirs is left in it."""
    try:
        check_guests(guests.session_request(tmp_path).testbed)
    except HostError as error:
        pytest.skip(error.message)
    folder = Path(tempfile.mkdtemp(prefix="g"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    yield folder
    files = [path for path in folder.rglob("*") if not path.is_dir() and path.suffix != ".lock"]
    left = [path for path in files if path.name not in STAY]
    shutil.rmtree(folder)
    assert left == []


def records(run_dir: Path) -> dict[str, dict[str, Any]]:
    """All sealed trials by id."""
    return {
        path.parent.name: json.loads(path.read_text())
        for path in run_dir.glob("trials/*/trial.json")
    }


def digests(run_dir: Path) -> dict[str, str]:
    """The digest over each trial's tables, captures and facts."""
    return {name: record["digests"]["trial"] for name, record in records(run_dir).items()}


def table(run_dir: Path, trial: str, name: str) -> dict[str, np.ndarray]:
    read = pq.read_table(run_dir / "trials" / trial / f"{name}.parquet")
    return {column: read[column].to_numpy() for column in read.column_names}


def only_valid(run_dir: Path) -> dict[str, Any]:
    """The valid record of a run with one trial."""
    valid = [r for r in records(run_dir).values() if r["valid"]]
    reasons = [r["invalid_reasons"] for r in records(run_dir).values()]
    assert len(valid) == 1, reasons
    return valid[0]
