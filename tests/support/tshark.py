"""tshark as another decoder to agree with."""

import functools
import os
import subprocess
from pathlib import Path


@functools.cache
def field_names() -> frozenset[str]:
    """The fields that this tshark knows; some were renamed from release to release."""
    done = subprocess.run(["tshark", "-G", "fields"], capture_output=True, text=True, check=True)
    lines = (line.split("\t") for line in done.stdout.splitlines())
    return frozenset(line[2] for line in lines if line[0] == "F")


def known(*names: str) -> str:
    """The one of a field's names, in the order of tshark's releases, that this one knows."""
    return next((name for name in names if name in field_names()), names[-1])


def tshark(path: Path, fields: list[str], heuristic: str | None, fcs: bool) -> list[list[str]]:
    """Fields of every packet.

    Args:
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
