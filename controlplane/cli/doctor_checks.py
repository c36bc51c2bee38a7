"""What `nashbed doctor` checks: what is skipped without it, and how to get it."""

from __future__ import annotations

import os
import re
import shutil
import socket
from pathlib import Path

from ..config import available_congestion_controls, load_testbed
from ..contract.errors import NashbedError
from ..machine.guest.scratch import guests_folder
from ..machine.host import namespaces, preflight, runs
from ..machine.host.facts import compiled_by, find_tool
from ..machine.host.programs import p4_runs_as
from ..machine.host.runs import STATE_DIR, read_states
from ..machine.paths import DATAPLANE, DEFAULT_TESTBED, FLOWS, P4SRC, PROBE, built, spec
from ..store.staging import remove_stale
from ..targets.bmv2.bindings import load_bindings
from .doctor_check import DoctorCheck
from .doctor_controls import ebpf_checks
from .doctor_virtual import virtual_time_checks

AF_XDP = 44
OURS = re.compile(r"^nb[0-9a-f]{4}-(snd|rcv|dp)$")
WANTED_CONTROLS = ("cubic", "bbr", "reno")
COMPILERS = {
    "p4c-dpdk": "dpdk/bottleneck.spec",
    "p4c-bm2-ss": "bmv2/bottleneck.json",
}
SWITCH = "simple_switch"
P4C = "https://github.com/p4lang/p4c"
BMV2 = "https://github.com/p4lang/behavioral-model"


def examine() -> list[DoctorCheck]:
    """Look at everything."""
    virtual = virtual_time_checks()
    return [
        _root(needed=not all(check.ok for check in virtual)),
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
        *ebpf_checks(),
        *virtual,
        *p4_checks(),
        _optional("iverilog", "the tests of the FPGA cores (tests/rtl)"),
        _optional("yosys", "the cell counts of the FPGA cores"),
        _optional("tshark", "the comparison of our time-stamp decoders with tshark's"),
        _leftovers(),
    ]


def _root(needed: bool) -> DoctorCheck:
    root = os.geteuid() == 0
    detail = "yes" if root else f"user {os.geteuid()}"
    remedy = "runs in real time need root: use sudo (virtual time, validate, plan, replay do not)"
    return DoctorCheck("root", root, detail, needed, remedy)


def _tool(tool: str) -> DoctorCheck:
    place = shutil.which(tool)
    return DoctorCheck(
        f"command {tool}", place is not None, place or "not found", True, "run `make setup`"
    )


def _dataplane() -> DoctorCheck:
    return _file("data plane", DATAPLANE, "run `make build`")


def _flows() -> DoctorCheck:
    return _file("flow generator", FLOWS, "run `make build`")


def _probe() -> DoctorCheck:
    return _file("probe of `nashbed calibrate`", PROBE, "run `make build`")


def _file(name: str, path: Path, remedy: str) -> DoctorCheck:
    there = path.is_file()
    return DoctorCheck(name, there, str(path) if there else "not built", True, remedy)


def _artefact() -> DoctorCheck:
    try:
        return DoctorCheck("P4 program", True, str(spec()), True, "")
    except NashbedError as error:
        return DoctorCheck(
            "P4 program", False, error.message, True, "restore it from git, or run `make p4`"
        )


def _native() -> DoctorCheck:
    name = "P4 as native code"
    remedy = "P4 is interpreted, at half the speed; run `make setup`"
    try:
        runs_as, why = p4_runs_as(built(DATAPLANE), spec())
    except NashbedError as error:
        return DoctorCheck(name, False, error.message, False, remedy)
    native = runs_as == "native"
    return DoctorCheck(name, native, "yes" if native else why or "no", False, remedy)


def _controls() -> DoctorCheck:
    have = available_congestion_controls()
    missing = [name for name in WANTED_CONTROLS if name not in have]
    remedy = f"scenarios with {', '.join(missing)} are refused; try e.g. `modprobe tcp_bbr`"
    return DoctorCheck("congestion controls", not missing, ", ".join(have), False, remedy)


def _huge_pages() -> DoctorCheck:
    pages, size = preflight.free_huge_pages()
    testbed = load_testbed(DEFAULT_TESTBED).model
    enough = pages * size >= testbed.dataplane.memory.bytes
    detail = f"{pages} free of {size >> 20} MiB each"
    remedy = "run `make hugepages`, or set dataplane.huge_pages: false in the testbed file"
    return DoctorCheck("huge pages", enough, detail, testbed.dataplane.huge_pages, remedy)


def _cores() -> DoctorCheck:
    cores = os.cpu_count() or 1
    remedy = "the packet loop needs a core of its own: with only one, departures are late"
    return DoctorCheck("cores", cores >= 2, str(cores), True, remedy)


def _af_xdp() -> DoctorCheck:
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW, 0).close()
        there = True
    except OSError:
        there = False
    remedy = "use configs/testbeds/af_packet.yaml or configs/testbeds/tap.yaml"
    return DoctorCheck("AF_XDP", there, "usable" if there else "not usable", False, remedy)


def _optional(tool: str, what: str) -> DoctorCheck:
    place = shutil.which(tool)
    remedy = f"{what} is skipped; run `make setup`"
    return DoctorCheck(tool, place is not None, place or "not found", False, remedy)


def _leftovers() -> DoctorCheck:
    states = [*read_states(), *read_states(guests_folder())]
    dead = sorted({s.run_dir for _, s in states if s is not None and not s.is_alive()})
    dead += [str(path) for path in _unfinished()]
    known = {n for _, s in read_states() if s is not None for n in s.namespaces}
    foreign = sorted(n for n in _namespaces() if OURS.match(n) and n not in known)
    detail = ", ".join([*dead, *foreign]) or "none"
    remedy = (
        "run `nashbed doctor --clean`" if dead else f"run `ip netns del {' '.join(foreign[:1])}`"
    )
    return DoctorCheck("left by killed runs", not (dead or foreign), detail, False, remedy)


def _unfinished() -> list[Path]:
    """What processes were writing when they were killed, outside of run directories."""
    sessions = [
        *remove_stale(STATE_DIR, dry_run=True),
        *remove_stale(guests_folder(), dry_run=True),
    ]
    return sessions + runs.remove_unfinished(dry_run=True)


def _namespaces() -> set[str]:
    try:
        return namespaces.existing_namespaces()
    except NashbedError:
        return set()


def p4_checks() -> list[DoctorCheck]:
    """All of them."""
    return [*(compiler(name, artefact) for name, artefact in COMPILERS.items()), simple_switch()]


def compiler(program: str, artefact: str) -> DoctorCheck:
    """A compiler, and whether it is the one that made the committed artefact."""
    tool = find_tool(program)
    if tool is None:
        remedy = f"`make p4` cannot recompile p4src/{artefact}, which is committed; p4c: {P4C}"
        return DoctorCheck(program, False, "not found", False, remedy)
    detail = f"{tool.path}, release {tool.release or 'unknown'} ({tool.commit or 'no commit'})"
    made_by = compiled_by(P4SRC / artefact)
    if tool.commit and tool.commit == made_by:
        return DoctorCheck(program, True, detail, False, "")
    remedy = (
        f"p4src/{artefact} was compiled by another release ({made_by or 'unknown'}): `make p4` "
        "may change it, and the test that recompiles it is skipped"
    )
    return DoctorCheck(program, False, detail, False, remedy)


def simple_switch() -> DoctorCheck:
    """simple_switch, with the client that controls it."""
    skipped = "testbed bmv2 and its conformance tests are skipped"
    tool = find_tool(SWITCH)
    if tool is None:
        remedy = f"{skipped}; install package p4lang-bmv2, or build {BMV2}"
        return DoctorCheck(SWITCH, False, "not found", False, remedy)
    try:
        load_bindings(SWITCH)
    except NashbedError as error:
        return DoctorCheck(SWITCH, False, f"{tool.path}, without its client", False, error.message)
    return DoctorCheck(SWITCH, True, f"{tool.path}, release {tool.release or 'unknown'}", False, "")
