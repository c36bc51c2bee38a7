"""The tests that a change can touch: `python -m tests.support.changed [COMMIT]` prints them.

A test depends on a module if it imports it, however indirectly, or names its file. What is not
Python is everybody's who is responsible for its folder. Whoever is in doubt runs everything.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.support.modules import ROOT, Module, imported, modules

ALWAYS = "tests/unit/test_*.py"
"""Rules that hold for the whole repository; all of them together take seconds."""
DATA_PLANE = ("conformance", "dataplane", "golden", "model", "unit/hosts")
FOLDERS = {
    "configs": ("unit/controlplane", "unit/analysis/models"),
    "docs": (),
    "examples": ("e2e/test_examples.py",),
    "hosts": (*DATA_PLANE, "e2e", "flows", "oracle", "probe", "rtl", "unit/uml"),
    "p4src": (*DATA_PLANE, "tofino_model"),
}
"""Folder of the repository -> the tests that use what is in it, besides those that import it."""
EVERYTHING = ["tests"]
BY_NAME = {"nashbed", "nashbed.controlplane.cli.app"}
"""Modules that import those beside them when they are asked for one."""


def touched_tests(changed: Iterable[str]) -> list[str]:
    """The files and folders of tests that a change can touch.

    Args:
        changed: The changed files, below the repository's root.
    """
    found, touched = {str(path.relative_to(ROOT)) for path in ROOT.glob(ALWAYS)}, set[Path]()
    for name in changed:
        path = ROOT / name
        top, *inside = Path(name).parts
        if top in ("analysis", "controlplane", "tests") and path.suffix == ".py":
            touched.add(path)
        elif top in ("analysis", "controlplane") and path.suffix != ".md":  # a room's data
            touched |= set(path.parent.rglob("*.py")) or set(path.parent.parent.rglob("*.py"))
        elif top == "tests" and inside:
            touched |= set(path.parent.rglob("*.py"))
        elif top in FOLDERS:
            found |= {f"tests/{each}" for each in FOLDERS[top]}
        elif path.suffix != ".md":  # the Makefile, pyproject.toml, a lock
            return EVERYTHING
    if any(path.name == "conftest.py" and path.parent == ROOT / "tests" for path in touched):
        return EVERYTHING
    return sorted(found | set(_tests_that_use(touched)))


def _tests_that_use(touched: set[Path]) -> Iterator[str]:
    for module in modules(tests=True).values():
        if module.path.name.startswith("test_") and touched & _needed(module.name):
            yield str(module.path.relative_to(ROOT))


@cache
def _needed(name: str) -> frozenset[Path]:
    """The files of all modules that a test needs."""
    known, needed = modules(tests=True), set[str]()
    waiting = {name, *_conftests(known[name])}
    while waiting:
        needed.add(each := waiting.pop())
        waiting |= _next(each) - needed
    return frozenset(known[each].path for each in needed)


def _conftests(module: Module) -> set[str]:
    parents = [path for path in module.path.parents if ROOT in path.parents]
    files = {path / "conftest.py" for path in parents}
    return {each.name for each in modules(tests=True).values() if each.path in files}


@cache
def _next(name: str) -> frozenset[str]:
    """What a module imports, names as a file, or finds by name when it is asked to."""
    known = modules(tests=True)
    module = known[name]
    found = imported(module) & set(known)
    words = set(re.findall(r"[\w-]+\.py\b", module.path.read_text(encoding="utf-8")))
    if name in BY_NAME:
        found |= {each for each in known if known[each].path.parent == module.path.parent}
    return frozenset(found | {_files()[word] for word in words if word in _files()})


@cache
def _files() -> dict[str, str]:
    """File name -> the tests' module that alone has it: programs that tests start."""
    ours = [m for name, m in modules(tests=True).items() if name.startswith("tests.")]
    times = Counter(module.path.name for module in ours)
    return {module.path.name: module.name for module in ours if times[module.path.name] == 1}


def changed_since(commit: str) -> list[str]:
    """Files that differ from a commit's, or that git does not know yet."""
    asked = (["diff", "--name-only", commit], ["ls-files", "--others", "--exclude-standard"])
    told = [
        subprocess.run(["git", *each], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for each in asked
    ]
    return sorted({name for text in told for name in text.splitlines()})


if __name__ == "__main__":
    print(*touched_tests(changed_since(sys.argv[1] if len(sys.argv) > 1 else "HEAD")))
