"""The process that is a guest, a User-Mode Linux kernel with our library, and what it needs."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from ...contract.errors import HostError, PrerequisiteError
from ...contract.testbed import Testbed
from ..c_files.crash import crash_place
from ..kernels.cache import GuestKernel, find_kernel, release_numbers
from ..paths import FLOWS, GUEST_ADDRESSES, GUEST_INIT, VIRTUAL_LIBRARY, built
from ..process import command
from ..process.managed import Process
from ..process.table import ProcessRegister
from .memory import MEMORY_FOLDER

START_TIME_NS = 10**18
"""Start of the guest's wall clock: fixed, since results depend on it."""
PANIC = "Kernel panic"
WRAPPERS = ("setpriv", "env", "prlimit", "choom", "taskset")
"""The programs that a kernel is started through."""
LOADER = ("/lib64/ld-linux-x86-64.so.2", "--preload", str(GUEST_ADDRESSES))
"""And its dynamic loader, by name: then the host's random addresses do not reach the guest
(hosts/guest/addresses.c). `setarch -R` would do the same where a container allows it."""
KILLED_FIRST = 1000
"""Where memory runs out, the kernel's OOM killer takes a guest before anything else: one attempt at
one trial is lost with it, and not the run."""

GUEST_MEMORY_BYTES = 300 * 10**6
"""What a guest really uses of its memory, at 1 Gbit/s."""
CPUINFO = Path("/proc/cpuinfo")
LAST_PINNED = [6, 12]
"""The last release that hosts/uml/edits.py has answer in place of the processor."""
YAMA_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
NOBODY = "3"
"""Yama's scope in which nobody may trace."""
TRACE_ME = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(os.strerror(ctypes.get_errno()) if libc.ptrace(0, 0, 0, 0) else 0)
"""
TRACE_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class GuestSettings:
    """How a guest is started.

    Attributes:
        scratch: Where its own files go.
        memory_bytes: Its memory: whole MiB.
        core: The core that it is pinned to; None: every core.
        pinned: Whether its kernel answers in place of the processor what programs ask that.
    """

    kernel: GuestKernel
    seed: int
    config: Path
    scratch: Path
    memory_bytes: int
    core: int | None
    modules: tuple[Path, ...] = ()
    pinned: bool = False


class KernelProcess(Process):
    """A guest's kernel; its standard error is the guest's console."""

    def __init__(self, settings: GuestSettings, register: ProcessRegister, log_path: Path) -> None:
        self._panic, self._place = "", ""
        self._modules = settings.modules
        super().__init__("guest", kernel_command(settings), register, log_path)

    def _finish(self, code: int) -> None:
        # One that ends while it boots may leave a program behind that it has stopped.
        if self._child is not None:
            self._child.end_descendants()
        super()._finish(code)

    def _take_word(self, line: str) -> None:
        if PANIC in line and not self._panic:
            self._panic = PANIC + line.partition(PANIC)[2].rstrip()
        elif self._panic and not self._place:
            self._place = crash_place(line, self._modules)
        super()._take_word(line)

    def _cause(self) -> str:
        return self._panic + self._place or super()._cause()


def kernel_command(settings: GuestSettings) -> list[str]:
    """The command line of a guest.

    A core file of a crashed kernel would be as large as the guest's memory: there is none.
    """
    scratch = settings.scratch
    variables = [f"NASHBED_SEED={settings.seed}", f"TMPDIR={MEMORY_FOLDER}", f"HOME={scratch}"]
    for_programs = ["NASHBED_PINNED=1"] if settings.pinned else []
    pinned = [] if settings.core is None else ["taskset", "-c", str(settings.core)]
    return [
        *(
            "env",
            *variables,
            *for_programs,
            "prlimit",
            "--core=0",
            "choom",
            "-n",
            str(KILLED_FIRST),
            "--",
        ),
        *(*pinned, *LOADER, str(settings.kernel.binary)),
        f"mem={settings.memory_bytes // 2**20}M",
        *("time-travel=inf-cpu", f"time-travel-start={START_TIME_NS}"),
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw"),
        *("quiet", "con=null", "con0=null,fd:2", f"uml_dir={scratch}"),
        f"init={built(GUEST_INIT)}",
        f"nashbed={built(VIRTUAL_LIBRARY)}:{settings.config}",
        *for_programs,  # the kernel hands on to its first process what it does not know
    ]


def check_guests(testbed: Testbed) -> None:
    """Check everything that guests need of this machine.

    Raises:
        HostError: Something is missing; the message says what to do.
    """
    require_wrappers()
    find_kernel(testbed.virtual.kernel)
    for program in (VIRTUAL_LIBRARY, GUEST_ADDRESSES, GUEST_INIT, FLOWS):
        built(program)
    require_memory(MEMORY_FOLDER)
    require_tracing(YAMA_SCOPE)


def require_wrappers() -> None:
    """Raise HostError when a program that a guest is started through is missing."""
    missing = [program for program in WRAPPERS if shutil.which(program) is None]
    if missing:
        raise PrerequisiteError(
            f"not installed: {', '.join(missing)}; `apt install util-linux coreutils`"
        )


def require_pinning(release: str, cpuinfo: Path = CPUINFO) -> None:
    """Raise HostError when a guest's programs would see the processor's random numbers and clock.

    Args:
        release: Of the guest's kernel.
        cpuinfo: What this machine's kernel says of the processor.
    """
    if release_numbers(release)[:2] > LAST_PINNED:
        raise PrerequisiteError(
            f"kernel {release}: programs would see the processor's random numbers, and no trial "
            "would be equal to another; choose 6.12 or an earlier one (virtual.kernel)"
        )
    if not re.search(r"(?m)^flags\s*:.* cpuid_fault\b", cpuinfo.read_text(encoding="utf-8")):
        raise PrerequisiteError(
            f"{cpuinfo} has no cpuid_fault: on this processor programs see random numbers of its "
            "own (RDRAND), and no trial would be equal to another; use another machine"
        )


def require_memory(folder: Path) -> None:
    """Raise HostError when no guest's memory can be kept in a folder.

    It is a file without a name there, mapped so that the guest's programs can be executed.
    """
    try:
        status = os.statvfs(folder)
    except OSError as error:
        raise PrerequisiteError(
            f"{folder}: {error.strerror}; guests keep their memory there"
        ) from error
    if status.f_flag & os.ST_NOEXEC:
        raise PrerequisiteError(
            f"{folder}: mounted noexec, but guests execute what is in their memory there; "
            f"`mount -o remount,exec {folder}`"
        )
    free = status.f_bavail * status.f_frsize
    if free < GUEST_MEMORY_BYTES:
        raise HostError(
            f"{folder}: {free / 1e6:.0f} MB free, a guest needs about "
            f"{GUEST_MEMORY_BYTES / 1e6:.0f} MB; `mount -o remount,size=2G {folder}`, or "
            "`--shm-size=2g` for a container"
        )


def require_tracing(scope: Path) -> None:
    """Raise HostError when no process may be traced: a kernel traces its guest's programs.

    Args:
        scope: Yama's setting; there is none where Yama is not in the kernel.
    """
    try:
        forbidden = scope.read_text(encoding="utf-8").strip() == NOBODY
    except OSError:
        forbidden = False
    if forbidden:
        raise PrerequisiteError(
            f"{scope} is {NOBODY}: no process may be traced; write 1 and restart"
        )
    args = [sys.executable, "-I", "-S", "-c", TRACE_ME]
    done = command.attempt(args, timeout_s=TRACE_TIMEOUT_S)
    if done.code != 0:
        raise PrerequisiteError(
            f"ptrace: {done.complaint}; guests need it: start the container with "
            "`--cap-add=SYS_PTRACE` or a seccomp profile that allows ptrace"
        )
