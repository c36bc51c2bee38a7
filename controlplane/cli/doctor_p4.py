"""The P4 tools: none is needed to build, to test or to run the embedded target."""

from __future__ import annotations

from ..contract.errors import NashbedError
from ..machine.paths import P4SRC
from ..machine.tools import compiled_by, find_tool
from ..targets.bmv2.bindings import load_bindings
from .check import DoctorCheck

COMPILERS = {
    "p4c-dpdk": "dpdk/bottleneck.spec",
    "p4c-bm2-ss": "bmv2/bottleneck.json",
}
SWITCH = "simple_switch"
P4C = "https://github.com/p4lang/p4c"
BMV2 = "https://github.com/p4lang/behavioral-model"


def p4_checks() -> list[DoctorCheck]:
    """All of them."""
    return [*(compiler(name, artefact) for name, artefact in COMPILERS.items()), simple_switch()]


def compiler(program: str, artefact: str) -> DoctorCheck:
    """A compiler, and whether it is the one that made the committed artefact."""
    found = find_tool(program)
    if found is None:
        remedy = f"`make p4` leaves the committed p4src/{artefact} as it is. p4c: {P4C}"
        return DoctorCheck(program, False, "not found", False, remedy)
    told = f"{found.path}, release {found.release or 'unknown'} ({found.commit or 'no commit'})"
    made_by = compiled_by(P4SRC / artefact)
    if found.commit and found.commit == made_by:
        return DoctorCheck(program, True, told, False, "")
    remedy = (
        f"another release than p4src/{artefact}'s ({made_by or 'unknown'}): `make p4` may change "
        "it, and the test that compares it with a fresh compilation is skipped"
    )
    return DoctorCheck(program, False, told, False, remedy)


def simple_switch() -> DoctorCheck:
    """simple_switch, with the client that controls it."""
    skipped = "testbed bmv2 and the conformance suite on it are skipped"
    found = find_tool(SWITCH)
    if found is None:
        remedy = f"{skipped}; package p4lang-bmv2, or {BMV2}"
        return DoctorCheck(SWITCH, False, "not found", False, remedy)
    try:
        load_bindings(SWITCH)
    except NashbedError as error:
        return DoctorCheck(SWITCH, False, f"{found.path}, without its client", False, error.message)
    return DoctorCheck(
        SWITCH, True, f"{found.path}, release {found.release or 'unknown'}", False, ""
    )
