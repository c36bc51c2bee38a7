"""What a worker must have in common with the client, so that its trials are the client's own."""

import hashlib
import platform
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from pydantic import Field

from ..contract.model import ContractModel
from ..contract.testbed import Testbed
from ..machine.guest.programs import changed_programs, guest_programs
from ..machine.kernels.cache import (
    NoKernelError,
    find_kernel,
    kernel_folder,
    read_kernel,
)
from ..machine.paths import ROOT, artefact
from ..store.checksums import file_digest
from ..targets.registry import artefact_of

ROOMS = (
    "contract", "config", "plan", "store", "validity", "machine", "targets", "lane", "run",
    "cluster",
)  # fmt: skip
"""The rooms of the control plane that decide what a trial measures, and how it travels."""
COMPILED = (".c", ".h")
DIGITS = 12
"""Digits of a digest in messages."""


class KernelIdentity(ContractModel):
    """A guests' kernel.

    Attributes:
        name: As settings name it; empty: the testbed's.
        release: Its release; empty: the machine has none of this name.
        recipe: SHA-256 of what it is made of; see `GuestKernel.digest`.
        binary: SHA-256 of its program.
    """

    name: str
    release: str = ""
    recipe: str = ""
    binary: str = ""


class Identity(ContractModel):
    """What decides what a trial measures, beside its scenario.

    Attributes:
        sources: SHA-256 of its Python and C sources, wherever they stand.
        programs: What its guests run besides, by name -> SHA-256; nothing in real time.
    """

    version: str
    sources: str
    artefact: str
    architecture: str
    kernels: tuple[KernelIdentity, ...]
    programs: dict[str, str] = Field(default_factory=dict)


def identity_here(testbed: Testbed, kernels: Sequence[str]) -> Identity:
    """The identity of this machine and this nashbed.

    Raises:
        HostError: The P4 program is missing, or a kernel's program has changed.
    """
    return Identity(
        version=metadata.version("nashbed"),
        sources=sources_digest(ROOT),
        artefact=file_digest(artefact(artefact_of(testbed))),
        architecture=platform.machine(),
        kernels=tuple(_kernel(testbed, name) for name in kernels) if testbed.is_virtual else (),
        programs=guest_programs() if testbed.is_virtual else {},
    )


def _kernel(testbed: Testbed, name: str) -> KernelIdentity:
    try:
        kernel = find_kernel(name or testbed.virtual.kernel)
    except NoKernelError:
        return KernelIdentity(name=name)
    return KernelIdentity(
        name=name, release=kernel.release, recipe=kernel.digest, binary=kernel.binary_digest
    )


@cache
def sources_digest(root: Path) -> str:
    """SHA-256 of the sources in a checkout, in hexadecimal; the checkout's place is not in it."""
    total = hashlib.sha256()
    for path in sorted(_sources(root), key=lambda path: path.relative_to(root).as_posix()):
        content = path.read_bytes()
        total.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()


def _sources(root: Path) -> Iterator[Path]:
    for room in ROOMS:
        yield from (root / "controlplane" / room).rglob("*.py")
    for path in (root / "hosts").rglob("*"):
        if path.suffix in COMPILED:
            yield path


def differences(client: Identity, worker: Identity) -> list[str]:
    """Why a worker's trials would not be the client's own, a line each; empty: they would."""
    lines = []
    if client.architecture != worker.architecture:
        lines.append(f"it is an {worker.architecture}, and the client an {client.architecture}")
    if (client.version, client.sources) != (worker.version, worker.sources):
        lines.append(
            f"it has nashbed {worker.version} ({worker.sources[:DIGITS]}), and the client "
            f"{client.version} ({client.sources[:DIGITS]}): install the same commit there"
        )
    if client.artefact != worker.artefact:
        lines.append(
            f"its P4 program is {worker.artefact[:DIGITS]}, and the client's "
            f"{client.artefact[:DIGITS]}: install the same commit there"
        )
    changed = changed_programs(client.programs, worker.programs)
    if changed:
        lines.append(
            f"its {changed} differ from the client's: build the same commit there, with "
            "the same compiler, on the same release of the system"
        )
    pairs = zip(client.kernels, worker.kernels, strict=True)
    return lines + [_difference(ours, theirs) for ours, theirs in pairs if ours != theirs]


def _difference(ours: KernelIdentity, theirs: KernelIdentity) -> str:
    of_client = f"the client's is {ours.release} ({ours.binary[:DIGITS]})"
    if not theirs.release:
        return f"it has no kernel {ours.name} for virtual time; {of_client}"
    return (
        f"its kernel for virtual time is {theirs.release} ({theirs.binary[:DIGITS]}), and "
        f"{of_client}: move {kernel_folder(theirs.release, theirs.recipe)} away there"
    )


def lacking(client: Identity) -> list[KernelIdentity]:
    """The client's kernels that this machine could be given: it has none of their recipes."""
    if client.architecture != platform.machine():
        return []
    return [k for k in client.kernels if read_kernel(kernel_folder(k.release, k.recipe)) is None]
