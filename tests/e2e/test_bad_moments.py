"""Runs in virtual time through bad moments: guests that are killed, and memory that runs out."""

import contextlib
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.contract.errors import EXIT_ACCEPTANCE
from nashbed.controlplane.machine.process.table import command_lines
from tests.e2e.conftest import NASHBED, TESTBEDS, Nashbed, digests, records

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

KILLS = 4
PATIENCE_S = 300.0
GROUPS = Path("/sys/fs/cgroup")


def failures(run_dir: Path) -> list[dict[str, Any]]:
    attempts: list[dict[str, Any]] = json.loads((run_dir / "failures.json").read_text())["attempts"]
    return attempts


def kernels(place: Path) -> list[int]:
    """The kernels of guests that run below a folder: each leads a session of its own."""
    found = []
    for pid, words in command_lines().items():
        with contextlib.suppress(OSError):
            if any(w.startswith(f"uml_dir={place}") for w in words) and os.getsid(pid) == pid:
                found.append(pid)
    return found


def kill_guests(
    place: Path, process: subprocess.Popen[str], out: Path, seed: int, within_s: float
) -> int:
    """Kill guests after times that are drawn; returns how many.

    Not before the first trial has begun: who cannot even boot a first guest has no run.
    """
    drawn, killed, last = random.Random(seed), 0, 0
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None and not any(out.glob("*/trials/*")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    while killed < KILLS and process.poll() is None:
        assert time.monotonic() < deadline
        running = kernels(place)
        if not running or running[0] == last:  # the next guest is not there yet
            time.sleep(0.01)
            continue
        time.sleep(drawn.uniform(0, within_s))  # while it boots, runs, or is drained
        if running[0] in kernels(place):
            os.kill(running[0], signal.SIGKILL)
            killed, last = killed + 1, running[0]
    return killed


@pytest.mark.parametrize("on", [(), ("--on", "local:1")])
@pytest.mark.long
def test_guests_killed_at_random_change_no_table(
    nashbed: Nashbed, guests_place: Path, on: tuple[str, ...]
) -> None:
    scenario = nashbed.scenario("trials: 3\n", mixes="[0, 1, 2]", duration="4s", rate="30mbit")
    scenario.write_text(scenario.read_text().replace("max_attempts: 2", "max_attempts: 10"))
    bed = str(TESTBEDS / "virtual.yaml")
    begun = time.monotonic()
    whole = nashbed.run(scenario, "virtual")
    of_one = (time.monotonic() - begun) / len(records(whole))
    out_dir = nashbed.results / "killed"
    process = nashbed.start("run", str(scenario), "--testbed", bed, "--out", str(out_dir), *on)
    killed = kill_guests(guests_place, process, out_dir, seed=24, within_s=0.6 * of_one)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    (run_dir,) = out_dir.iterdir()
    assert digests(run_dir) == digests(whole)
    found = failures(run_dir)
    # A kill may also come when a guest has given all that it was asked for.
    assert KILLS // 2 <= len(found) <= killed == KILLS
    assert [each for each in found if not each["repeated"] or "SIGKILL" not in each["reason"]] == []
    assert f"{len(found)} attempts were ended by the host or the guest" in out
    assert err.count("it is tried again") == len(found)
    assert found[-1]["reason"] in (run_dir / "report" / "index.html").read_text()


@contextmanager
def memory_limit(limit_bytes: int) -> Iterator[Path]:
    """A control group with a limit, of whichever version there is; yields its list of processes."""
    name = f"nashbed-test-{os.getpid()}"
    for folder, file in (
        (GROUPS / "memory" / name, "memory.limit_in_bytes"),
        (GROUPS / name, "memory.max"),
    ):
        try:
            folder.mkdir()
            (folder / file).write_text(str(limit_bytes))
        except OSError:
            if folder.is_dir():
                folder.rmdir()
            continue
        try:
            yield folder / "cgroup.procs"
        finally:
            deadline = time.monotonic() + 30
            while (folder / "cgroup.procs").read_text() and time.monotonic() < deadline:
                time.sleep(0.05)
            folder.rmdir()
        return
    pytest.skip("no control group with a memory limit can be made here")


def test_a_trial_that_exceeds_a_memory_limit_is_given_up_and_the_others_run(
    nashbed: Nashbed,
) -> None:
    """64 MB of buffer have 700 MB of packet buffers; the others take 130 MB beside nashbed."""
    text = nashbed.scenario("", mixes="[1]").read_text()
    scenario = nashbed.folder / "scenario.yaml"
    scenario.write_text(text.replace("{mixes: [1]}", "{mixes: [1], buffer: [2bdp, 4bdp, 64MB]}"))
    with memory_limit(700 * 2**20) as procs:
        command = [
            str(NASHBED), "run", str(scenario), "--testbed", str(TESTBEDS / "virtual.yaml"),
            "--out", str(nashbed.results), "--no-report", "--json",
        ]  # fmt: skip
        script = f"echo $$ > {procs}; exec " + " ".join(command)
        done = subprocess.run(
            ["sh", "-c", script], capture_output=True, text=True, timeout=300, check=False
        )
    assert done.returncode == EXIT_ACCEPTANCE, done.stderr
    answer = json.loads(done.stdout)
    assert answer["without_result"].startswith("not one valid trial of 1 mix (b64MB-k01): ")
    run_dir = Path(answer["run_dir"])
    assert sorted(records(run_dir)) == ["b2bdp-k01-r0-a0", "b4bdp-k01-r0-a0"]
    assert all(record["valid"] for record in records(run_dir).values())
    assert {each["trial"] for each in answer["failed_attempts"]} == {"b64MB-k01-r0-a0"}
    assert [each["repeated"] for each in answer["failed_attempts"]] == [True, False]
    assert "memory ran out" in answer["failed_attempts"][-1]["reason"]
    assert json.loads((run_dir / "manifest.json").read_text())["status"] == "complete"
