"""Runs on Dask workers: equal to the bit whoever ran what, and nothing lost when parts die."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from nashbed.controlplane.contract.errors import EXIT_HOST, EXIT_INTERRUPTED
from nashbed.controlplane.machine.kernels.cache import kernel_cache
from nashbed.controlplane.store.checksums import file_digest
from tests.e2e.conftest import NASHBED, Nashbed, digests, records

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

FIVE = "sweep: {mixes: all}\n"
"""Five mixes of four flows."""
THREE = "sweep: {mixes: [0, 2, 4]}\n"
FORTY = "sweep: {mixes: all, buffer: [1bdp, 2bdp]}\ntrials: 4\n"
"""With two buffers and repetitions, where something is to happen in the middle."""
ADAPTIVE = "equilibrium: {search: adaptive}\n"
PATIENCE_S = 120.0


def sweep(tool: Nashbed, more: str) -> Path:
    """Short trials: two seconds, of which one is measured."""
    path = tool.scenario("", count=4, duration="2s", rtt="10ms", mixes="MIXES")
    text = path.read_text().replace("sweep: {mixes: MIXES}\n", more)
    path.write_text(text)
    return path


def run_on(tool: Nashbed, where: str, scenario: Path) -> Path:
    out = tool.call(
        "run", str(scenario), "--on", where, "--out", str(tool.results), "--no-report", "--json"
    )
    return Path(json.loads(out)["run_dir"])


def trials_of(attempts: Iterable[str]) -> set[str]:
    """The trials that these are attempts at; in two seconds a flow may send too little to count."""
    return {name.rpartition("-a")[0] for name in attempts}


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(
    *words: str, ready: str, env: dict[str, str] | None = None, on: Sequence[str] = ()
) -> Iterator[Any]:
    """A part of a cluster, until the block ends, started with `on`; yields its process."""
    command = [*on, str(NASHBED), *words]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | (env or {})
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if ready in line:
                break
        else:
            pytest.fail(f"nashbed {words[0]} ended")
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=60)


def scheduler(port: int, env: dict[str, str] | None = None) -> Any:
    words = ("scheduler", "--port", str(port))
    return serving(*words, ready="tls://", env=env)


def worker(port: int, *more: str, env: dict[str, str] | None = None) -> Any:
    words = ("worker", f"tcp://127.0.0.1:{port}", "--cores", "1", *more)
    return serving(*words, ready="tls://", env=env)


def worker_process(serving_process: Any) -> int | None:
    """The process that runs trials, below its keeper; None while there is none."""
    below = psutil.Process(serving_process.pid).children()
    return next((c.pid for c in below if any("spawn_main" in word for word in c.cmdline())), None)


@pytest.mark.long
def test_whoever_runs_what_the_tables_are_the_same(nashbed: Nashbed) -> None:
    scenario, port = sweep(nashbed, THREE), free_port()
    one = digests(run_on(nashbed, "local:2", scenario))
    assert len(trials_of(one)) == 3
    with scheduler(port), worker(port), worker(port):
        run_dir = run_on(nashbed, f"tcp://127.0.0.1:{port}", scenario)
    assert digests(run_dir) == one
    assert {record["ran_on"]["host"] for record in records(run_dir).values()} == {
        socket.gethostname()
    }
    here = nashbed.run(scenario, "virtual")
    assert digests(here) == one
    assert (
        json.loads((here / "manifest.json").read_text())["artefact_digest"]
        == (json.loads((run_dir / "manifest.json").read_text())["artefact_digest"])
    )


@pytest.mark.long
def test_workers_that_are_killed_lose_nothing(nashbed: Nashbed) -> None:
    """Whenever a trial has ended, one of two workers is killed, through a whole adaptive run."""
    scenario, port = sweep(nashbed, ADAPTIVE), free_port()
    seed = random.randrange(10**6)
    print("seed", seed)
    moments = random.Random(seed)
    where = f"tcp://127.0.0.1:{port}"
    undisturbed = digests(run_on(nashbed, "local:2", scenario))
    before, env = set(nashbed.run_dirs()), {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "100"}
    with scheduler(port, env), worker(port) as first, worker(port) as second:
        process = nashbed.start(
            "run", str(scenario), "--on", where, "--out", str(nashbed.results), "--no-report"
        )
        wait_for(lambda: len(set(nashbed.run_dirs()) - before) == 1, "no run directory")
        (run_dir,) = set(nashbed.run_dirs()) - before
        killed = kill_after_each_trial(process, run_dir, [first, second], moments)
        _, err = process.communicate()
    assert process.returncode == 0, err
    assert killed >= 3
    assert digests(run_dir) == undisturbed


def kill_after_each_trial(
    run: subprocess.Popen[str], run_dir: Path, workers: list[Any], moments: random.Random
) -> int:
    """Kill one of the workers soon after each trial, until the run ends; returns how often."""
    killed, seen = 0, 0
    while run.poll() is None:
        time.sleep(0.05)
        sealed = len(list(run_dir.glob("trials/b*")))
        if sealed == seen:
            continue
        seen = sealed
        time.sleep(moments.uniform(0, 0.5))
        pid = worker_process(moments.choice(workers))
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            killed += 1
    return killed


@pytest.mark.long
def test_a_client_that_is_killed_goes_on_where_it_was(nashbed: Nashbed) -> None:
    scenario, port = sweep(nashbed, FIVE), free_port()
    where = f"tcp://127.0.0.1:{port}"
    with scheduler(port), worker(port), worker(port):
        undisturbed = digests(run_on(nashbed, where, scenario))
        before = set(nashbed.run_dirs())
        process = nashbed.start(
            "run", str(scenario), "--on", where, "--out", str(nashbed.results), "--no-report"
        )
        wait_for(lambda: len(set(nashbed.run_dirs()) - before) == 1, "no run directory")
        (run_dir,) = set(nashbed.run_dirs()) - before
        wait_for(lambda: len(records(run_dir)) >= 2, "no trial ended")
        process.kill()
        process.communicate()
        kept = {path: path.read_bytes() for path in run_dir.glob("trials/b*/*")}
        assert 2 <= len(records(run_dir)) < 5
        nashbed.call("resume", str(run_dir), "--on", where, "--no-report")
    assert digests(run_dir) == undisturbed
    assert all(path.read_bytes() == content for path, content in kept.items())


@pytest.mark.long
def test_a_scheduler_that_restarts(nashbed: Nashbed) -> None:
    scenario, port = sweep(nashbed, FIVE), free_port()
    where = f"tcp://127.0.0.1:{port}"
    with worker_that_waits(port):
        with scheduler(port) as running:
            process = nashbed.start(
                "run", str(scenario), "--on", where, "--out", str(nashbed.results), "--no-report"
            )
            wait_for(lambda: len(nashbed.run_dirs()) == 1, "no run directory")
            (run_dir,) = nashbed.run_dirs()
            wait_for(lambda: len(records(run_dir)) >= 2, "no trial ended")
            running.kill()
            _, err = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == EXIT_HOST, err
            assert f"{where}: the cluster's scheduler is gone" in err
            assert f"to continue: nashbed resume {run_dir}" in err
        with scheduler(port):
            nashbed.call("resume", str(run_dir), "--on", where, "--no-report")
    assert len(trials_of(digests(run_dir))) == 5


def worker_that_waits(port: int) -> Any:
    """A worker that is there before its scheduler."""
    return serving("worker", f"tcp://127.0.0.1:{port}", "--cores", "1", ready="waiting for it")


@pytest.mark.long
def test_ctrl_c_stops_and_resume_goes_on(nashbed: Nashbed) -> None:
    scenario = sweep(nashbed, FIVE)
    process = nashbed.start(
        "run", str(scenario), "--on", "local:1", "--out", str(nashbed.results), "--no-report"
    )
    wait_for(lambda: len(nashbed.run_dirs()) == 1, "no run directory")
    (run_dir,) = nashbed.run_dirs()
    wait_for(lambda: len(records(run_dir)) >= 2, "no trial ended")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == EXIT_INTERRUPTED, err
    assert "Traceback" not in err
    nashbed.call("resume", str(run_dir), "--no-report")  # on this machine
    assert len(trials_of(digests(run_dir))) == 5


@pytest.mark.long
def test_a_worker_without_the_kernel_is_given_it(nashbed: Nashbed, tmp_path: Path) -> None:
    scenario, port = sweep(nashbed, "sweep: {mixes: [1]}\n"), free_port()
    cache = tmp_path / "cache"
    with scheduler(port), worker(port, env={"XDG_CACHE_HOME": str(cache)}):
        run_dir = run_on(nashbed, f"tcp://127.0.0.1:{port}", scenario)
    assert len(records(run_dir)) == 1
    (given,) = (cache / "nashbed" / "kernels").glob("[!.]*/linux")
    assert given.read_bytes() == (kernel_cache() / given.parent.name / "linux").read_bytes()


@pytest.mark.long
def test_a_worker_with_another_kernel_is_refused(nashbed: Nashbed, tmp_path: Path) -> None:
    """Its kernel was made by the same recipe, and is another program."""
    scenario, port = sweep(nashbed, "sweep: {mixes: [1]}\n"), free_port()
    cache = tmp_path / "cache" / "nashbed" / "kernels"
    left_out = shutil.ignore_patterns("tree", "modules", ".*", "*.log")
    shutil.copytree(kernel_cache(), cache, ignore=left_out)
    for folder in cache.iterdir():
        binary = folder / "linux"
        binary.write_bytes(binary.read_bytes() + b"\0")
        record = json.loads((folder / "kernel.json").read_text())
        record["binary_digest"] = file_digest(binary)
        (folder / "kernel.json").write_text(json.dumps(record))
    other = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with scheduler(port), worker(port, env=other):
        err = nashbed.call(
            "run", str(scenario), "--on", f"tcp://127.0.0.1:{port}", "--out",
            str(nashbed.results), code=EXIT_HOST,
        )  # fmt: skip
    assert "takes no part: its kernel for virtual time is" in err
    assert err.count("(") >= 2
    assert "no worker takes part" in err
