"""The public names of the package, documented by their docstrings."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import nashbed
from markdown import code, table
from nashbed.controlplane.contract.model import ContractModel

FILES = {
    "nashbed.controlplane.contract.scenario": "scenario",
    "nashbed.controlplane.contract.sweep": "scenario",
    "nashbed.controlplane.contract.testbed": "testbed",
}
"""Module of models whose keys have a page of their own -> that page."""


def public_names() -> str:
    """A table of all names, and a section for each kind of them."""
    kinds: dict[str, list[str]] = {}
    for name in nashbed.__all__:
        kinds.setdefault(_kind(name), []).append(name)
    rows = [(f"[{name}](#nashbed.{name})", _first_line(name)) for name in nashbed.__all__]
    sections = [table(("name", "what it is"), rows)]
    for kind in sorted(kinds, key=list(_KINDS).index):
        sections += [f"## {kind}", *map(_entry, kinds[kind])]
    return "\n\n".join(sections)


def _is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


_KINDS = {
    "Functions": inspect.isroutine,
    "Modules": inspect.ismodule,
    "Errors": _is_error,
    "Scenarios and testbeds": lambda value: getattr(value, "__module__", "") in FILES,
    "Classes": inspect.isclass,
    "Data": lambda _: True,
}


def _kind(name: str) -> str:
    value = getattr(nashbed, name)
    return next(kind for kind, holds in _KINDS.items() if holds(value))


def _first_line(name: str) -> str:
    if name == "METRICS":
        return "Every metric by name, those of plugins included."
    doc = inspect.getdoc(getattr(nashbed, name)) or ""
    return " ".join(doc.partition("\n\n")[0].split())


def _entry(name: str) -> str:
    value = getattr(nashbed, name)
    if isinstance(value, ModuleType):
        lines = [f".. automodule:: nashbed.{name}", "   :members:"]
    elif inspect.isroutine(value):
        lines = [f".. autofunction:: nashbed.{name}"]
    elif name == "METRICS":
        lines = [f".. py:data:: {name}", "   :module: nashbed", "", f"   {_first_line(name)}"]
    elif page := FILES.get(value.__module__):
        return _keys_entry(name, value, page)
    else:
        lines = [f".. autoclass:: nashbed.{name}", "   :members:"]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```"


def _keys_entry(name: str, value: type[ContractModel], page: str) -> str:
    """A model whose keys are documented elsewhere."""
    top = name.lower() == page
    where = f"{page}.md" if top else f"{page}.md#{name.lower()}"
    arguments = ", ".join(f"{key}=..." for key in value.model_fields)
    signature = f"```{{py:class}} {name}({arguments})\n:module: nashbed\n\n{_first_line(name)}\n```"
    return f"{signature}\n\nIts arguments are the keys of [{code(name)}]({where})."
