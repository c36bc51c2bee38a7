"""The process on this machine that is a guest: a User-Mode Linux kernel with our library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .kernels import GuestKernel
from .memory import MEMORY_FOLDER
from .paths import GUEST_INIT, VIRTUAL_LIBRARY, built
from .process import Process
from .state import StateFile, end_descendants

START_TIME_NS = 10**18
"""Of the guest's wall clock: a fixed one, for results depend on it."""
PANIC = "Kernel panic"
WRAPPERS = ("setpriv", "env", "prlimit", "choom", "taskset", "setarch")
"""The programs that a kernel is started through."""
KILLED_FIRST = 1000
"""Where memory runs out, the kernel's OOM killer takes a guest before anything else: one attempt at
one trial is lost with it, and not the run."""


@dataclass(frozen=True)
class GuestSettings:
    """How a guest is started.

    Attributes:
        kernel: Its kernel.
        seed: Of everything random in it.
        config: The data plane's configuration file.
        scratch: Where its own files go.
        memory_bytes: Its memory: whole MiB.
        core: The core that it is pinned to; None: every core.
    """

    kernel: GuestKernel
    seed: int
    config: Path
    scratch: Path
    memory_bytes: int
    core: int | None


class KernelProcess(Process):
    """A guest's kernel; its standard error is the guest's console.

    Args:
        settings: How it is started.
        state: File that lists it as ours.
        log_path: Where its console goes.
    """

    def __init__(self, settings: GuestSettings, state: StateFile, log_path: Path) -> None:
        self._panic = ""
        super().__init__("guest", kernel_command(settings), state, log_path)

    def _finish(self, code: int) -> None:
        # One that ends while it boots may leave a program behind that it has stopped.
        if self._child is not None:
            end_descendants(self._child)
        super()._finish(code)

    def _take_word(self, line: str) -> None:
        if PANIC in line and not self._panic:
            self._panic = PANIC + line.partition(PANIC)[2].rstrip()
        super()._take_word(line)

    def _cause(self) -> str:
        return self._panic or super()._cause()


def kernel_command(settings: GuestSettings) -> list[str]:
    """The command line of a guest.

    A core file of a crashed kernel would be as large as the guest's memory: there is none.
    """
    scratch = settings.scratch
    variables = [f"NASHBED_SEED={settings.seed}", f"TMPDIR={MEMORY_FOLDER}", f"HOME={scratch}"]
    pinned = [] if settings.core is None else ["taskset", "-c", str(settings.core)]
    return [
        *("env", *variables, "prlimit", "--core=0", "choom", "-n", str(KILLED_FIRST), "--"),
        *(*pinned, "setarch", "-R"),
        str(settings.kernel.binary),
        f"mem={settings.memory_bytes // 2**20}M",
        *("time-travel=inf-cpu", f"time-travel-start={START_TIME_NS}"),
        *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw"),
        *("quiet", "con=null", "con0=null,fd:2", f"uml_dir={scratch}"),
        f"init={built(GUEST_INIT)}",
        f"nashbed={built(VIRTUAL_LIBRARY)}:{settings.config}",
    ]
