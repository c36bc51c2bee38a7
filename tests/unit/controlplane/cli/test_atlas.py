"""`nashbed atlas`: its files, its answer, what it says to a wrong option, and Ctrl-C."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from nashbed.controlplane.cli.main import run
from tests.support.synthetic_run import write_run

pytestmark = pytest.mark.slow

SMALL = ["--x", "buffer=0.5..50bdp:6", "--y", "bdp-per-flow=0.5..100pkt:5", "--processes", "1"]
FAST = [*SMALL, "--model", "closed-form"]

Capture = pytest.CaptureFixture[str]


def test_files_and_answer(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "atlas"
    assert run(["atlas", *FAST, "--other", "ware", "--out", str(out), "--json"]) == 0
    said, progress = capsys.readouterr()
    answer = json.loads(said)
    assert (answer["ok"], answer["points"], answer["settings"]) == (True, 30, 49)
    assert (answer["model"]["name"], answer["other_model"]["name"]) == ("closed-form", "ware")
    assert [Path(path).parent for path in answer["files"]] == [out] * 5
    assert "1/5 rows of 6 points" in progress
    document = json.loads((out / "atlas.json").read_text())
    assert (document["format"], answer["format"]) == (1, 1)
    assert document["x"]["quantity"] == "buffer"
    assert len(document["settings"]) == 49
    assert {"utc", "seconds", "software", "git"} == set(document["made"])
    with (out / "atlas.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 30


def test_for_a_person_with_a_run(tmp_path: Path, capsys: Capture) -> None:
    run_dir = write_run(tmp_path / "run")
    axes = ["--x", "buffer=1..5bdp:3", "--y", "flows=2..8:3", "--rate", "10mbit"]
    args = ["atlas", *axes, "--model", "ware", "--other", "none", "--runs", str(run_dir)]
    assert run([*args, "--out", str(tmp_path / "atlas")]) == 0
    text = capsys.readouterr().out
    assert "9 points by ware" in text
    assert "uncertain: 0 points by chance\n" in text
    assert "atlas.png" in text


def test_refusals_are_told(tmp_path: Path, capsys: Capture) -> None:
    args = ["atlas", *SMALL, "--model", "mishra-synchronised", "--other", "none"]
    assert run([*args, "--out", str(tmp_path / "atlas")]) == 0
    assert "refused: 5 points: the buffer is 0.5 BDP" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--x", "loss=1..2"], "--x: 'loss=1..2' is no axis; write one of buffer="),
        (["--y", "rate=10..1bit"], "--y: '10..1bit' must rise"),
        (["--y", "buffer=1..2bdp"], "--y: buffer is the x axis already"),
        (["--rate", "10mbit"], "--rate: the map varies it; leave it out"),
        (["--buffer", "2bdp"], "--buffer: the map varies it"),
        (["--x", "flows=2..9", "--buffer", "1MB"], "--buffer: 1MB: a map has it in BDP"),
        (["--base-rtt", "40"], "--base-rtt: '40' has no unit"),
        (["--base-rtt", "0ms"], "--base-rtt: 0; write more"),
        (["--flows", "1"], "--flows: 1; write 2 or more"),
        (["--start", "random"], "--start: 'random' is no start; write together or iperf3"),
        (["--window", "3"], "--window: '3' has no unit"),
        (["--duration", "0s"], "--duration: 0; write more"),
        (
            ["--model", "cardwell"],
            "--model: there is no model 'cardwell'; write fluid, closed-form",
        ),
        (["--other", "cardwell"], "--other: there is no model 'cardwell'"),
        (["--runs", "/nonexistent"], "/nonexistent"),
        (["--processes", "0"], "--processes"),
    ],
)
def test_wrong_options(args: list[str], said: str, tmp_path: Path, capsys: Capture) -> None:
    assert run(["atlas", *args, "--out", str(tmp_path / "atlas")]) != 0
    out, err = capsys.readouterr()
    assert said in err
    assert len(err.splitlines()) == 1
    assert not out
    assert not (tmp_path / "atlas").exists()


def test_an_atlas_is_replaced_only_when_told(tmp_path: Path, capsys: Capture) -> None:
    args = ["atlas", *FAST, "--out", str(tmp_path)]
    assert run(args) == 0
    assert run(args) == 2
    assert "give a new folder, or --overwrite" in capsys.readouterr().err
    assert run([*args, "--overwrite"]) == 0


def is_gone(group: int, within_s: float) -> bool:
    """Whether a group's last process ends; Python's tracker of semaphores does after its parent."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


LATE = """
import os, time
forks = []
os.register_at_fork(before=lambda: forks.append(1), after_in_child=lambda: time.sleep(
    2 if len(forks) == 2 else 0))
"""
"""The second process begins its work long after the first one."""


@pytest.mark.parametrize("before", ["", pytest.param(LATE, marks=pytest.mark.long)])
def test_ctrl_c_leaves_nothing(tmp_path: Path, before: str) -> None:
    """It reaches all processes of the terminal, as one signal to the group does here."""
    code = f"{before}from nashbed.controlplane.cli.main import main; main()"
    args = ["atlas", "--x", "buffer=0.5..50bdp:400", "--y", "flows=100..900:400"]
    models = ["--model", "closed-form", "--processes", "2", "--out", str(tmp_path / "atlas")]
    with subprocess.Popen(
        [sys.executable, "-c", code, *args, *models],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        began = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(60) == 130
    assert "rows of 400 points" in first
    assert "Traceback" not in rest
    assert time.monotonic() - began < 30
    assert not (tmp_path / "atlas").exists()
    assert is_gone(process.pid, 10)
