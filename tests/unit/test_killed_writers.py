"""Who writes aside and renames may be killed between: the old is whole, what is next cleans up."""

import ast
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.killed_writer import PLACES, before_of, files_in, left_in
from tests.unit.test_architecture import ROOT, Module, imported, modules

STAGING = "nashbed.controlplane.store.staging"
WRITERS = {"Staging", "write_whole", "whole_folder"}
"""What a module imports of it to give something its name."""
OF_PATHS = {"rename", "link_to", "hardlink_to"}
OF_MODULES = {("os", n) for n in ("rename", "renames", "replace", "link")} | {("shutil", "move")}


Writer = Callable[[str, Path, str], int]


@pytest.fixture(scope="module")
def writer() -> Iterator[Writer]:
    """Writes, or cleans up, in a process of its own; its exit code."""
    words = [sys.executable, "-m", "tests.support.killed_writer"]
    with subprocess.Popen(
        words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def ask(place: str, folder: Path, moment: str) -> int:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps([place, str(folder), moment]) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield ask


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("place", PLACES)
def test_a_writer_is_killed(place: str, moment: str, writer: Writer, tmp_path: Path) -> None:
    folder = tmp_path / "place"
    folder.mkdir()
    assert writer(place, folder, moment) == -signal.SIGKILL
    before, there = json.loads(before_of(folder).read_text()), files_in(folder)
    assert left_in(folder), "it was killed in between"
    assert before != {}
    assert (there == before) is (moment == "before")
    assert writer(place, folder, "clean") == 0
    assert left_in(folder) == []


def test_every_writer_is_killed_here() -> None:
    writers = {
        module.name.removeprefix("nashbed.")
        for module in modules().values()
        if STAGING in imported(module) and WRITERS & set(_names_of_staging(module))
    }
    assert writers == {place.module for place in PLACES.values()}


def _names_of_staging(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("staging"):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert "staging" not in {alias.name for alias in node.names}, module.name


@pytest.mark.slow
def test_nobody_else_renames() -> None:
    others = {
        f"{module.name}:{node.lineno}"
        for module in modules().values()
        for node in ast.walk(module.tree)
        if module.name != STAGING and isinstance(node, ast.Call) and _renames(node)
    }
    assert others == set()


def _renames(call: ast.Call) -> bool:
    """Whether a call gives a file or folder another name; `str.replace` has two arguments."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    if isinstance(function.value, ast.Name) and (function.value.id, function.attr) in OF_MODULES:
        return True
    one_argument = len(call.args) == 1 and not call.keywords
    return function.attr in OF_PATHS or (function.attr == "replace" and one_argument)
