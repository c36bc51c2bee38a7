"""The versions of the P4 tools on PATH, and of the compiler of a committed artefact."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ..contract.errors import HostError
from . import command

_RELEASE = re.compile(r"\b\d+(?:\.\d+){2,}\S*")
_COMMIT = re.compile(r"SHA: (\w+)")
_STAMP = re.compile(r"sources sha256:\w+ (\S+) (\w+)")
STAMP_BYTES = 512
"""An artefact begins with its stamp."""


@dataclass(frozen=True)
class Tool:
    """A program on PATH.

    Attributes:
        path: Where it is.
        release: Its version; empty where it does not say.
        commit: The commit it was built from; empty where it does not say.
    """

    path: str
    release: str
    commit: str


def find_tool(program: str) -> Tool | None:
    """A program on PATH with its version; None where it is not there."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        done = command.attempt([path, "--version"])
    except HostError:
        return Tool(path, "", "")
    words = done.out + done.err if done.code == 0 else ""
    release, commit = _RELEASE.search(words), _COMMIT.search(words)
    return Tool(path, release[0] if release else "", commit[1] if commit else "")


def compiled_by(artefact: Path) -> str:
    """The commit of the compiler that made a committed artefact; empty where it does not say."""
    try:
        with artefact.open("rb") as file:
            stamp = _STAMP.search(file.read(STAMP_BYTES).decode(errors="replace"))
    except OSError:
        return ""
    return stamp[2] if stamp else ""
