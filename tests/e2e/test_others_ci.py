"""What others' CI runs: the commands of our action, on the template congestion control."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / ".github" / "actions" / "congestion-control"


@pytest.fixture
def steps() -> dict[str, str]:
    """Name -> command of the action's steps."""
    action = YAML(typ="safe").load(ACTION / "action.yml")
    return {step["name"]: step["run"] for step in action["runs"]["steps"] if "run" in step}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A runner's folder in which this environment is the one that pip has made."""
    (tmp_path / "nashbed").symlink_to(Path(sys.executable).parents[1])
    return tmp_path


def carry_out(command: str, place: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"RUNNER_TEMP": str(place)} | inputs
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", command],
        cwd=place, env=env, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_its_inputs_are_what_its_steps_read() -> None:
    action = YAML(typ="safe").load(ACTION / "action.yml")
    text = (ACTION / "action.yml").read_text()
    assert {name for name in action["inputs"] if f"inputs.{name}" in text} == set(action["inputs"])
    assert all("inputs." not in step.get("run", "") for step in action["runs"]["steps"])


def test_no_package_index_is_asked_for_nashbed(steps: dict[str, str], place: Path) -> None:
    python = place / "bin" / "python3"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\nmkdir -p $3/bin; ln -s /bin/echo $3/bin/pip\n")
    python.chmod(0o755)
    (place / "nashbed").unlink()
    path = f"{python.parent}:{os.environ['PATH']}"
    for name in ("nashbed-1-any.whl", "nashbed_kernel-1-any.whl"):
        (place / name).touch()
    done = carry_out(steps["install nashbed"], place, PATH=path, WHEELS="*.whl")
    assert done.stdout == "install --quiet nashbed-1-any.whl nashbed_kernel-1-any.whl\n"
    inputs = YAML(typ="safe").load(ACTION / "action.yml")["inputs"]
    assert inputs["wheels"] == {"description": inputs["wheels"]["description"], "required": True}


@pytest.mark.slow
def test_a_congestion_control_is_checked(steps: dict[str, str], place: Path) -> None:
    command = steps["check the congestion control"]
    (place / "mycc.c").write_text((ROOT / "hosts/cc/mine.c").read_text().replace("mine", "mycc"))
    good = carry_out(command, place, FILE="mycc.c")
    assert good.returncode == 0, good.stderr
    (place / "bad.c").write_text("int bad = ;\n")
    bad = carry_out(command, place, FILE="bad.c")
    assert bad.returncode == 2
    assert "bad.c" in bad.stderr


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.virtual
@pytest.mark.usefixtures("guests_place")
def test_the_gate_passes_and_refuses(steps: dict[str, str], place: Path) -> None:
    command = steps["run the scenario"]
    (place / "mycc.c").write_text((ROOT / "hosts/cc/mine.c").read_text().replace("mine", "mycc"))
    gate = (ACTION / "gate.yaml").read_text()
    (place / "gate.yaml").write_text(gate)
    passed = carry_out(command, place, SCENARIO="gate.yaml", OUT="out")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert len(list((place / "out").glob("*-gate/report/index.html"))) == 1
    assert "max: 85%" in gate
    (place / "strict.yaml").write_text(gate.replace("max: 85%", "max: 16%"))
    missed = carry_out(command, place, SCENARIO="strict.yaml", OUT="out")
    assert missed.returncode == 20, missed.stdout + missed.stderr
    assert "MISSED" in missed.stdout
