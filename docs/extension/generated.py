"""Pages that are made of the code: a line `<!-- generated: NAME -->` becomes what NAME makes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import api
import commands
import keys
import lists
import tables
from sphinx.application import Sphinx

MAKERS: dict[str, Callable[[], str]] = {
    "api": api.public_names,
    "commands": commands.all_commands,
    "exit codes": lists.exit_codes,
    "made tables": tables.made_tables,
    "metrics": lists.metrics,
    "targets": lists.targets,
    "evidence": lists.evidence,
    "tables": tables.all_tables,
    **{f"{kind} keys": partial(keys.all_keys, kind) for kind in ("scenario", "testbed", "cluster")},
}
"""What may stand in the line -> makes Markdown."""
_LINE = re.compile(r"^<!-- generated: (?P<name>.+) -->$", re.MULTILINE)


def with_generated(text: str) -> str:
    """A page with its generated parts.

    Args:
        text: The page as it is in the repository.

    Raises:
        KeyError: A line names what nobody makes.
    """
    return _LINE.sub(lambda found: MAKERS[found["name"]](), text)


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = with_generated(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect it to Sphinx."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}
