"""A run on workers of which one dies again and again, held against the same run undisturbed.

    python -m tests.support.worker_killer SCENARIO [--every 20] [--out /tmp/killed]

The scenario is run twice in virtual time, on two `nashbed worker` of one core each: as it is, and
with `kill -9` of one of the two, drawn by chance, every so many seconds. An adaptive search of one
setting asks for the same trials both times; of several settings, which trials it asks for depends
on which end first, and those that both runs have are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

NASHBED = Path(sys.executable).with_name("nashbed")


@contextmanager
def part(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A part of the cluster that listens, until the block ends."""
    env = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "100"}
    process = subprocess.Popen([NASHBED, *words], stdout=subprocess.PIPE, text=True, env=env)
    try:
        assert process.stdout is not None
        while "tls://" not in process.stdout.readline():
            assert process.poll() is None, f"nashbed {words[0]} ended"
        yield process
    finally:
        process.terminate()
        process.communicate()


def kill(worker: subprocess.Popen[str]) -> bool:
    """End the process below `nashbed worker` that runs trials; whether there was one."""
    for below in psutil.Process(worker.pid).children():
        if any("spawn_main" in word for word in below.cmdline()):
            os.kill(below.pid, signal.SIGKILL)
            return True
    return False


def disturb(
    run: subprocess.Popen[bytes], workers: list[subprocess.Popen[str]], every_s: float
) -> int:
    """Kill one of the workers every so often until the run ends; returns how often."""
    chance = random.Random(1)
    killed, due = 0, time.monotonic() + every_s
    while run.poll() is None:
        time.sleep(0.1)
        if time.monotonic() >= due:
            killed += kill(chance.choice(workers))
            due += every_s
    return killed


def measured(scenario: str, out: Path, every_s: float) -> tuple[dict[str, Any], float, int]:
    """One run: digests of its trials, seconds, workers killed; 0 s: none are."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    where = f"tcp://127.0.0.1:{port}"
    with ExitStack() as stack:
        stack.enter_context(part("scheduler", "--port", port))
        workers = [stack.enter_context(part("worker", where, "--cores", "1")) for _ in range(2)]
        begun = time.monotonic()
        asked = ["run", scenario, "--on", where, "--out", str(out), "--no-report", "--json"]
        run = subprocess.Popen([NASHBED, *asked], stdout=(out / "answer.json").open("wb"))
        killed = disturb(run, workers, every_s) if every_s else 0
        run.wait()
    assert run.returncode == 0, f"the run ended with exit code {run.returncode}"
    run_dir = Path(json.loads((out / "answer.json").read_text())["run_dir"])
    found = {
        path.parent.name: json.loads(path.read_text())["digests"]
        for path in run_dir.glob("trials/*/trial.json")
    }
    return found, time.monotonic() - begun, killed


def main() -> None:
    """Run twice, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario")
    parser.add_argument("--every", type=float, default=20.0, help="seconds")
    parser.add_argument("--out", type=Path, default=Path("/tmp/killed"))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    still, still_s, _ = measured(chosen.scenario, chosen.out, 0.0)
    hurt, hurt_s, killed = measured(chosen.scenario, chosen.out, chosen.every)
    both = still.keys() & hurt.keys()
    print(f"undisturbed: {len(still)} trials in {still_s:.0f} s")
    print(f"disturbed:   {len(hurt)} trials in {hurt_s:.0f} s, {killed} workers killed")
    print(f"in both: {len(both)}, equal: {sum(still[name] == hurt[name] for name in both)}")


if __name__ == "__main__":
    main()
