"""The examples, each as its reader runs it: in a folder of its own, in virtual time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

FOLDER = Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py"))
SAYS = {
    "by_buffer": r"│ 8\.0 ",
    "equilibrium": r"at 10 s, from a common start: ",
    "equivalence": r"within 50 points: shown\nwithin 0\.1 points: not shown",
    "first_experiment": r"1 cubic \+ 1 bbr \{'cubic': '[\d.]+ Mbit/s', 'bbr': '[\d.]+ Mbit/s'\}",
    "models": r"Mishra 1 v 1: refuses: .*\n(.*\n)*Fluid: [\d.]+ CUBIC flows",
    "own_congestion_control": r"│ gentle ",
    "own_metric": r"│ cubic +┆ 0\.\d+ +┆ (.*\n)*jain_index \(1\): ",
    "postcards": r"┆ cubic +│",
    "progress": r"[1-3] trials or more before the stop\n3 trials in the end",
    "report_and_export": r"'trials': 6, 'flows': 12",
}
"""Example -> what is in its output."""


CELLS = """
import json, sys
names = {}
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), "cell", "exec"), names)
"""
"""Runs the code of a notebook cell by cell, as its kernel would."""


def told_by(words: list[str], folder: Path) -> str:
    """What a program of this environment says; it must end well."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    told = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | {"PATH": path, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return told.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    told = told_by([str(FOLDER / f"{name}.py")], tmp_path)
    assert re.search(SAYS[name], told), told


def test_a_notebook_runs(tmp_path: Path) -> None:
    """Converted by the command that examples/README.md gives."""
    words = ["--to", "notebook", "--output", "first.ipynb"]
    told_by(["-m", "jupytext", *words, str(FOLDER / "first_experiment.py")], tmp_path)
    told = told_by(["-c", CELLS, "first.ipynb"], tmp_path)
    assert re.search(SAYS["first_experiment"], told), told


def test_the_readme_lists_them() -> None:
    listed = re.findall(r"^\| `(\w+)\.py`", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == EXAMPLES == sorted(SAYS)
