"""`nashbed` in a process of its own, as a person starts it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

SCRIPT = "from nashbed.controlplane.cli import main; main()"
"""What the installed script `nashbed` does; it need not be on PATH."""


def nashbed_command(words: Sequence[str]) -> list[str]:
    """The command line of `nashbed` with these words, run by this Python."""
    return [sys.executable, "-c", SCRIPT, *words]
