"""`make packages`: what it installs, and what it says to those who cannot; and what tests skip."""

import os
import re
import shutil
import subprocess
import tomllib
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from tests.support.programs import PACKAGES, need_program, needs_program, why_missing

ROOT = Path(__file__).resolve().parents[2]
LISTED = [
    line.split("#")[0].strip()
    for line in (ROOT / "configs" / "debian-packages.txt").read_text().splitlines()
    if line.split("#")[0].strip()
]
MARKED = {
    mark: [
        line.split()[0]
        for line in (ROOT / "configs" / "debian-packages.txt").read_text().splitlines()
        if line.endswith(f"  # {mark}")
    ]
    for mark in ("optional", "tests")
}
OPTIONAL = MARKED["optional"] + MARKED["tests"]
FOR_RUNS = [name for name in LISTED if name not in MARKED["tests"]]

DEBIAN_12_PYTHON = "3.11.2"


def test_every_package_runs_on_debian_12s_python() -> None:
    """A release may ask for a later 3.11 than Debian's, which a developer's own Python hides."""
    asked = {d.metadata["Name"]: d.metadata.get("Requires-Python", "") for d in distributions()}
    too_new = {
        name: text
        for name, text in asked.items()
        if not SpecifierSet(text).contains(DEBIAN_12_PYTHON)
    }
    assert asked
    assert too_new == {}


def plain(name: str) -> str:
    """A distribution's name as PEP 503 writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text().splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {plain(package): version for package, version in pairs}


def needed(asked: list[str]) -> set[str]:
    """Everything that requirements bring, by what the installed distributions say."""
    found: set[str] = set()
    todo = [Requirement(text) for text in asked]
    while todo:
        requirement = todo.pop()
        if plain(requirement.name) in found:
            continue
        found.add(plain(requirement.name))
        for text in distribution(requirement.name).requires or []:
            each = Requirement(text)
            if each.marker is None or each.marker.evaluate({"extra": ""}):
                todo.append(each)
    return found


def test_a_run_installs_what_it_needs_and_nothing_else() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(locked("requirements.lock")) == needed(project["dependencies"]) | {
        "setuptools", "uv",
    }  # fmt: skip


def test_the_locks_share_nothing_and_name_what_is_installed() -> None:
    run, tests = locked("requirements.lock"), locked("requirements-test.lock")
    assert not run.keys() & tests.keys()
    here = {plain(d.metadata["Name"]): d.version for d in distributions()}
    both = run | tests
    assert {name: here.get(name) for name in both} == both


def make_packages(
    folder: Path, installed: list[str], uid: int, goal: str = "packages"
) -> tuple[int, list[str], list[list[str]]]:
    """Runs it on a machine that has some packages: exit code, what it says, apt-get's arguments."""
    lines = [f"installed {name}" for name in installed]
    lines += ["config-files yosys", "installed gcc-12"]
    programs = {
        "dpkg-query": "cat <<'END'\n" + "\n".join(lines) + "\nEND\n",
        "id": f"echo {uid}\n",
        "apt-get": f'echo "$@" >> {folder}/calls\n',
    }
    for name, body in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}")
        (folder / name).chmod(0o755)
    done = subprocess.run(
        ["make", "--no-print-directory", "-C", ROOT, goal],
        capture_output=True, text=True, check=False, timeout=60,
        env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "MAKEFLAGS": ""},
    )  # fmt: skip
    calls = folder / "calls"
    asked = [line.split() for line in calls.read_text().splitlines()] if calls.exists() else []
    return done.returncode, done.stdout.splitlines(), asked


def test_root_installs_what_is_missing_and_nothing_else(tmp_path: Path) -> None:
    installed = [name for name in LISTED if name not in ("gcc", "tcpdump", "tshark")]
    code, _, calls = make_packages(tmp_path, installed, 0)
    assert code == 0
    assert [call[0] for call in calls] == ["update", "install"]
    assert calls[1][-2:] == ["gcc", "tcpdump"]
    assert calls[1][-3].startswith("-")


def test_what_only_tests_want_is_installed_for_tests(tmp_path: Path) -> None:
    installed = [name for name in LISTED if name not in ("gcc", "tshark")]
    code, _, calls = make_packages(tmp_path, installed, 0, "test-packages")
    assert code == 0
    assert calls[1][-2:] == ["gcc", "tshark"]
    assert MARKED["tests"] == [
        "iverilog", "libpython3-dev", "yosys", "clang", "llvm", "openssl", "tshark",
        "busybox-static", "qemu-system-x86", "chromium",
    ]  # fmt: skip


@pytest.mark.parametrize("uid", [0, 1000])
def test_with_all_of_them_nothing_is_done(tmp_path: Path, uid: int) -> None:
    assert make_packages(tmp_path, FOR_RUNS, uid) == (0, [], [])
    assert make_packages(tmp_path, LISTED, uid, "test-packages") == (0, [], [])


def test_it_asks_each_time(tmp_path: Path) -> None:
    assert make_packages(tmp_path, LISTED, 1000)[0] == 0
    assert make_packages(tmp_path, LISTED[1:], 1000)[0] != 0


def test_who_is_not_root_is_told_what_is_missing(tmp_path: Path) -> None:
    installed = [name for name in LISTED if name not in ("flex", "tcpdump", "tshark")]
    code, (said, *_), calls = make_packages(tmp_path, installed, 1000)
    assert code != 0
    assert said == (
        "not root: these packages are missing, `sudo make packages` installs them: flex tcpdump "
    )
    assert calls == []


def test_who_is_not_root_goes_on_without_optional_ones(tmp_path: Path) -> None:
    installed = [name for name in LISTED if name not in OPTIONAL]
    code, (said, *_), calls = make_packages(tmp_path, installed, 1000, "test-packages")
    assert (code, calls) == (0, [])
    assert said.startswith("not installed: iputils-ping tcpdump ")
    assert said.endswith("(optional: what needs them is skipped; `sudo make test-packages`)")


def test_a_machine_without_dpkg_is_left_to_its_user(tmp_path: Path) -> None:
    for name in ("sh", "make", "id"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    done = subprocess.run(
        ["make", "--no-print-directory", "-C", ROOT, "packages"],
        capture_output=True, text=True, check=False, timeout=60,
        env={"PATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.startswith("no dpkg here: ")


def test_programs_that_tests_can_do_without_are_of_optional_packages() -> None:
    assert set(PACKAGES.values()) <= set(OPTIONAL)


def test_a_test_without_its_program_is_skipped_with_the_packages_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    reason = "needs tshark, which is not on PATH: `apt install tshark`"
    assert why_missing("tshark") == reason
    mark = needs_program("tshark").mark
    assert (mark.args, mark.kwargs) == ((True,), {"reason": reason})
    with pytest.raises(pytest.skip.Exception, match="`apt install tshark`"):
        need_program("tshark")
    assert why_missing("simple_switch").endswith("p4lang-bmv2")
    (tmp_path / "tshark").write_text("#!/bin/sh\n")
    (tmp_path / "tshark").chmod(0o755)
    assert why_missing("tshark") == ""
    assert needs_program("tshark").mark.args == (False,)
    need_program("tshark")
