"""The order of the rooms, held: who may import whom, read from the sources.

A room imports only rooms to its left, wherever in a module the import stands.
"""

import ast
import tomllib
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

import pytest
from nashbed.controlplane.cli.app import COMMANDS
from tests.support.modules import ROOT, Module, imported, modules

ROOMS = (
    "contract", "config", "plan", "store", "validity", "machine", "targets", "lane", "run",
    "cluster", "calibrate", "bench", "study", "api", "cli",
)  # fmt: skip
"""Rooms of the control plane, from the bottom to the top."""
MAY_USE_ANALYSIS = {"bench", "study", "api", "cli"}
ANALYSIS_READS = {"contract", "store"}
"""What the analysis imports of the control plane."""
CLI_READS = {"cli", "api", "contract"}
"""What the command line imports of the control plane when it runs."""
TOOLS = {"bench", "bench_text", "cluster", "schema"}
"""Modules of commands that are for this installation or its developers, and no part of the API."""
MACHINE_ROOMS = ("process", "kernels", "c_files", "host", "guest")
"""Rooms of the machine, from the bottom to the top."""
MACHINE_FLOOR = {"log", "paths"}
"""Modules of the machine that its rooms may import; `sessions` is above them."""
PROCESSES = "machine.process"
"""The room that starts processes; others have them started there."""


def of(top: str) -> list[Module]:
    return [m for m in modules().values() if m.path.relative_to(ROOT).parts[0] == top]


def _room_of(name: str) -> str:
    return modules()[name].room if name in modules() else ""


def _is_of(name: str, top: str) -> bool:
    """Whether a name is that of a module of ours below one of the two folders."""
    return name in modules() and modules()[name].path.relative_to(ROOT).parts[0] == top


def check_no_circle(graph: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_every_room_has_its_place() -> None:
    rooms = {path.parent.name for path in (ROOT / "controlplane").glob("*/__init__.py")}
    assert rooms == set(ROOMS)


def test_rooms_import_only_what_is_below_them() -> None:
    upwards = {
        (module.name, name)
        for module in of("controlplane")
        for name in imported(module)
        if _is_of(name, "controlplane")
        and _room_of(name)
        and (not module.room or ROOMS.index(_room_of(name)) > ROOMS.index(module.room))
    }
    assert upwards == set()


def test_every_room_of_the_machine_has_its_place() -> None:
    rooms = {path.parent.name for path in (ROOT / "controlplane/machine").glob("*/__init__.py")}
    assert rooms == set(MACHINE_ROOMS)


def test_rooms_of_the_machine_import_only_what_is_below_them() -> None:
    upwards = {
        (module.name, name)
        for module in of("controlplane.machine")
        for name in imported(module)
        if module.machine_room and _is_above(name, module.machine_room)
    }
    assert upwards == set()


def _is_above(name: str, machine_room: str) -> bool:
    """Whether a module of the machine is above one of its rooms."""
    if not name.startswith("nashbed.controlplane.machine."):
        return False
    room = name.split(".")[3]
    allowed = {*MACHINE_ROOMS[: MACHINE_ROOMS.index(machine_room) + 1], *MACHINE_FLOOR}
    return room not in allowed


def test_only_the_upper_rooms_use_the_analysis() -> None:
    users = {
        module.room
        for module in of("controlplane")
        if any(name.startswith("nashbed.analysis") for name in imported(module))
    }
    assert users <= MAY_USE_ANALYSIS


def test_the_command_line_is_a_layer_above_the_public_api() -> None:
    """Types may be named where they are defined; what runs is the API's."""
    below = {
        (module.name, name)
        for module in of("controlplane")
        if module.room == "cli" and module.path.stem not in TOOLS
        for name in imported(module, runtime_only=True)
        if name in modules() and modules()[name].room not in CLI_READS
    }
    assert below == set()


def test_what_is_a_tool_is_told_in_the_documentation() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    commands = {command.name for command in COMMANDS if command.module in TOOLS}
    for command in sorted(filter(None, commands)):
        assert f"`{command}`" in page


@pytest.mark.slow
def test_the_analysis_reads_contract_and_store_alone() -> None:
    others = {
        (module.name, name)
        for module in of("analysis")
        for name in imported(module)
        if _is_of(name, "controlplane") and _room_of(name) not in ANALYSIS_READS
    }
    assert others == set()


def test_no_circle_of_modules() -> None:
    """Not by imports for typing alone either."""
    ours = modules()
    check_no_circle({m.name: imported(m) & set(ours) for m in ours.values()})


def test_no_circle_of_the_analysis_rooms() -> None:
    graph = defaultdict(set)
    for module in of("analysis"):
        room = module.room or module.path.stem
        for name in imported(module):
            if name.startswith("nashbed.analysis."):
                graph[room].add(_room_of(name))
        graph[room].discard(room)
    check_no_circle(graph)


def test_only_one_room_starts_processes() -> None:
    users = {
        module.name
        for module in modules().values()
        if "subprocess" in imported(module) and f"{module.room}.{module.machine_room}" != PROCESSES
    }
    assert users == set()


@pytest.mark.slow
def test_no_two_classes_of_a_room_share_a_name() -> None:
    places = defaultdict(list)
    for module in modules().values():
        top = module.path.relative_to(ROOT).parts[0]
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                places[top, module.room, node.name].append(module.name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_every_module_is_used() -> None:
    """By another module, an entry point, the table of commands, the documentation, or by itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    used: set[str] = {target.partition(":")[0] for target in project["scripts"].values()}
    used |= {f"nashbed.controlplane.cli.{command.module}" for command in COMMANDS}
    for path in (ROOT / "docs" / "extension").glob("*.py"):
        used |= imported(Module(path.stem, path))
    for module in modules().values():
        used |= imported(module)
        if "__name__ == '__main__'" in ast.unparse(module.tree):
            used.add(module.name)
    unused = {m.name for m in modules().values() if m.path.name != "__init__.py"} - used
    assert unused == set()


def test_every_package_is_listed() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    packages = {m.name for m in modules().values() if m.path.name == "__init__.py"}
    assert set(listed) == packages
