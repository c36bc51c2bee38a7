"""A Tofino testbed for tests."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.switch_tofino import SwitchTofino
from tests.fakes.bfrt_program import program_tables

CHIPS = ("tofino1", "tofino2")
PORTS = {
    "senders": {"port": 128, "speed": "25gbit"},
    "receivers": {"port": 136, "speed": "25gbit"},
    "telemetry": {"port": 144, "speed": "25gbit", "fec": "rs"},
}


@cache
def artefact(chip: str) -> Path:
    """The program's bf-rt.json."""
    folder = Path(tempfile.mkdtemp(prefix="nashbed-bfrt-"))
    atexit.register(shutil.rmtree, folder)
    path = folder / "bf-rt.json"
    path.write_bytes(program_tables(chip))
    return path


def settings(chip: str, address: str, **changed: Any) -> SwitchTofino:
    """The `switch` section."""
    section = {"grpc": address, "chip": chip, "ports": PORTS} | changed
    return SwitchTofino.model_validate(section)
