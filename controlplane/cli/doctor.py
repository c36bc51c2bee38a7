"""What is on this machine, what is skipped without it, and how to get it."""

from __future__ import annotations

import os
import re
import shutil
import socket
from pathlib import Path

from ..config import available_congestion_controls, load_testbed
from ..contract.errors import NashbedError
from ..machine import cleanup, namespaces, preflight
from ..machine.dataplane_once import p4_runs_as
from ..machine.paths import DATAPLANE, DEFAULT_TESTBED, FLOWS, PROBE, built, spec
from ..machine.state import read_states
from .check import DoctorCheck
from .doctor_p4 import p4_checks

AF_XDP = 44
OURS = re.compile(r"^nb[0-9a-f]{4}-(snd|rcv|dp)$")
WANTED_CONTROLS = ("cubic", "bbr", "reno")


def examine() -> list[DoctorCheck]:
    """Look at everything."""
    return [
        _root(),
        *(_tool(tool) for tool in preflight.TOOLS),
        _dataplane(),
        _flows(),
        _probe(),
        _artefact(),
        _native(),
        _controls(),
        _huge_pages(),
        _cores(),
        _af_xdp(),
        *p4_checks(),
        _optional("clang-format", "the C format check of `make check`"),
        _optional("iverilog", "the tests of the FPGA cores (tests/rtl)"),
        _optional("yosys", "the cell counts of the FPGA cores"),
        _optional("tshark", "the comparison of time-stamp decoders with other people's"),
        _leftovers(),
    ]


def clean() -> list[str]:
    """Remove what dead runs left; returns their run directories."""
    preflight.require_root()
    return [state.run_dir for state in cleanup.remove_dead_runs()]


def as_text(found: list[DoctorCheck], removed: list[str]) -> str:
    """The findings as a person reads them."""
    lines = [f"cleaned up after {run_dir}" for run_dir in removed]
    for check in found:
        mark = "ok     " if check.ok else "MISSING" if check.needed else "skipped"
        lines.append(f"{mark} {check.name}: {check.detail}")
        if not check.ok:
            lines.append(f"        {check.remedy}")
    return "\n".join(lines)


def _root() -> DoctorCheck:
    root = os.geteuid() == 0
    detail = "yes" if root else f"user {os.geteuid()}"
    return DoctorCheck(
        "root", root, detail, True, "runs need root: use sudo; replay and plan do not"
    )


def _tool(tool: str) -> DoctorCheck:
    place = shutil.which(tool)
    return DoctorCheck(
        f"command {tool}", place is not None, place or "not found", True, "`make setup`"
    )


def _dataplane() -> DoctorCheck:
    return _file("data plane", DATAPLANE, "`make build`")


def _flows() -> DoctorCheck:
    return _file("flow generator", FLOWS, "`make build`")


def _probe() -> DoctorCheck:
    return _file("probe of `nashbed calibrate`", PROBE, "`make build`")


def _file(name: str, path: Path, remedy: str) -> DoctorCheck:
    there = path.is_file()
    return DoctorCheck(name, there, str(path) if there else "not built", True, remedy)


def _artefact() -> DoctorCheck:
    try:
        return DoctorCheck("P4 program", True, str(spec()), True, "")
    except NashbedError as error:
        return DoctorCheck(
            "P4 program", False, error.message, True, "restore it from git, or `make p4`"
        )


def _native() -> DoctorCheck:
    name = "P4 as native code"
    remedy = "P4 is interpreted, at half the speed; `make setup`"
    try:
        runs_as, why = p4_runs_as(built(DATAPLANE), spec())
    except NashbedError as error:
        return DoctorCheck(name, False, error.message, False, remedy)
    native = runs_as == "native"
    return DoctorCheck(name, native, "yes" if native else why, False, remedy)


def _controls() -> DoctorCheck:
    have = available_congestion_controls()
    missing = [name for name in WANTED_CONTROLS if name not in have]
    remedy = f"scenarios with {', '.join(missing)} are refused; try `modprobe tcp_bbr`"
    return DoctorCheck("congestion controls", not missing, ", ".join(have), False, remedy)


def _huge_pages() -> DoctorCheck:
    pages, size = preflight.free_huge_pages()
    testbed = load_testbed(DEFAULT_TESTBED).model
    enough = pages * size >= testbed.dataplane.memory.bytes
    detail = f"{pages} free of {size >> 20} MiB each"
    remedy = "`make hugepages`, or dataplane.huge_pages: false in the testbed file"
    return DoctorCheck("huge pages", enough, detail, testbed.dataplane.huge_pages, remedy)


def _cores() -> DoctorCheck:
    cores = os.cpu_count() or 1
    remedy = "the packet loop needs a core of its own; with one core results are late and invalid"
    return DoctorCheck("cores", cores >= 2, str(cores), True, remedy)


def _af_xdp() -> DoctorCheck:
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW, 0).close()
        there = True
    except OSError:
        there = False
    remedy = "use configs/testbeds/af_packet.yaml or tap.yaml"
    return DoctorCheck("AF_XDP", there, "in this kernel" if there else "not usable", False, remedy)


def _optional(tool: str, what: str) -> DoctorCheck:
    place = shutil.which(tool)
    remedy = f"{what} is skipped; `make setup`"
    return DoctorCheck(tool, place is not None, place or "not found", False, remedy)


def _leftovers() -> DoctorCheck:
    dead = [s.run_dir for _, s in read_states() if s is not None and not s.is_alive()]
    known = {n for _, s in read_states() if s is not None for n in s.namespaces}
    foreign = sorted(n for n in _namespaces() if OURS.match(n) and n not in known)
    detail = ", ".join([*dead, *foreign]) or "none"
    remedy = "`nashbed doctor --clean`" if dead else f"`ip netns del {' '.join(foreign[:1])}`"
    return DoctorCheck("left by killed runs", not (dead or foreign), detail, False, remedy)


def _namespaces() -> set[str]:
    try:
        return namespaces.existing_namespaces()
    except NashbedError:
        return set()
