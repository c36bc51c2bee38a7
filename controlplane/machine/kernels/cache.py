"""Kernels for virtual time that are built, in a cache outside the checkout.

A kernel is built once for each recipe: the version of its source, and our edits, driver and
configuration (hosts/uml). Its folder is named after both, `<release>-<digest>`.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from ...contract.errors import HostError, PrerequisiteError
from ...store.checksums import SUMS, problem_of, problems_of, read_sums
from ..paths import IS_INSTALLED, SHIPPED_KERNELS, UML
from ..process import command

LOG = logging.getLogger(__name__)

DEFAULT_KERNEL = "6.1"
"""Debian 12's own; where it is not built, the newest that is."""

BINARY = "linux"
TREE = "tree"
RECORD = "kernel.json"

RECIPE = (
    "edits.py",
    "kernel.config",
    "nashbed_clock.h",
    "nashbed_cpu.c",
    "nashbed_cpu.h",
    "nashbed_flows.c",
    "nashbed_flows.h",
    "nashbed_kern.c",
    "nashbed_user.c",
    "nashbed_user.h",
    "nashbed_virtual.h",
)
"""The files of hosts/uml that a kernel is made with."""

_NAME_DIGITS = 12
ANSWER_S = 30.0
"""How long a kernel may take to say its release; it takes milliseconds."""


class NoKernelError(PrerequisiteError):
    """No kernel of the wanted release is built here."""


@dataclass(frozen=True)
class GuestKernel:
    """A kernel for guests.

    Attributes:
        release: Its release, such as "6.1.176".
        package: The source that it was built from: a Debian package with its version, or a file.
        digest: SHA-256 of its recipe, in hexadecimal: source, edits, driver, configuration.
        binary_digest: SHA-256 of that, in hexadecimal.
    """

    release: str
    package: str
    digest: str
    binary: Path
    binary_digest: str

    @property
    def folder(self) -> Path:
        """Where everything of it is."""
        return self.binary.parent

    @property
    def tree(self) -> Path:
        """What modules for it are built with."""
        return self.folder / TREE

    def module(self, name: str) -> Path:
        """A module of the kernel's own, which only some trials need.

        Args:
            name: As `modinfo` has it, such as "sch_fq".

        Raises:
            PrerequisiteError: It is not beside the kernel.
        """
        found = next(self.tree.glob(f"*/**/{name}.ko"), None)
        if found is None:
            raise PrerequisiteError(f"{self.tree}: no module {name}.ko; {_remedy(self)}")
        return found


class KernelRecord(BaseModel):
    """What a kernel's folder says of it (kernel.json).

    Attributes:
        release: As in `GuestKernel`, and so the next three.
        package: The source.
        digest: Of the recipe.
        binary_digest: Of the program.
        compiler: The compiler that made it.
        built: When it was built (ISO 8601, UTC).
        seconds: How long that took, wall-clock.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    release: str
    package: str
    digest: str
    binary_digest: str
    compiler: str
    built: str
    seconds: float


def kernel_cache() -> Path:
    """The folder with a folder for each kernel."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "nashbed" / "kernels"


def recipe_digest(package: str, uml: Path = UML) -> str:
    """SHA-256 of a kernel's recipe, in hexadecimal; nothing in it depends on the machine."""
    total = hashlib.sha256(f"{package}\0".encode())
    for name in RECIPE:
        content = (uml / name).read_bytes()
        total.update(f"{name}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()


def kernel_folder(release: str, digest: str) -> Path:
    """Where a kernel of this recipe is, or would be."""
    return kernel_cache() / f"{release}-{digest[:_NAME_DIGITS]}"


def built_kernels() -> list[GuestKernel]:
    """Every kernel that is built with the recipe of this checkout, newest release first."""
    kernels = [kernel for kernel in _all_kernels() if _is_current(kernel)]
    return sorted(kernels, key=lambda kernel: release_numbers(kernel.release), reverse=True)


def find_kernel(wanted: str = "") -> GuestKernel:
    """A kernel that is built.

    Args:
        wanted: Its release, or the first numbers of it; empty: 6.1, or else the newest.

    Raises:
        NoKernelError: None is built.
        PrerequisiteError: Its program is damaged.
    """
    kernels = built_kernels()
    if wanted:
        kernels = [kernel for kernel in kernels if is_of_release(kernel.release, wanted)]
    else:
        usual = [k for k in kernels if is_of_release(k.release, DEFAULT_KERNEL)]
        kernels = usual or kernels
    if not kernels:
        raise NoKernelError(_none_built(wanted))
    problems = [program_problem(k) for k in kernels if k.release == kernels[0].release]
    if all(problems):
        raise PrerequisiteError(problems[0])
    return kernels[problems.index("")]


def is_of_release(release: str, wanted: str) -> bool:
    """Whether a release is the wanted one, or begins with its numbers."""
    return release_numbers(release)[: len(release_numbers(wanted))] == release_numbers(wanted)


def release_numbers(release: str) -> list[int]:
    """The numbers of a release, to compare it with others."""
    return [int(number) for number in re.findall(r"\d+", release)]


def _all_kernels() -> list[GuestKernel]:
    """Every complete folder of nashbed-kernel and of the cache, whatever its recipe."""
    folders = [
        path.parent
        for place in (SHIPPED_KERNELS, kernel_cache())
        for path in sorted(place.glob(f"[!.]*/{RECORD}"))
    ]
    return [kernel for kernel in map(read_kernel, folders) if kernel is not None]


def read_kernel(folder: Path) -> GuestKernel | None:
    """The kernel in a folder of the cache; None where there is none that can be read."""
    try:
        record = KernelRecord.model_validate_json((folder / RECORD).read_text())
    except (OSError, ValueError) as error:
        LOG.warning("%s: not a kernel: %s", folder, error)
        return None
    return GuestKernel(
        release=record.release,
        package=record.package,
        digest=record.digest,
        binary=folder / BINARY,
        binary_digest=record.binary_digest,
    )


def what_stops(kernel: GuestKernel) -> str:
    """Why a kernel does not run on this machine; empty: it does.

    It needs the C library that it was linked with, and an older system does not have that.
    """
    try:
        done = command.attempt([str(kernel.binary), "--version"], timeout_s=ANSWER_S)
    except (OSError, HostError) as error:
        return str(error.__cause__ or error)
    if done.code:
        return " ".join(done.err.split()) or f"exit code {done.code}"
    return "" if done.out.strip() == kernel.release else "it does not say its release"


def _is_current(kernel: GuestKernel) -> bool:
    return UML.is_dir() and kernel.digest == recipe_digest(kernel.package)


def _none_built(wanted: str) -> str:
    """The one line that says what to do."""
    remedy = f"run `{make_command(wanted)}`"
    old = [k for k in _all_kernels() if is_of_release(k.release, wanted)]
    if old and UML.is_dir():
        return (
            f"the kernel {old[-1].release} for virtual time was built with other edits, driver or "
            f"configuration than those of hosts/uml: {remedy}"
        )
    which = f"kernel {wanted}" if wanted else "kernel"
    return f"no {which} for virtual time is built: {remedy}"


def make_command(release: str) -> str:
    """The command that brings a release; packages are named after its first two numbers."""
    if not UML.is_dir():
        return "pip install nashbed_kernel-*.whl"
    number = ".".join(map(str, release_numbers(release)[:2]))
    if IS_INSTALLED:
        return f"nashbed kernel build {number}".rstrip()
    return f"make virtual KERNEL={number}" if number else "make virtual"


def program_problem(kernel: GuestKernel) -> str:
    """What is wrong with a kernel's program, and what to do; empty: nothing."""
    problem = problem_of(kernel.binary, kernel.binary_digest)
    return problem and _to_be_built_again(kernel, kernel.binary, problem)


def listed_problem(kernel: GuestKernel) -> str:
    """What is wrong with the files in a kernel's list; empty: nothing."""
    try:
        sums = read_sums(kernel.folder)
    except (OSError, ValueError) as error:
        return _to_be_built_again(kernel, kernel.folder / SUMS, str(error))
    for path, problem in problems_of(kernel.folder, sums):
        return _to_be_built_again(kernel, path, problem)
    return ""


def damage_of(kernel: GuestKernel) -> str:
    """What is wrong with a kernel, its program or another file, and what to do; empty: nothing."""
    return program_problem(kernel) or listed_problem(kernel)


def _to_be_built_again(kernel: GuestKernel, path: Path, problem: str) -> str:
    return f"{path}: {problem}; {_remedy(kernel)}"


def _remedy(kernel: GuestKernel) -> str:
    if not UML.is_dir():
        return "run `pip install --force-reinstall nashbed_kernel-*.whl`"
    return f"run `{make_command(kernel.release)}`, which builds it again"
