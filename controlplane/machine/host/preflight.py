"""What is checked of the machine before anything is touched."""

import contextlib
import os
import platform
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from ...contract.c_files import CFile
from ...contract.errors import HostError, PrerequisiteError
from ...contract.scenario_keys import Qdisc
from ...contract.testbed import Testbed
from ..c_files.kernel_support import require_free_names
from ..c_files.objects import ebpf_object
from ..paths import CCA_LOADER, DATAPLANE, FLOWS, built
from . import runs

SYMBOLS = Path("/proc/kallsyms")
MEMINFO = Path("/proc/meminfo")
TOOLS = ("ip", "tc", "ethtool", "sysctl", "setpriv", "tee")
SPARE_BYTES = 200_000_000


def check_real_time(testbed: Testbed, ccas: Sequence[CFile]) -> None:
    """Check everything but the disk that a run in real time needs of the machine.

    Raises:
        ConfigError: A CCA of the user's own does not compile.
        HostError: Something is missing; the message says what to do.
    """
    check_before_cleanup(testbed)
    runs.refuse_live_runs()
    require_huge_pages(testbed)
    built(DATAPLANE)
    built(FLOWS)
    if ccas:
        built(CCA_LOADER)
        require_free_names(ccas)
    for cca in ccas:
        ebpf_object(cca)


def check_before_cleanup(testbed: Testbed) -> None:
    """Check what no earlier run could be holding."""
    require_root()
    require_tools()
    require_cores(testbed)
    require_switch(testbed)


def require_root() -> None:
    """Raise HostError unless this is root."""
    if os.geteuid() != 0:
        raise PrerequisiteError(
            "not root: network namespaces and AF_XDP need root; run it with sudo, or with "
            "`--testbed virtual`, which needs none"
        )


def require_tools() -> None:
    """Raise HostError for a command that is missing."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise PrerequisiteError(f"not installed: {', '.join(missing)}; run `make setup`")


def require_capture() -> None:
    """Raise HostError when tcpdump is missing; only `telemetry.capture: true` needs it."""
    if shutil.which("tcpdump") is None:
        raise PrerequisiteError(
            "telemetry.capture needs tcpdump, which is not installed; `make setup`"
        )


def require_qdisc(kind: Qdisc, symbols: Path = SYMBOLS, modules: Path | None = None) -> None:
    """Raise PrerequisiteError when this machine's kernel has no such queue discipline.

    Args:
        symbols: The kernel's symbols, those of loaded modules among them.
        modules: The list of the modules that it can load; None: the running kernel's own.
    """
    modules = modules or Path("/lib/modules", platform.release(), "modules.dep")
    signs = ((symbols, f" {kind}_enqueue\\b"), (modules, f"/sch_{kind}\\.ko"))
    for path, sign in signs:
        with contextlib.suppress(OSError):
            if re.search(sign, path.read_text(encoding="utf-8")):
                return
    raise PrerequisiteError(
        f"hosts.qdisc: this machine's kernel {platform.release()} has no {kind} "
        f"(CONFIG_NET_SCH_{kind.upper()}); leave hosts.qdisc out, or run it with "
        "`--testbed virtual`"
    )


def require_switch(testbed: Testbed) -> None:
    """Raise HostError when the testbed's switch program is not on this machine."""
    program = testbed.switch.local_program if testbed.switch else None
    if program is not None and shutil.which(program) is None:
        raise PrerequisiteError(
            f"{program}: not on PATH, and testbed {testbed.name!r} runs it; it is part of "
            "p4lang's behavioral-model: install package p4lang-bmv2, or set switch.program"
        )


def require_cores(testbed: Testbed) -> None:
    """Raise HostError when the testbed file names a core that is not there, or leaves none."""
    dataplane, cores = testbed.dataplane, os.cpu_count() or 1
    named = [("cores", core) for core in dataplane.cores]
    for key, core in (*named, ("service_core", dataplane.service_core)):
        if core >= cores:
            raise PrerequisiteError(
                f"testbed {testbed.name!r}: dataplane.{key} has core {core}, but this machine has "
                f"cores 0 to {cores - 1}"
            )
    if dataplane.loop == "poll" and len(dataplane.cores) >= cores:
        raise PrerequisiteError(
            f"testbed {testbed.name!r}: dataplane.cores has all {cores} cores of this machine, and "
            "no core is left for the hosts, because a polling packet loop gives none away; name "
            "fewer cores, or write `loop: sleep`"
        )


def free_huge_pages(meminfo: Path = MEMINFO) -> tuple[int, int]:
    """Free huge pages and the size of one in bytes."""
    fields = dict(
        line.split(":", 1)
        for line in meminfo.read_text(encoding="utf-8").splitlines()
        if ":" in line
    )
    size_kb = int(fields.get("Hugepagesize", "0 kB").split()[0])
    return int(fields.get("HugePages_Free", "0")), size_kb * 1024


def require_huge_pages(testbed: Testbed) -> None:
    """Raise HostError when the testbed wants huge pages and too few are free."""
    if not testbed.dataplane.huge_pages:
        return
    remedy = "run `make hugepages`, or set dataplane.huge_pages: false in the testbed file"
    pages, size = free_huge_pages()
    if pages * size < testbed.dataplane.memory.bytes:
        raise PrerequisiteError(
            f"{pages} huge pages of {size >> 20} MiB are free, "
            f"{-(-testbed.dataplane.memory.bytes // max(size, 1))} are needed; {remedy}"
        )


def require_disk(folder: Path, needed_bytes: int) -> None:
    """Raise HostError when the folder's file system has too little room."""
    place = folder
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    wanted = wanted_free_bytes(needed_bytes)
    if free < wanted:
        raise HostError(
            f"{folder}: {free / 1e9:.2f} GB free, about {wanted / 1e9:.2f} GB needed; free some, "
            "use another --out, or keep fewer postcards (telemetry.postcards)"
        )


def wanted_free_bytes(needed_bytes: int) -> int:
    """What must be free before a run that may write so much."""
    return needed_bytes + SPARE_BYTES
