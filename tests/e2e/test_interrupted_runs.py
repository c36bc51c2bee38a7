"""Runs that are killed, stopped, or run out of disk: nothing lost, nothing left behind."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nashbed.controlplane.machine.host.nics import MAX_BACKLOG
from tests.e2e.conftest import STATE, WIDE_GATES, Nashbed, leftovers, records, run_id

pytestmark = [pytest.mark.root, pytest.mark.dataplane, pytest.mark.slow]

KILLS = 6


def five_trials(nashbed: Nashbed, repetitions: int = 1) -> list[str]:
    """Arguments of a run of five short trials, or more, two or three at a time."""
    more = f"{WIDE_GATES}trials: {repetitions}\n"
    path = nashbed.scenario(more, count=4, mixes="all", duration="2s")
    bed = nashbed.folder / "testbed.yaml"
    text = nashbed.testbed().read_text()
    bed.write_text(text + "\ncapacity: {rate: 600mbit, lanes: 3}\n")
    return ["run", str(path), "--testbed", str(bed), "--out", str(nashbed.results), "--no-report"]


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Wait a minute at most, and no longer than the process that is to make it so runs."""
    deadline = time.monotonic() + 60
    while not condition():
        if process is not None and process.poll() is not None and not condition():
            pytest.fail(f"the process ended before: {process.communicate()[1]}")
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_whole(run_dir: Path, repetitions: int = 1) -> bool:
    """Whether each mix has its valid trials, and none is there twice."""
    valid = [r["id"].rpartition("-a")[0] for r in records(run_dir).values() if r["valid"]]
    return sorted(valid) == [f"b2bdp-k0{k}-r{r}" for k in range(5) for r in range(repetitions)]


def sealed_bytes(run_dir: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in run_dir.glob("trials/b*/*")}


@pytest.mark.long
def test_killed_at_random_moments_and_resumed(nashbed: Nashbed) -> None:
    # The moments are random but told, so that a failure can be repeated.
    seed = random.randrange(10**6)
    print("seed", seed)
    moments = random.Random(seed)
    process = nashbed.start(*five_trials(nashbed, repetitions=2))
    wait_for(lambda: any(nashbed.results.glob("*/manifest.json")), process)
    (run_dir,) = nashbed.run_dirs()
    args = ["resume", str(run_dir), "--no-report"]
    kept: dict[str, bytes] = {}
    for _ in range(KILLS):
        time.sleep(moments.uniform(0.5, 6.0))
        process.kill()
        process.communicate()
        wait_for(lambda: not processes_of(run_dir))
        assert kept.items() <= sealed_bytes(run_dir).items()
        kept = sealed_bytes(run_dir)
        process = nashbed.start(*args)
    process.communicate(timeout=120)
    nashbed.call(*args)
    assert kept.items() <= sealed_bytes(run_dir).items()
    assert is_whole(run_dir, repetitions=2)
    assert json.loads((run_dir / "manifest.json").read_text())["status"] == "complete"


@pytest.mark.live
def test_killed_between_the_last_trial_and_the_end(nashbed: Nashbed) -> None:
    backlog = MAX_BACKLOG.read_text()
    path = nashbed.scenario(WIDE_GATES, duration="2s")
    process = nashbed.start(*nashbed.run_words(path))
    wait_for(lambda: sealed(nashbed) > 0, process)
    process.kill()
    process.communicate()
    (run_dir,) = nashbed.run_dirs()
    nashbed.call("resume", str(run_dir), "--no-report")
    assert leftovers(run_dir) == []
    assert MAX_BACKLOG.read_text() == backlog


def processes_of(run_dir: Path) -> list[str]:
    return [each for each in leftovers(run_dir) if each.startswith("/") and " --config " in each]


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_a_signal_stops_cleanly(nashbed: Nashbed, number: signal.Signals) -> None:
    process = nashbed.start(*five_trials(nashbed))
    wait_for(lambda: sealed(nashbed) > 0, process)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    (run_dir,) = nashbed.run_dirs()
    assert f"to continue: nashbed resume {run_dir}" in err
    assert leftovers(run_dir) == []
    assert json.loads((run_dir / "manifest.json").read_text())["status"] == "interrupted"
    nashbed.call("resume", str(run_dir), "--no-report")
    assert is_whole(run_dir)


def sealed(nashbed: Nashbed) -> int:
    return sum(len(records(run_dir)) for run_dir in nashbed.run_dirs())


def test_a_second_run_is_refused_while_one_is_going(nashbed: Nashbed) -> None:
    process = nashbed.start(*five_trials(nashbed))
    wait_for(lambda: bool(nashbed.run_dirs()) and (STATE / state(nashbed)).exists(), process)
    other = Nashbed(nashbed.folder / "other", nashbed.alone)
    other.folder.mkdir()
    err = other.call(*other.run_words(other.scenario()), code=4)
    assert f"another run (pid {process.pid}" in err
    assert "--wait waits for it" in err
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert other.run_dirs() == []


@pytest.mark.long
def test_a_second_run_waits_for_the_first(nashbed: Nashbed) -> None:
    first = nashbed.start(*five_trials(nashbed))
    wait_for(lambda: bool(nashbed.run_dirs()), first)
    other = Nashbed(nashbed.folder / "other", nashbed.alone)
    other.folder.mkdir()
    words = ("run", str(other.scenario()), "--testbed", str(other.testbed()), "--out",
             str(other.results), "--no-report", "--wait")  # fmt: skip
    waiting, stopped = other.start(*words), other.start(*words)
    for process in (waiting, stopped):
        assert process.stderr is not None
        assert f"(pid {first.pid}) to end" in process.stderr.readline()
    stopped.send_signal(signal.SIGINT)
    assert stopped.communicate(timeout=60)[1] == "nashbed: stopped\n"
    assert stopped.returncode == 130
    assert other.run_dirs() == []
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)
    _, err = waiting.communicate(timeout=120)
    assert waiting.returncode in {0, 20}, err
    assert len(records(other.run_dirs()[0])) > 0


def state(nashbed: Nashbed) -> str:
    return f"{run_id(nashbed.run_dirs()[0])}.json"


@pytest.mark.long
def test_a_namespace_that_is_not_ours_is_left_alone(nashbed: Nashbed) -> None:
    process = nashbed.start(*five_trials(nashbed))
    wait_for(lambda: sealed(nashbed) > 0, process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    (run_dir,) = nashbed.run_dirs()
    name = f"nb{run_id(run_dir)}-snd"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        err = nashbed.call("resume", str(run_dir), code=4)
        assert f"network namespace {name} already exists and belongs to no known run" in err
        assert (Path("/run/netns") / name).exists()
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m", "none", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.long
def test_a_disk_that_fills_up(nashbed: Nashbed, small_disk: Path) -> None:
    args = five_trials(nashbed)
    args[args.index("--out") + 1] = str(small_disk / "results")
    process = nashbed.start(*args)
    on_disk = Nashbed(small_disk)
    wait_for(lambda: any(any(d.glob("trials/.*.tmp")) for d in on_disk.run_dirs()), process)
    fill(small_disk / "filler")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 4, err
    assert "the disk is full; free some space, then `nashbed resume`" in err
    (run_dir,) = on_disk.run_dirs()
    assert leftovers(run_dir) == []
    (small_disk / "filler").unlink()
    nashbed.call("resume", str(run_dir), "--no-report")
    assert is_whole(run_dir)


def fill(path: Path) -> None:
    """Write until nothing more goes on the disk."""
    with path.open("wb", buffering=0) as stream:
        try:
            while True:
                os.write(stream.fileno(), b"\0" * 65536)
        except OSError:
            return


@pytest.mark.live
def test_doctor_cleans_up_after_a_killed_run(nashbed: Nashbed) -> None:
    process = nashbed.start(*five_trials(nashbed))
    wait_for(lambda: any(any(d.glob("trials/.*.tmp")) for d in nashbed.run_dirs()), process)
    process.kill()
    process.communicate()
    (run_dir,) = nashbed.run_dirs()
    wait_for(lambda: not processes_of(run_dir))  # they die with it
    assert f"nb{run_id(run_dir)}-snd" in leftovers(run_dir)
    assert any(run_dir.glob("trials/.*.tmp"))
    assert f"cleaned up after {run_dir}" in nashbed.call("doctor", "--clean")
    assert leftovers(run_dir) == []
