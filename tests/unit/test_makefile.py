"""The Makefile: for whom the compiler's warnings are errors, and what the linter sees."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_INHERITED = {"CI", "WERROR", "MAKEFLAGS", "MFLAGS", "MAKELEVEL"}

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout in which nothing is built."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-test.lock"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def meson_lines(folder: Path, goal: str, **variables: str) -> list[str]:
    """How a goal would configure the C builds."""
    environment = {key: value for key, value in os.environ.items() if key not in NOT_INHERITED}
    done = subprocess.run(
        ["make", "-n", goal],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [line for line in done.stdout.splitlines() if line.startswith("meson setup")]


def strict(lines: list[str]) -> list[bool]:
    return ["-Dwerror=true" in line for line in lines]


def configured(folder: Path) -> None:
    for name in ("hosts", "analysis"):
        (folder / "build" / name).mkdir(parents=True, exist_ok=True)
        (folder / "build" / name / "build.ninja").touch()


def test_a_warning_stops_no_user(folder: Path) -> None:
    assert strict(meson_lines(folder, "build")) == [False, False]


@pytest.mark.parametrize("variable", ["CI", "WERROR"])
def test_a_warning_stops_ci(folder: Path, variable: str) -> None:
    assert strict(meson_lines(folder, "build", **{variable: "true"})) == [True, True]


def test_a_build_becomes_strict_once_and_stays_so(folder: Path) -> None:
    configured(folder)
    assert meson_lines(folder, "build") == []
    lines = meson_lines(folder, "build", WERROR="1")
    assert strict(lines) == [True, True]
    assert all(line.endswith("--reconfigure") for line in lines)
    (folder / "build" / "stamps").mkdir()
    (folder / "build" / "stamps" / "werror").touch()
    configured(folder)
    assert meson_lines(folder, "build", WERROR="1") == []
    assert meson_lines(folder, "build") == []


def test_who_checks_is_strict(folder: Path) -> None:
    assert strict(meson_lines(folder, "check")) == [True, True]


def helped() -> dict[str, dict[str, str]]:
    """What `make help` shows: group -> target -> its line."""
    command = ["make", "--no-print-directory", "-C", ROOT, "help"]
    environment = {key: value for key, value in os.environ.items() if key not in NOT_INHERITED}
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    groups: dict[str, dict[str, str]] = {}
    for line in filter(None, shown.stdout.splitlines()):
        if line.startswith("  make "):
            target, _, text = line.removeprefix("  make ").partition(" ")
            groups[list(groups)[-1]][target] = text.strip()
        else:
            groups[line] = {}
    return groups


def test_help_begins_with_a_users_five() -> None:
    groups = helped()
    assert next(iter(groups)) == "A user's first five"
    assert list(groups["A user's first five"]) == ["run", "virtual", "doctor", "test", "docs"]


def test_help_says_how_long_each_target_takes() -> None:
    shown = {target: text for group in helped().values() for target, text in group.items()}
    assert len(shown) > 30
    assert [
        t for t, text in shown.items() if not re.search(r"\(.*\b[\d.]+ (s|min|h)\b", text)
    ] == []


def goals(goal: str, folder: Path) -> str:
    """The commands of a goal, none of which is run."""
    environment = {key: value for key, value in os.environ.items() if key not in NOT_INHERITED}
    return subprocess.run(
        ["make", "-n", goal],
        cwd=folder, env=environment, capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip


@pytest.mark.parametrize("goal", ["run", "virtual", "setup"])
def test_a_run_sets_up_nothing_that_only_tests_need(goal: str, folder: Path) -> None:
    told = goals(goal, folder)
    assert "-r requirements.lock" in told
    assert "requirements-test.lock" not in told
    assert "--quiet tests" not in told


@pytest.mark.parametrize("goal", ["test", "test-long", "check", "test-pci"])
def test_tests_set_up_all_that_they_need(goal: str, folder: Path) -> None:
    told = goals(goal, folder)
    assert "-r requirements.lock" in told
    assert "-r requirements-test.lock" in told
    assert "--quiet tests" in told


def test_the_linter_sees_every_module() -> None:
    """A folder's name in ruff's `extend-exclude` means every folder of that name."""
    folders = ("analysis", "controlplane", "hosts", "p4src", "tests")
    command = [sys.executable, "-m", "ruff", "check", "--show-files", *folders]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    known = {str(path) for folder in folders for path in (ROOT / folder).rglob("*.py")}
    unseen = known - set(shown.splitlines())
    assert {Path(path).name for path in unseen} <= {"bfruntime_pb2.py"}, unseen


FAKE = """#!/bin/sh
echo "$@" >> calls
case $1 in
run) mkdir -p "$6/20260101T120000Z-equivalence-$(basename $2 .yaml)" ;;
compare) exit "$VERDICT" ;;
esac
"""
"""A nashbed that notes what it is asked for, and makes the folder of a run."""


@pytest.mark.parametrize("verdict", [0, 20])
def test_the_equivalence_matrix_runs_on_both_testbeds(folder: Path, verdict: int) -> None:
    fake = folder / "nashbed"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    done = subprocess.run(
        [
            "make", "-o", "setup", "-o", "virtual", "equivalence", f"BIN={folder}",
            "SECOND=lab/mine.yaml",
        ],
        cwd=folder,
        env={**os.environ, "VERDICT": str(verdict)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )  # fmt: skip
    calls = (folder / "calls").read_text().splitlines()
    runs = "results/equivalence"
    assert calls == [
        line
        for part in ("ten-flows", "fifty-flows")
        for scenario, made in [
            (f"configs/scenarios/equivalence/{part}.yaml", f"20260101T120000Z-equivalence-{part}")
        ]
        for line in (
            f"run {scenario} --testbed virtual --out {runs}/virtual",
            f"run {scenario} --testbed lab/mine.yaml --out {runs}/mine",
            f"compare {runs}/virtual/{made} {runs}/mine/{made} --equivalence 2%",
        )
    ]
    # A matrix that does not pass fails, but only after all of it has been compared.
    assert (done.returncode == 0) == (verdict == 0)
