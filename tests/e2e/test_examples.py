"""The examples, each as its reader runs it: in a folder of its own, in virtual time."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.warm import script

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
IN_SHORT = {"first_experiment", "models", "own_congestion_control", "own_metric", "postcards"}
"""Examples that the suite runs; `make test-long` runs all."""


@pytest.fixture(autouse=True)
def _reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder and environment of who runs an example, with this environment activated."""
    monkeypatch.chdir(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("MPLBACKEND", "agg")


@pytest.mark.parametrize(
    "name",
    [pytest.param(e, marks=[pytest.mark.long] if e not in IN_SHORT else []) for e in EXAMPLES],
)
def test_an_example_runs(name: str) -> None:
    done = script(FOLDER / f"{name}.py")
    assert done.returncode == 0, done.stderr
    assert re.search(SAYS[name], done.stdout), done.stdout


def test_a_notebook_is_made_of_an_example() -> None:
    """By the command that examples/README.md gives; its cells are the example's code."""
    source = FOLDER / "first_experiment.py"
    words = ["--to", "notebook", "--output", "first.ipynb", str(source)]
    subprocess.run([sys.executable, "-m", "jupytext", *words], check=True, capture_output=True)
    cells = json.loads(Path("first.ipynb").read_text())["cells"]
    code = "\n".join("".join(each["source"]) for each in cells if each["cell_type"] == "code")
    assert ast.dump(ast.parse(code)) == ast.dump(ast.parse(source.read_text()))


def test_the_readme_lists_them() -> None:
    listed = re.findall(r"^\| `(\w+)\.py`", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == EXAMPLES == sorted(SAYS)
