"""Congestion controls that nashbed brings along or its user writes: one C file each (hosts/cc)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CONTROL_NAME = re.compile(r"[a-z][a-z0-9_-]{0,14}")
"""A control's name, which is its file's stem: the kernel keeps 15 characters."""

SHIPPED_CONTROLS = ("bbr2", "bbr3", "copa", "copa-default", "vivace")
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
