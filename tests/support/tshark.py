# SPDX-License-Identifier: Apache-2.0
"""tshark as another decoder to agree with."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def tshark(path: Path, fields: list[str], heuristic: str | None, fcs: bool) -> list[list[str]]:
    """Fields of every packet.

    Args:
        path: The capture.
        fields: Names of tshark's fields.
        heuristic: A trailer dissector that is off by default.
        fcs: Whether frames end with an FCS.
    """
    command = ["tshark", "-n", "-r", str(path), "-o", f"eth.fcs:{'Always' if fcs else 'Never'}"]
    command += ["--enable-heuristic", heuristic] if heuristic else []
    command += ["-T", "fields", *(word for name in fields for word in ("-e", name))]
    environment = {**os.environ, "TZ": "UTC"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]
