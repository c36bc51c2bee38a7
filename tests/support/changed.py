"""The tests that a change can touch: `python -m tests.support.changed [COMMIT]` prints them.

A module's tests are those that reach it through modules of its own room, or of one other room: at
most one border between rooms lies between. What its change does farther away, to a command or to a
whole run, is left to `make test`, and so are `slow` tests. Coverage by test file (2026-11-28, quick
tests of the analysis and half of the control plane) said what is left out: 1.5 % of the lines of a
module are run by other tests only, and 6 % of the files of tests that run a module are not chosen.

What is not Python is everybody's who is responsible for its folder, and whoever is in doubt runs
everything.
"""

import gc
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.support.modules import ROOT, Module, imported, modules

RULES = (
    "architecture", "changed", "docs", "extras", "killed_writers", "makefile", "names_of_files",
    "packages", "version",
)  # fmt: skip
"""Tests in `tests/unit` of what holds for the whole repository."""
C_TESTS = ("unit/controlplane/contract/test_shared.py", "unit/hosts/test_c_tests.py")
DATA_PLANE = ("conformance", "dataplane", "golden", "model", "oracle", *C_TESTS)
FOLDERS = {
    "configs": ("unit/controlplane/api/test_files.py", "unit/controlplane/config"),
    "docs": (),
    "examples": ("e2e/test_examples.py",),
    "hosts": (*DATA_PLANE, "e2e", "flows", "probe", "rtl", "unit/hosts", "unit/uml"),
    "hosts/cc": ("oracle", "unit/controlplane/cli/test_cc.py", "unit/hosts/cc"),
    "hosts/dpdk": (*DATA_PLANE, "unit/hosts/test_arrival_object.py"),
    "hosts/flows": ("flows", *C_TESTS),
    "hosts/fpga": ("rtl",),
    "hosts/uml": ("unit/uml",),
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
    found, touched = {f"tests/unit/test_{rule}.py" for rule in RULES}, set[Path]()
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
            folders = (str(each) for each in Path(name).parents)
            found |= {f"tests/{each}" for each in next(FOLDERS[f] for f in folders if f in FOLDERS)}
        elif path.suffix != ".md":  # the Makefile, pyproject.toml, a lock
            return EVERYTHING
    return sorted(found | _tests_that_use(touched))


def _tests_that_use(touched: set[Path]) -> set[str]:
    known, users = modules(tests=True), _users()
    inside = _within_rooms({name for name, module in known.items() if module.path in touched})
    beyond = _within_rooms({user for name in inside for user in users[name]})
    near = inside | beyond | {user for name in beyond for user in users[name]}
    paths = (known[name].path for name in near)
    return {str(path.relative_to(ROOT)) for path in paths if path.name.startswith("test_")}


def _within_rooms(names: set[str]) -> set[str]:
    """Modules, and those of their own rooms that need them, however indirectly."""
    users, found, waiting = _users(), set[str](), set(names)
    while waiting:
        found.add(each := waiting.pop())
        waiting |= {user for user in users[each] if _room(user) == _room(each)} - found
    return found


@cache
def _room(name: str) -> Path:
    """The folder of a module; each test is alone."""
    path = modules(tests=True)[name].path
    return path if path.name.startswith("test_") else path.parent


@cache
def _users() -> defaultdict[str, set[str]]:
    """Module -> those that need it: they import it, name its file, or get fixtures of it."""
    users = defaultdict[str, set[str]](set)
    for name, module in modules(tests=True).items():
        for each in _needed(module):
            users[each].add(name)
    return users


def _needed(module: Module) -> Iterator[str]:
    """What a module imports, names as a file, finds by name when it is asked to, or is given."""
    known, text = modules(tests=True), module.path.read_text(encoding="utf-8")
    yield from imported(module) & set(known)
    yield from (_files()[word] for word in re.findall(r"[\w-]+\.py\b", text) if word in _files())
    if module.name in BY_NAME:
        yield from (each for each in known if known[each].path.parent == module.path.parent)
    if module.path.name.startswith("test_"):
        asked = " ".join(re.findall(r"def \w+\([^)]*|usefixtures.*", text))
        words = set(re.findall(r"\w+", asked))
        conftests = [_conftests()[p] for p in module.path.parents if p in _conftests()]
        yield from (name for name, given in conftests if given is None or given & words)


@cache
def _files() -> dict[str, str]:
    """File name -> the tests' module that alone has it: programs that tests start."""
    ours = [m for name, m in modules(tests=True).items() if name.startswith("tests.")]
    times = Counter(module.path.name for module in ours)
    return {module.path.name: module.name for module in ours if times[module.path.name] == 1}


@cache
def _conftests() -> dict[Path, tuple[str, set[str] | None]]:
    """Folder -> its conftest, and the fixtures that tests ask it for; None: it acts on all."""
    found = {}
    for name, module in modules(tests=True).items():
        if module.path.name == "conftest.py":
            text = module.path.read_text(encoding="utf-8")
            on_all = "autouse" in text or "def pytest_" in text
            given = None if on_all else set(re.findall(r"^def (\w+)", text, re.MULTILINE))
            found[module.path.parent] = (name, given)
    return found


def changed_since(commit: str) -> list[str]:
    """Files that differ from a commit's, or that git does not know yet."""
    asked = (["diff", "--name-only", commit], ["ls-files", "--others", "--exclude-standard"])
    told = [
        subprocess.run(["git", *each], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for each in asked
    ]
    return sorted({name for text in told for name in text.splitlines()})


if __name__ == "__main__":
    gc.disable()  # which would walk the trees of all modules again and again
    print(*touched_tests(changed_since(sys.argv[1] if len(sys.argv) > 1 else "HEAD")))
