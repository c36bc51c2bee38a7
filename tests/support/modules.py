"""Modules as files say what they are: their names, and what they import, wherever that stands."""

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
API = ("controlplane", "api")
"""The room that is the package `nashbed` itself."""


@dataclass(frozen=True)
class Module:
    """A module of ours.

    Attributes:
        name: Its full name.
    """

    name: str
    path: Path

    @property
    def tree(self) -> ast.Module:
        return parsed(self.path)

    @property
    def package(self) -> list[str]:
        """The parts of the package's name that it is in, or that it is."""
        parts = self.name.split(".")
        return parts if self.path.name == "__init__.py" else parts[:-1]

    @property
    def room(self) -> str:
        """The folder below controlplane/ or analysis/ that it is in; "" for one beside them."""
        parts = self.path.relative_to(ROOT).parts
        return parts[1] if len(parts) > 2 else ""

    @property
    def machine_room(self) -> str:
        """The folder below controlplane/machine/ that it is in; "" for one that is elsewhere."""
        parts = self.path.relative_to(ROOT).parts
        return parts[2] if self.room == "machine" and len(parts) > 3 else ""


@cache
def parsed(path: Path) -> ast.Module:
    """A file's syntax, read without the collector, which would walk all trees again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        if was_on:
            gc.enable()


@cache
def modules(tests: bool = False) -> dict[str, Module]:
    """The product's modules by name; with `tests` also theirs."""
    found = {}
    for top in ("analysis", "controlplane", *(["tests"] if tests else [])):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts if top == "tests" else ("nashbed", *parts)
            parts = ("nashbed", *parts[3:]) if parts[1:3] == API else parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = Module(name, path)
    return found


@cache
def imported(module: Module, runtime_only: bool = False) -> set[str]:
    """Names of all modules that a module imports; of ours those that hold what is imported."""
    names: set[str] = set()
    for node in statements(module.tree, runtime_only):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= set(_from(module, node))
    return names - {module.name}


def statements(tree: ast.AST, runtime_only: bool = False) -> Iterator[ast.AST]:
    """Every statement, without what only type checkers see if so asked."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for node in getattr(tree, block, ()):
            if not (runtime_only and _is_for_types(node)):
                yield node
                yield from statements(node, runtime_only)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _from(module: Module, node: ast.ImportFrom) -> Iterator[str]:
    above = module.package[: len(module.package) - node.level + 1] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    for alias in node.names:
        name = f"{base}.{alias.name}"
        yield name if name in modules(tests=True) else base
