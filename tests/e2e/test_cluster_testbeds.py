"""Two real testbeds on one machine, each in namespaces of its own, and one sweep on both."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.e2e.conftest import NASHBED, STATE, WIDE_GATES, Nashbed, records
from tests.e2e.test_cluster import free_port, scheduler, wait_for

pytestmark = [pytest.mark.root, pytest.mark.dataplane, pytest.mark.slow]

TESTBED = """\
name: {name}
target: dpdk
dataplane:
  cores: [{core}]
  service_core: {other}
  shield: false
  loop: sleep
  huge_pages: false
  memory: 640MiB
  queue_packets: 4096
ports:
  senders: {{driver: af_xdp}}
  receivers: {{driver: af_xdp}}
capacity: {{rate: 20mbit, lanes: 1}}
"""
APART = (
    "mkdir -p /run/nashbed /run/netns && mount -t tmpfs none /run/nashbed && "
    'mount -t tmpfs none /run/netns && exec "$@"'
)
"""Locks, state files and names of network namespaces are the worker's own."""


@contextmanager
def testbed_worker(port: int, file: Path) -> Iterator[None]:
    """A worker in mounts of its own, until the block ends; then nothing of it is left."""
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", APART, "sh", str(NASHBED), "worker",
         f"tcp://127.0.0.1:{port}", "--testbed", str(file)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert "testbed" in process.stdout.readline()
        yield
    finally:
        below = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        process.communicate(timeout=60)
        _, left = psutil.wait_procs(below, timeout=30)
    assert left == []


testbed_worker.__test__ = False  # type: ignore[attr-defined]


def write_testbed(folder: Path, name: str, core: int) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(TESTBED.format(name=name, core=core, other=1 - core))
    return path


def data_planes(*files: Path) -> list[int]:
    """The data planes of the workers that are these testbeds."""
    there = psutil.process_iter(["cmdline"])  # None of one that has just ended
    names = {str(file) for file in files}
    found = []
    for worker in [p for p in there if names & set(p.info["cmdline"] or [])]:
        with suppress(psutil.NoSuchProcess):  # some end meanwhile
            for child in worker.children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    found += [child.pid] * child.name().startswith("nashbed-datap")
    return found


@pytest.mark.long
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs a core for each testbed")
def test_one_sweep_runs_on_two_testbeds(nashbed: Nashbed, tmp_path: Path) -> None:
    files = [write_testbed(tmp_path, name, core) for core, name in enumerate(("left", "right"))]
    scenario, port = nashbed.scenario(WIDE_GATES + "trials: 2\n", rate="5mbit"), free_port()
    with scheduler(port), testbed_worker(port, files[0]), testbed_worker(port, files[1]):
        out = nashbed.call(
            "run", str(scenario), "--on", f"tcp://127.0.0.1:{port}", "--testbed", str(files[0]),
            "--out", str(nashbed.results), "--no-report", "--json",
        )  # fmt: skip
        assert data_planes(*files) == []
    run_dir = Path(json.loads(out)["run_dir"])
    ran_on: dict[str, Any] = {
        name: record["ran_on"]["testbed"] for name, record in records(run_dir).items()
    }
    assert set(ran_on.values()) == {"left", "right"}, ran_on
    manifest = json.loads((run_dir / "manifest.json").read_text())
    assert set(manifest["testbeds"]) == {"left", "right"}
    for file in files:
        assert (run_dir / "testbeds" / file.name).read_text() == file.read_text()
    nashbed.call("report", str(run_dir), "--format", "html")
    assert "Testbeds" in (run_dir / "report" / "index.html").read_text()
    assert not list(STATE.glob("reserved-*"))


@pytest.mark.long
def test_a_testbed_is_free_after_its_client_was_killed(nashbed: Nashbed, tmp_path: Path) -> None:
    """The next run gets it although nobody has resumed the first, nor touched the worker."""
    file, port = write_testbed(tmp_path, "only", 0), free_port()
    scenario = nashbed.scenario(WIDE_GATES + "trials: 20\n", rate="5mbit")
    where = ("--on", f"tcp://127.0.0.1:{port}", "--testbed", str(file))
    with scheduler(port), testbed_worker(port, file):
        run = nashbed.start("run", str(scenario), *where, "--out", str(nashbed.results))
        wait_for(lambda: data_planes(file) != [], "no data plane has started")
        run.kill()
        run.communicate()
        wait_for(lambda: data_planes(file) == [], "the testbed still has the dead client's run")
        short = nashbed.scenario(WIDE_GATES + "trials: 1\n", rate="5mbit")
        nashbed.call("run", str(short), *where, "--out", str(tmp_path / "next"), "--no-report")
