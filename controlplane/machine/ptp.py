"""State of this machine's PTP clock, by linuxptp's pmc: what a run's time stamps hang on."""

from __future__ import annotations

import shutil

from ..contract.errors import HostError
from . import command
from .command import Completed

TIMEOUT_S = 5.0
DATA_SETS = ("PORT_DATA_SET", "TIME_STATUS_NP", "CURRENT_DATA_SET")
WANTED = {
    "portState": "port_state",
    "master_offset": "offset_ns",
    "gmPresent": "grandmaster_present",
    "gmIdentity": "grandmaster",
    "meanPathDelay": "path_delay_ns",
    "stepsRemoved": "steps_removed",
}
"""pmc's name -> ours; all values are text."""


def state() -> dict[str, str]:
    """What ptp4l says about its clock; `state` is synchronised, running or absent.

    Never fails: PTP is optional, and its absence is worth recording.
    """
    if shutil.which("pmc") is None:
        return {"state": "absent", "detail": "pmc (linuxptp) is not installed"}
    queries = [f"GET {name}" for name in DATA_SETS]
    try:
        done = command.attempt(["pmc", "-u", "-b", "0", *queries], timeout_s=TIMEOUT_S)
    except HostError as error:
        return {"state": "absent", "detail": error.message}
    return _read(done)


def _read(done: Completed) -> dict[str, str]:
    """Lines of `name value`; without an answer from ptp4l there are none."""
    fields: dict[str, str] = {}
    for line in done.out.splitlines():
        name, _, value = line.strip().partition(" ")
        if name in WANTED and value.strip():
            fields[WANTED[name]] = value.strip()
    if not fields:
        return {"state": "absent", "detail": "ptp4l does not answer pmc"}
    synchronised = fields.get("port_state") in ("SLAVE", "MASTER", "GRAND_MASTER")
    return {"state": "synchronised" if synchronised else "running", **fields}
