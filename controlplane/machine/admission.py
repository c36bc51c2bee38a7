"""What is checked of the machine before a run touches anything."""

from __future__ import annotations

from pathlib import Path

from ..contract.testbed import Testbed
from . import cleanup, preflight
from .paths import DATAPLANE, FLOWS, built


def check_host(testbed: Testbed, folder: Path, needed_bytes: int) -> None:
    """Everything about the machine that is checked before a run directory is made."""
    preflight.require_root()
    preflight.require_tools()
    preflight.require_cores(testbed)
    preflight.require_switch(testbed)
    cleanup.refuse_live_runs()
    preflight.require_huge_pages(testbed)
    built(DATAPLANE)
    built(FLOWS)
    preflight.require_disk(folder, needed_bytes)
