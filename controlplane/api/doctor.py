"""What is installed, what is skipped without it, and how to get it; and what killed runs left.

>>> import nashbed as nb
>>> nb.doctor.ready(nb.doctor.examine())
"""

import os
import re
import shutil
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nashbed.controlplane import targets
from nashbed.controlplane.config import load_testbed
from nashbed.controlplane.contract.errors import HostError, NashbedError
from nashbed.controlplane.machine.c_files import kernel_support
from nashbed.controlplane.machine.c_files.ebpf_loader import try_loading
from nashbed.controlplane.machine.c_files.kinds import CCA
from nashbed.controlplane.machine.c_files.objects import PACKAGES, ebpf_object, find_clang
from nashbed.controlplane.machine.guest.kernel import YAMA_SCOPE, require_memory, require_tracing
from nashbed.controlplane.machine.guest.memory import MEMORY_FOLDER
from nashbed.controlplane.machine.guest.scratch import guests_folder, remove_dead_sessions
from nashbed.controlplane.machine.host import namespaces, preflight, runs
from nashbed.controlplane.machine.host.facts import compiled_by, find_tool
from nashbed.controlplane.machine.host.programs import p4_runs_as
from nashbed.controlplane.machine.host.runs import STATE_DIR, admission, read_states
from nashbed.controlplane.machine.kernels.cache import built_kernels, find_kernel
from nashbed.controlplane.machine.paths import (
    CCA_SIMULATOR,
    CCA_TEMPLATE,
    DATAPLANE,
    FLOWS,
    GUEST_ADDRESSES,
    GUEST_INIT,
    P4SRC,
    PROBE,
    REAL_TIME_TESTBED,
    VIRTUAL_LIBRARY,
    artefact,
    built,
    spec,
)
from nashbed.controlplane.store.staging import remove_stale
from nashbed.controlplane.targets.bmv2.runtime import load_bindings

from .files import TestbedLike, read_testbed

__all__ = ["DoctorCheck", "NeededFor", "clean_up", "examine", "examine_switch", "ready"]

AF_XDP = 44
OURS = re.compile(r"^nb[0-9a-f]{4}-(snd|rcv|dp)$")
SETUP = "run `make setup`"
TEST_PACKAGES = "run `make test-packages`"
PROGRAMS = {
    "data plane": DATAPLANE,
    "flow generator": FLOWS,
    "probe of `nashbed calibrate`": PROBE,
}
FOR_TESTS = {
    "iverilog": "the tests of the FPGA cores (tests/rtl)",
    "yosys": "the cell counts of the FPGA cores",
    "tshark": "the comparison of our time-stamp decoders and exported packets with tshark's",
}
WANTED_CCAS = ("cubic", "bbr", "reno")
COMPILERS = {
    "p4c-dpdk": "dpdk/bottleneck.spec",
    "p4c-bm2-ss": "bmv2/bottleneck.json",
}
SWITCH = "simple_switch"
P4C = "https://github.com/p4lang/p4c"
BMV2 = "https://github.com/p4lang/behavioral-model"
NO_EBPF = "strategies such as bbr3 are refused in real time"
NeededFor = Literal["every run", "virtual time", "real time", ""]
"""What is impossible without something; empty: nothing is."""


@dataclass(frozen=True)
class DoctorCheck:
    """One thing that was looked for.

    Attributes:
        name: What.
        ok: Whether it is here.
        detail: What was found.
        needed: What is impossible without it.
        remedy: What is skipped without it, and how to get it.
    """

    name: str
    ok: bool
    detail: str
    needed: NeededFor
    remedy: str


def examine_switch(testbed: TestbedLike) -> list[DoctorCheck]:
    """Ask a testbed's switch for its program, tables and ports; it is left as it was found.

    Args:
        testbed: See `read_testbed`.

    Returns:
        What was found; a run needs all of it.

    Raises:
        NashbedError: The switch cannot be asked.
    """
    bed = read_testbed(testbed).model
    findings = targets.examine(bed, artefact(targets.artefact_of(bed)))
    return [DoctorCheck(f.name, f.ok, f.detail, "every run", f.remedy) for f in findings]


def ready(checks: Sequence[DoctorCheck]) -> dict[NeededFor, bool]:
    """Whether runs are possible in virtual time, and in real time."""
    kinds: tuple[NeededFor, ...] = ("virtual time", "real time")
    return {k: all(c.ok for c in checks if c.needed in (k, "every run")) for k in kinds}


def clean_up() -> list[str]:
    """Remove what killed processes left; returns the run directories, and what was unfinished.

    Raises:
        HostError: What runs in real time have left can be removed by root alone.
    """
    unfinished = runs.remove_unfinished() + remove_stale(guests_folder())
    dead = remove_dead_sessions(guests_folder())
    unfinished += remove_stale(STATE_DIR)
    if read_states():
        preflight.require_root()
        with admission():
            dead += runs.remove_dead_runs()
    return sorted({state.run_dir for state in dead} | {str(path) for path in unfinished})


def examine() -> list[DoctorCheck]:
    """Look at everything."""
    return [
        _artefact(),
        *virtual_time_checks(),
        _root(),
        *(_on_path(f"command {tool}", tool, "real time", SETUP) for tool in preflight.TOOLS),
        *(_built(name, path) for name, path in PROGRAMS.items()),
        _huge_pages(),
        _cores(),
        _native(),
        _ccas(),
        _af_xdp(),
        *ebpf_checks(),
        *p4_checks(),
        *(
            _on_path(program, program, "", f"{what} is skipped; {TEST_PACKAGES}")
            for program, what in FOR_TESTS.items()
        ),
        _leftovers(),
    ]


def _on_path(name: str, program: str, needed: NeededFor, remedy: str) -> DoctorCheck:
    """A program that is to be on PATH."""
    place = shutil.which(program)
    return DoctorCheck(name, place is not None, place or "not found", needed, remedy)


def _built(name: str, path: Path) -> DoctorCheck:
    """A program that `make build` makes."""
    there = path.is_file()
    detail = str(path) if there else "not built"
    return DoctorCheck(name, there, detail, "real time", "run `make build`")


def _usable(name: str, look: Callable[[], str], needed: NeededFor, without: str) -> DoctorCheck:
    """What a look has found, or what is skipped without it and the remedy that its error names."""
    try:
        return DoctorCheck(name, True, look(), needed, "")
    except NashbedError as error:
        return DoctorCheck(name, False, "not usable", needed, f"{without}{error.message}")


def _root() -> DoctorCheck:
    root = os.geteuid() == 0
    detail = "yes" if root else f"user {os.geteuid()}"
    remedy = "runs in real time need root: use sudo (virtual time, validate, plan, replay do not)"
    return DoctorCheck("root", root, detail, "real time", remedy)


def _artefact() -> DoctorCheck:
    try:
        return DoctorCheck("P4 program", True, str(spec()), "every run", "")
    except NashbedError as error:
        remedy = "restore it from git, or run `make p4`"
        return DoctorCheck("P4 program", False, error.message, "every run", remedy)


def _native() -> DoctorCheck:
    name = "P4 as native code"
    remedy = "P4 is interpreted, at half the speed; run `make setup`"
    try:
        runs_as, why = p4_runs_as(built(DATAPLANE), spec())
    except NashbedError as error:
        return DoctorCheck(name, False, error.message, "", remedy)
    native = runs_as == "native"
    return DoctorCheck(name, native, "yes" if native else why or "no", "", remedy)


def _ccas() -> DoctorCheck:
    have = kernel_support.available_ccas()
    missing = [name for name in WANTED_CCAS if name not in have]
    remedy = f"scenarios with {', '.join(missing)} are refused; try e.g. `modprobe tcp_bbr`"
    return DoctorCheck("congestion controls", not missing, ", ".join(have), "", remedy)


def _huge_pages() -> DoctorCheck:
    pages, size = preflight.free_huge_pages()
    testbed = load_testbed(REAL_TIME_TESTBED).model
    enough = pages * size >= testbed.dataplane.memory.bytes
    detail = f"{pages} free of {size >> 20} MiB each"
    needed: NeededFor = "real time" if testbed.dataplane.huge_pages else ""
    remedy = "run `make hugepages`, or set dataplane.huge_pages: false in the testbed file"
    return DoctorCheck("huge pages", enough, detail, needed, remedy)


def _cores() -> DoctorCheck:
    cores = os.cpu_count() or 1
    remedy = "the packet loop needs a core of its own: with only one, departures are late"
    return DoctorCheck("cores", cores >= 2, str(cores), "real time", remedy)


def _af_xdp() -> DoctorCheck:
    try:
        socket.socket(AF_XDP, socket.SOCK_RAW, 0).close()
        there = True
    except OSError:
        there = False
    remedy = "use configs/testbeds/af_packet.yaml or configs/testbeds/tap.yaml"
    return DoctorCheck("AF_XDP", there, "usable" if there else "not usable", "", remedy)


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
    return DoctorCheck("left by killed runs", not (dead or foreign), detail, "", remedy)


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
    """Whether P4 programs can be compiled, and bmv2 used."""
    return [*(compiler(name, output) for name, output in COMPILERS.items()), simple_switch()]


def compiler(program: str, output: str) -> DoctorCheck:
    """A compiler, and whether it is the one that made the committed artefact."""
    tool = find_tool(program)
    if tool is None:
        remedy = f"`make p4` cannot recompile p4src/{output}, which is committed; p4c: {P4C}"
        return DoctorCheck(program, False, "not found", "", remedy)
    detail = f"{tool.path}, release {tool.release or 'unknown'} ({tool.commit or 'no commit'})"
    made_by = compiled_by(P4SRC / output)
    if tool.commit and tool.commit == made_by:
        return DoctorCheck(program, True, detail, "", "")
    remedy = (
        f"p4src/{output} was compiled by another release ({made_by or 'unknown'}): `make p4` "
        "may change it, and the test that recompiles it is skipped"
    )
    return DoctorCheck(program, False, detail, "", remedy)


def simple_switch() -> DoctorCheck:
    """simple_switch, with the client that controls it."""
    skipped = "testbed bmv2 and its conformance tests are skipped"
    tool = find_tool(SWITCH)
    if tool is None:
        remedy = f"{skipped}; install package p4lang-bmv2, or build {BMV2}"
        return DoctorCheck(SWITCH, False, "not found", "", remedy)
    try:
        load_bindings(SWITCH)
    except NashbedError as error:
        return DoctorCheck(SWITCH, False, f"{tool.path}, without its client", "", error.message)
    return DoctorCheck(SWITCH, True, f"{tool.path}, release {tool.release or 'unknown'}", "", "")


def ebpf_checks() -> list[DoctorCheck]:
    """Whether CCAs of eBPF can be used; the kernel's own need none of it."""
    looks: dict[str, tuple[Callable[[], str], str]] = {
        "kernel": (kernel_support.release, NO_EBPF),
        "BTF": (kernel_support.btf, NO_EBPF),
        "BPF JIT": (kernel_support.jit, NO_EBPF),
        "capabilities": (kernel_support.capabilities, NO_EBPF),
        "optmem_max": (kernel_support.optmem, NO_EBPF),
        "clang": (_clang, "congestion controls of your own are refused in real time"),
        "simulator": (_simulator, "`nashbed cc check` cannot be used"),
        "trial load": (_trial_load, NO_EBPF),
    }
    return [
        _usable(f"congestion controls of eBPF: {name}", look, "", f"{without}: ")
        for name, (look, without) in looks.items()
    ]


def _clang() -> str:
    clang = find_clang()
    if clang is None:
        raise HostError(f"not found; {PACKAGES}")
    return clang


def _simulator() -> str:
    return str(built(CCA_SIMULATOR))


def _trial_load() -> str:
    """Register the template with the kernel and unregister it at once."""
    problems = kernel_support.kernel_problems()
    if problems:
        raise HostError(problems[0])
    made = ebpf_object(CCA.read(CCA_TEMPLATE))
    try_loading(made)
    return f"{made.path.name}, {made.made_by}"


def virtual_time_checks() -> list[DoctorCheck]:
    """Whether trials in virtual time can run: they need all of it."""
    looks = {
        "kernel of guests": _kernels,
        "guest's programs": _programs,
        "guests' memory": _memory,
        "ptrace": _tracing,
    }
    return [_usable(name, look, "virtual time", "") for name, look in looks.items()]


def _kernels() -> str:
    kernels = built_kernels()
    if not kernels:
        raise HostError("no kernel for virtual time is built: run `make virtual`")
    for kernel in kernels:
        find_kernel(kernel.release)  # which refuses one that has changed
    return ", ".join(f"{kernel.release} ({kernel.package})" for kernel in kernels)


def _programs() -> str:
    programs = (VIRTUAL_LIBRARY, GUEST_ADDRESSES, GUEST_INIT)
    return ", ".join(str(built(program)) for program in programs)


def _memory() -> str:
    require_memory(MEMORY_FOLDER)
    return f"{shutil.disk_usage(MEMORY_FOLDER).free / 1e9:.1f} GB free in {MEMORY_FOLDER}"


def _tracing() -> str:
    require_tracing(YAMA_SCOPE)
    return "usable"
