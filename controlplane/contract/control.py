"""Congestion controls that nashbed brings along or its user writes: one C file each (hosts/cc)."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

CONTROL_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}")
"""A control's name, which is its file's stem: the kernel keeps 15 characters."""

SHIPPED_CONTROLS = ("bbr2", "bbr3", "copa", "copa_default", "vivace")
"""The names of the controls in hosts/cc, apart from the template and the positive control."""


@dataclass(frozen=True)
class ControlFile:
    """A congestion control in one C file.

    Attributes:
        name: What flows ask for by TCP_CONGESTION.
        source: The C file.
        digest: SHA-256 of the file and of the headers of hosts/cc, in hexadecimal.
    """

    name: str
    source: Path
    digest: str


def control_digest(source: Path, headers: Path) -> str:
    """SHA-256 of what a control is made of, in hexadecimal.

    Args:
        source: Its C file.
        headers: The folder of the macro layer (hosts/cc), of which every header counts but those
            of the programs beside it (`load`, `sim`).

    Raises:
        OSError: A file cannot be read.
    """
    total = hashlib.sha256()
    for path in (source, *_headers(headers)):
        name = path.name if path == source else path.relative_to(headers).as_posix()
        content = path.read_bytes()
        total.update(f"{name}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()


def _headers(folder: Path) -> list[Path]:
    programs = {"load", "sim"}
    headers = folder.rglob("*.h")
    return sorted(path for path in headers if path.relative_to(folder).parts[0] not in programs)
